package egress

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"syscall"
	"time"

	"mcprelay/shared/call"
)

// The bounds of connecting.
const (
	connectMax = 10 * time.Second // TCP and TLS together, where the context allows more
	shareMin   = 2 * time.Second  // of one address while others follow, as net.Dialer has it
)

// Fresh is [Guard.Conn] without the pool: after a reused connection proved
// dead. The connection may be released into the pool like any other.
func (g *Guard) Fresh(ctx context.Context, r Route) (*Conn, error) {
	if len(r.addrs) == 0 {
		return nil, call.Refuse(call.Internal, "the route has no checked address")
	}
	within, cancel := context.WithTimeout(ctx, connectMax)
	defer cancel()
	tcp, addr, err := g.connect(within, r)
	if err != nil {
		return nil, connectRefusal(ctx, r, err)
	}
	l, err := g.newLink(within, r, tcp)
	if err != nil {
		tcp.Close()
		return nil, tlsRefusal(ctx, r, err)
	}
	l.key = r.key(addr)
	l.born = g.pool.wall()
	return l.hand(g.pool, false), nil
}

// connect tries the addresses in order until one accepts.
func (g *Guard) connect(ctx context.Context, r Route) (*net.TCPConn, netip.AddrPort, error) {
	var last error
	for i, addr := range r.addrs {
		tcp, err := g.connectTo(ctx, r, i)
		if err == nil {
			return tcp, addr, nil
		}
		last = err
		if _, refused := errors.AsType[*call.Refusal](err); refused || ctx.Err() != nil {
			break
		}
	}
	return nil, netip.AddrPort{}, last
}

// connectTo connects to the route's i-th address within its share of the time.
func (g *Guard) connectTo(ctx context.Context, r Route, i int) (*net.TCPConn, error) {
	deadline, _ := ctx.Deadline()
	ctx, cancel := context.WithDeadline(ctx, share(time.Now(), deadline, len(r.addrs)-i))
	defer cancel()
	addr := r.addrs[i]
	d := net.Dialer{Control: g.lock(r, addr), FallbackDelay: -1}
	d.SetMultipathTCP(false) // GODEBUG could turn it on
	network := "tcp4"
	if addr.Addr().Is6() {
		network = "tcp6"
	}
	conn, err := d.DialContext(ctx, network, addr.String())
	if err != nil {
		return nil, err
	}
	tcp := conn.(*net.TCPConn)
	if err := tcp.SetNoDelay(true); err != nil {
		tcp.Close()
		return nil, err
	}
	return tcp, nil
}

// lock is the second lock: the socket asks it before it connects, with the
// address the kernel is about to be given.
func (g *Guard) lock(r Route, want netip.AddrPort) func(network, address string, _ syscall.RawConn) error {
	return func(_, address string, _ syscall.RawConn) error {
		got, err := netip.ParseAddrPort(address)
		if err != nil || got != want {
			return call.Refuse(call.Internal, "the socket connects elsewhere than to %s", want)
		}
		if refusal := g.check(r, got.Addr()); refusal != nil {
			return refusal
		}
		if !got.Addr().Is4() && !r.dials6() {
			return call.Refuse(call.Internal, "%s is an IPv6 address, which the registration does not allow", got)
		}
		return nil
	}
}

// share is when an address must have accepted, if it is the first of left: an
// equal part of what remains, but not so short that none could succeed.
func share(now, deadline time.Time, left int) time.Time {
	remains := deadline.Sub(now)
	part := max(remains/time.Duration(left), min(shareMin, remains))
	return now.Add(part)
}

// connectRefusal is the refusal for an endpoint that could not be connected to.
func connectRefusal(ctx context.Context, r Route, err error) error {
	if refusal, ok := errors.AsType[*call.Refusal](err); ok {
		return refusal
	}
	if gone := cancelled(ctx); gone != nil {
		return gone
	}
	what := "the connection failed"
	if errno, ok := errors.AsType[syscall.Errno](err); ok {
		what = errno.Error()
	}
	if errors.Is(err, os.ErrDeadlineExceeded) || errors.Is(err, context.DeadlineExceeded) {
		what = "no answer in time"
	}
	return &call.Refusal{Reason: call.Connect, Err: err,
		Detail: fmt.Sprintf("%s at %s: %s", r.endpoint.Host(), r.listed(), what)}
}

// listed is the route's addresses for a detail: the only one, or the first and
// how many there are.
func (r Route) listed() string {
	if len(r.addrs) == 1 {
		return r.addrs[0].String()
	}
	return fmt.Sprintf("%s and %d more", r.addrs[0], len(r.addrs)-1)
}
