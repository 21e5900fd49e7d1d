// Package egress opens the relay's connections to upstream servers, and is the
// only package that opens a socket to anything that is not AWS.
//
// It promises that a connection goes to an address which was looked up once,
// of whose name every answer was checked, and which the socket itself checks a
// second time; that it goes there directly, whatever proxies the environment
// names; that TLS is 1.2 or newer, for the configured host, HTTP/1.1 only; and
// that a connection is used again only when it is young and silent. It refuses
// loopback, link-local, metadata, unspecified, multicast and special-use
// addresses whatever a registration says, private ones unless the registration
// names their network, names with more than 16 addresses, and the relay itself.
// It knows no HTTP.
package egress

import (
	"crypto/tls"
	"crypto/x509"
	"net/netip"
	"time"
)

// The bounds of reuse where [Config] gives none. The idle one is below the
// shortest that servers and load balancers are known to keep; a frozen process
// ages by the wall clock.
const (
	idleMax = 20 * time.Second
	ageMax  = 5 * time.Minute
)

// Config is what a guard is made of. The zero Config is the production one.
type Config struct {
	// Lookup gives every address of a host, A and AAAA. Nil: [NewLookup] on
	// the system's name servers.
	Lookup Lookup
	// Loopback makes endpoints that are spelled as loopback legal. A name
	// that resolves to loopback stays refused.
	Loopback bool
	// OwnHosts are the relay's own places: a host, a host:port, an address or
	// an address:port. Endpoints there are refused as a loop.
	OwnHosts []string
	// Roots are the trusted authorities. Nil: the system's, read once by [New].
	Roots *x509.CertPool
	// Now is the clock. Nil: time.Now.
	Now func() time.Time
	// IdleMax and AgeMax bound the reuse of a connection, by wall clock. Zero:
	// 20 seconds and 5 minutes.
	IdleMax, AgeMax time.Duration
}

// Guard resolves, checks, dials and keeps connections. Its methods may be
// called concurrently. The zero Guard is unusable.
type Guard struct {
	loopback bool
	own      []place
	answers  *answers
	tls      *tls.Config
	pool     *pool
}

// New makes a guard. Where the system's authorities cannot be read it trusts
// none, so every TLS handshake fails.
func New(c Config) *Guard {
	if c.Lookup == nil {
		c.Lookup = NewLookup(nil)
	}
	if c.Now == nil {
		c.Now = time.Now
	}
	if c.IdleMax == 0 {
		c.IdleMax = idleMax
	}
	if c.AgeMax == 0 {
		c.AgeMax = ageMax
	}
	// Round strips the monotonic reading, which stands still while a Lambda
	// process is frozen.
	wall := func() time.Time { return c.Now().Round(0) }
	return &Guard{
		loopback: c.Loopback,
		own:      places(c.OwnHosts),
		answers:  newAnswers(c.Lookup, wall),
		tls:      tlsConfig(c.Roots),
		pool:     newPool(wall, c.IdleMax, c.AgeMax),
	}
}

// Close closes the idle connections; those in use are closed when released.
// It never fails.
func (g *Guard) Close() error {
	g.pool.close()
	return nil
}

// Rules is what one server's registration adds.
type Rules struct {
	// Networks are private prefixes. Empty: public addresses only. Not empty:
	// only these networks; a public answer refuses too. They never open
	// anything but private addresses (RFC 1918, 4193, 6598).
	Networks []netip.Prefix
	// IPv6 dials IPv6 addresses as well, after the IPv4 ones. They are looked
	// up and checked either way. In a cloud network the neighbours have global
	// IPv6 addresses, which no check can tell from the internet's.
	IPv6 bool
	// TLS is who the relay is to this server, and whom it believes there. Nil:
	// nobody, and the guard's roots.
	TLS *TLS
}

// TLS is what one server's registration adds to the handshake. It must not be
// changed once a guard has seen it.
type TLS struct {
	// Roots are the authorities that may have signed the server's certificate,
	// and the only ones. Nil: the guard's.
	Roots *x509.CertPool
	// Certificates are shown to a server that asks for one: the first that it
	// accepts. None: nothing is shown.
	Certificates []tls.Certificate
	// Digest names all of the above: what differs has another one. Connections
	// and sessions are shared under the same digest alone. Never empty.
	Digest string
}
