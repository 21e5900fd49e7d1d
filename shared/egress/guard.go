// Package egress opens the relay's connections to upstream servers, and is the
// only package that opens a socket to anything that is not AWS.
//
// It promises that a connection goes to an address which was looked up once,
// of whose name every answer was checked, and which is checked a second time
// by the socket itself; that it goes there directly, whatever proxies the
// environment names; and that TLS is 1.2 or newer, for the configured host,
// HTTP/1.1 only. It refuses loopback, link-local, metadata, unspecified,
// multicast and special-use addresses whatever a registration says, private
// ones unless the registration names their network, and names with more than
// 16 addresses.
package egress

import (
	"context"
	"crypto/x509"
	"net"
	"net/netip"
	"time"

	"mcprelay/shared/call"
	"mcprelay/shared/endpoint"
)

// Config is what a guard is made of. The zero Config is the production one.
type Config struct {
	// Lookup gives every address of a host, A and AAAA. Nil: [NewLookup] on
	// the system's name servers.
	Lookup Lookup
	// Loopback makes endpoints that are spelled as loopback legal. A name
	// that resolves to loopback stays refused.
	Loopback bool
	// OwnHosts are the relay's own: a host, a host:port, or an address:port.
	// Endpoints there are refused as a loop.
	OwnHosts []string
	// Roots are the trusted authorities. Nil: the system's, read once by [New].
	Roots *x509.CertPool
	// Now is the clock. Nil: time.Now.
	Now func() time.Time
	// IdleMax and AgeMax bound the reuse of a connection, by wall clock. Zero:
	// 20 seconds and 5 minutes.
	IdleMax, AgeMax time.Duration
}

// Lookup gives every address of a host, both families.
type Lookup func(ctx context.Context, host string) ([]netip.Addr, error)

// NewLookup looks names up with Go's own resolver.
func NewLookup(dial func(ctx context.Context, network, address string) (net.Conn, error)) Lookup {
	return nil
}

// Guard resolves, checks, dials and keeps connections. Its methods may be
// called concurrently.
type Guard struct{ config Config }

// New makes a guard.
func New(c Config) *Guard { return &Guard{config: c} }

// Close closes the idle connections; those in use are closed when released.
func (g *Guard) Close() error { return nil }

// Rules is what one server's registration adds.
type Rules struct {
	// Networks are private prefixes. Empty: public addresses only. Not empty:
	// only these networks; a public answer refuses too.
	Networks []netip.Prefix
	// IPv6 dials IPv6 addresses as well. They are checked either way.
	IPv6 bool
}

// Route is an endpoint with its checked addresses. Only [Guard.Resolve] makes
// one; the zero Route cannot be dialled.
type Route struct {
	endpoint endpoint.URL
	addrs    []netip.AddrPort
}

// Endpoint is the endpoint that was resolved.
func (r Route) Endpoint() endpoint.URL { return r.endpoint }

// Addrs are the addresses that may be dialled, in order.
func (r Route) Addrs() []netip.AddrPort { return append([]netip.AddrPort(nil), r.addrs...) }

// Resolve looks the endpoint's host up and checks every answer. Its error is a
// *call.Refusal. A checked answer is kept for at most 30 seconds.
func (g *Guard) Resolve(ctx context.Context, u endpoint.URL, r Rules) (Route, error) {
	return Route{}, call.Refuse(call.Internal, "not built yet")
}

// Conn gives a connection to one of the route's addresses. Its error is a
// *call.Refusal.
func (g *Guard) Conn(ctx context.Context, r Route) (*Conn, error) {
	return nil, call.Refuse(call.Internal, "not built yet")
}

// Fresh is [Guard.Conn] without the pool.
func (g *Guard) Fresh(ctx context.Context, r Route) (*Conn, error) {
	return nil, call.Refuse(call.Internal, "not built yet")
}

// Classify says why a may not be dialled; false means that it may.
func Classify(a netip.Addr) (call.Reason, bool) { return call.SpecialUse, true }
