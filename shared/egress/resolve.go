package egress

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"strings"

	"mcprelay/shared/call"
	"mcprelay/shared/endpoint"
)

// addrsMax is how many addresses a name may have. Real ones have up to 8; Go's
// resolver hands on thousands.
const addrsMax = 16

// Route is an endpoint with its checked addresses. Only [Guard.Resolve] makes
// one; the zero Route cannot be dialled.
type Route struct {
	endpoint endpoint.URL
	addrs    []netip.AddrPort
	rules    Rules
	networks string // of the rules, for the pool's key
	spelled  bool   // as loopback
}

// Endpoint is the endpoint that was resolved.
func (r Route) Endpoint() endpoint.URL { return r.endpoint }

// Addrs are the addresses that may be dialled, in the order they are tried.
func (r Route) Addrs() []netip.AddrPort { return append([]netip.AddrPort(nil), r.addrs...) }

// Resolve looks the endpoint's host up and checks every answer of both
// families: one bad answer refuses the endpoint. A checked answer is kept for
// at most 30 seconds; a lookup may take 2. Its error is a *call.Refusal of the
// address stage, or cancelled.
func (g *Guard) Resolve(ctx context.Context, u endpoint.URL, r Rules) (Route, error) {
	route := Route{endpoint: u, rules: r, networks: networksKey(r.Networks)}
	if u.Host() == "" {
		return Route{}, call.Refuse(call.Internal, "the endpoint has no host")
	}
	if r.TLS != nil && r.TLS.Digest == "" {
		return Route{}, call.Refuse(call.Internal, "the TLS settings of %s have no digest", u.Host())
	}
	if g.isOwn(u.Host(), netip.Addr{}, u.Port()) {
		return Route{}, call.Refuse(call.Loop, "%s is the relay's own host", u.Host())
	}
	addrs, err := g.addresses(ctx, u)
	if err != nil {
		return Route{}, err
	}
	_, route.spelled = u.Loopback()
	for _, a := range addrs {
		if refusal := g.check(route, a); refusal != nil {
			g.answers.forget(u.Host())
			return Route{}, refusal
		}
	}
	if route.addrs = route.order(addrs); len(route.addrs) == 0 {
		return Route{}, call.Refuse(call.NoIPv4, "%s has IPv6 addresses only", u.Host())
	}
	return route, nil
}

// order gives the addresses that are dialled: the IPv4 ones, then the IPv6 ones
// where the route has them. Within a family the resolver's order stays.
func (r Route) order(addrs []netip.Addr) []netip.AddrPort {
	list := make([]netip.AddrPort, 0, len(addrs))
	for _, a := range addrs {
		if a.Is4() {
			list = append(list, netip.AddrPortFrom(a, r.endpoint.Port()))
		}
	}
	for _, a := range addrs {
		if !a.Is4() && r.dials6() {
			list = append(list, netip.AddrPortFrom(a, r.endpoint.Port()))
		}
	}
	return list
}

// dials6 reports whether IPv6 addresses are dialled: by the registration, or
// because the endpoint is one.
func (r Route) dials6() bool { return r.rules.IPv6 || r.spelled }

// addresses gives what the endpoint stands for, unchecked. A host spelled as
// loopback is its address, without a lookup (RFC 6761 section 6.3).
func (g *Guard) addresses(ctx context.Context, u endpoint.URL) ([]netip.Addr, error) {
	if a, spelled := u.Loopback(); spelled {
		return []netip.Addr{a}, nil
	}
	addrs, err := g.answers.of(ctx, u.Host())
	switch {
	case err != nil:
		return nil, lookupRefusal(ctx, u.Host(), err)
	case len(addrs) == 0:
		return nil, call.Refuse(call.DNS, "%s has no address", u.Host())
	case len(addrs) > addrsMax:
		g.answers.forget(u.Host())
		return nil, call.Refuse(call.TooManyAddresses, "%s has %d addresses", u.Host(), len(addrs))
	}
	return addrs, nil
}

// check says why a may not be dialled for the route, nil if it may. Both locks
// ask here: Resolve before, and the socket when it connects.
func (g *Guard) check(r Route, a netip.Addr) *call.Refusal {
	host := r.endpoint.Host()
	if g.isOwn("", a, r.endpoint.Port()) {
		return call.Refuse(call.Loop, "%s is the relay's own address %s", host, a)
	}
	reason, refused := r.rules.refuse(a)
	if r.spelled && g.loopback && a.IsLoopback() && len(r.rules.Networks) == 0 {
		refused = false
	}
	if !refused {
		return nil
	}
	return call.Refuse(reason, "%s is at %s", host, a)
}

// refuse says why a is refused under the rules. Networks open private
// addresses only, and never one that is written inside another.
func (r Rules) refuse(a netip.Addr) (call.Reason, bool) {
	reason, refused := Classify(a)
	if len(r.Networks) == 0 {
		return reason, refused
	}
	private := refused && reason == call.PrivateAddress
	switch {
	case private && in(a, r.Networks) && len(embedded(a)) == 0:
		return "", false
	case refused && !private:
		return reason, true
	}
	return call.NotInNetworks, true
}

// networksKey is the networks as one comparable value.
func networksKey(networks []netip.Prefix) string {
	if len(networks) == 0 {
		return ""
	}
	all := make([]string, len(networks))
	for i, p := range networks {
		all[i] = p.String()
	}
	return strings.Join(all, ",")
}

// lookupRefusal is the refusal for a failed lookup. The resolver's text names
// the relay's own name servers and is left out.
func lookupRefusal(ctx context.Context, host string, err error) error {
	if gone := cancelled(ctx); gone != nil {
		return gone
	}
	what := "the name server failed"
	var dns *net.DNSError
	switch {
	case errors.Is(err, context.DeadlineExceeded), errors.As(err, &dns) && dns.IsTimeout:
		what = "no answer in time"
	case errors.As(err, &dns) && dns.IsNotFound:
		what = "no such name"
	}
	return &call.Refusal{Reason: call.DNS, Detail: fmt.Sprintf("%s: %s", host, what), Err: err}
}

// cancelled is the refusal for a caller that went away before anything was
// written, nil while it is there. A deadline is not a departure.
func cancelled(ctx context.Context) error {
	if !errors.Is(ctx.Err(), context.Canceled) {
		return nil
	}
	return &call.Refusal{Reason: call.Cancelled, Detail: "before a connection was made", Impact: call.ImpactNone, Err: ctx.Err()}
}
