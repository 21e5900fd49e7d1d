package egress_test

import (
	"io"
	"net"
	"testing"
	"time"

	"mcprelay/shared/egress"
)

func TestThePoolIsBounded(t *testing.T) {
	g := guard(t, egress.Config{Loopback: true})
	hosts := egress.PoolMax/egress.PoolEachMax + 1
	for i := range hosts {
		p := listening(t, nil)
		var conns []*egress.Conn
		for range egress.PoolEachMax + 1 {
			conns = append(conns, connect(t, g, p.url("localhost")))
			p.next()
		}
		for _, c := range conns {
			c.Release()
		}
		want := min((i+1)*egress.PoolEachMax, egress.PoolMax)
		if got := g.Idle(); got != want {
			t.Fatalf("%d hosts: want %d connections kept, got %d", i+1, want, got)
		}
	}
}

func TestOldConnectionsAreClosedWithoutBeingAskedFor(t *testing.T) {
	p := listening(t, nil)
	c := newClock()
	g := guard(t, egress.Config{Loopback: true, Now: c.Now})
	exchange(t, connect(t, g, p.url("localhost")), p.next())
	c.pass(10 * time.Second)
	second, err := g.Fresh(t.Context(), route(t, g, p.url("localhost")))
	if err != nil {
		t.Fatal(err)
	}
	exchange(t, second, p.next())
	for _, step := range []struct {
		wait time.Duration
		want int
	}{{0, 2}, {11 * time.Second, 1}, {11 * time.Second, 0}} {
		c.pass(step.wait)
		g.Sweep()
		if g.Idle() != step.want {
			t.Errorf("after %s more: want %d kept, got %d", step.wait, step.want, g.Idle())
		}
	}
}

// What is old is for the clock of the test to say; that somebody looks, and
// looks again while anything is left, is for the guard's own timer.
func TestTheSweepComesByItselfWhileAnythingIsKept(t *testing.T) {
	const idle = 30 * time.Millisecond
	p := listening(t, nil)
	c := newClock()
	g := guard(t, egress.Config{Loopback: true, Now: c.Now, IdleMax: idle})
	for range 2 { // the second round begins with an empty pool
		first, second := connect(t, g, p.url("localhost")), connect(t, g, p.url("localhost"))
		servers := []net.Conn{p.next(), p.next()}
		exchange(t, first, servers[0])
		c.pass(idle / 2)
		exchange(t, second, servers[1])
		for _, server := range servers {
			c.pass(idle / 2)
			if _, err := io.Copy(io.Discard, server); err != nil { // until the guard closes it
				t.Fatal(err)
			}
		}
	}
}

func TestCloseEndsIdleConnectionsAndThoseReleasedLater(t *testing.T) {
	p := listening(t, nil)
	g := guard(t, egress.Config{Loopback: true})
	inUse := connect(t, g, p.url("localhost"))
	server := p.next()
	exchange(t, connect(t, g, p.url("localhost")), p.next())
	g.Close()
	if g.Idle() != 0 {
		t.Errorf("want none kept, got %d", g.Idle())
	}
	exchange(t, inUse, server)
	if _, err := io.Copy(io.Discard, server); err != nil || g.Idle() != 0 {
		t.Errorf("want the released one closed, got %v, %d kept", err, g.Idle())
	}
}
