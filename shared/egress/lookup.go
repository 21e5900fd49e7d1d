package egress

import (
	"context"
	"net"
	"net/netip"
	"sync/atomic"
)

// Lookup gives every address of a host, of both families.
type Lookup func(ctx context.Context, host string) ([]netip.Addr, error)

// Dial connects a resolver to its name server, as [net.Resolver] wants it.
type Dial func(ctx context.Context, network, address string) (net.Conn, error)

// NewLookup looks names up with Go's own resolver, whatever GODEBUG says: the
// hosts file, then A and AAAA together, where one that fails fails the lookup.
// The name is taken as rooted, which keeps search lists out. Nil dials the
// system's name servers.
func NewLookup(dial Dial) Lookup {
	if dial == nil {
		dial = new(net.Dialer).DialContext
	}
	return func(ctx context.Context, host string) ([]netip.Addr, error) {
		// The resolver writes an IPv4 address of the hosts file as it writes
		// an IPv4-mapped AAAA record. The one is an IPv4 address and the other
		// a trick; they differ in whether a name server was asked. A resolver
		// of its own keeps the lookup from sharing another one's answer.
		var asked atomic.Bool
		r := net.Resolver{PreferGo: true, StrictErrors: true,
			Dial: func(ctx context.Context, network, address string) (net.Conn, error) {
				asked.Store(true)
				return dial(ctx, network, address)
			},
		}
		found, err := r.LookupIPAddr(ctx, host+".")
		if err != nil {
			return nil, err
		}
		addrs := make([]netip.Addr, 0, len(found))
		for _, f := range found {
			addrs = append(addrs, address(f, !asked.Load()))
		}
		return addrs, nil
	}
}

// address converts an answer, keeping its zone (which LookupNetIP drops).
func address(f net.IPAddr, fromFile bool) netip.Addr {
	a, _ := netip.AddrFromSlice(f.IP)
	if fromFile {
		a = a.Unmap()
	}
	return a.WithZone(f.Zone)
}
