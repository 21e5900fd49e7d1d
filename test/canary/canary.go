// Package canary listens where the relay must never connect, and counts who
// does.
//
// It promises that a connection which reached the listener's address before
// [Canary.Hits] was called is in the count, without waiting for any time to
// pass. It refuses to speak: a connection is closed as soon as it is counted.
package canary

import (
	"net"
	"net/netip"
	"sync"
	"testing"
)

// Canary is one listener with its count.
type Canary struct {
	t        testing.TB
	listener net.Listener

	mu    sync.Mutex
	hits  int
	own   map[string]chan struct{} // local addresses of the canary's own probes
	ended chan struct{}
}

// Listen starts a canary on addr ("127.0.0.1:0" picks a free port); it ends
// with the test. An address that cannot be bound fails the test.
func Listen(t testing.TB, addr string) *Canary {
	t.Helper()
	l, err := net.Listen("tcp", addr)
	if err != nil {
		t.Fatalf("canary: listening on %s: %v", addr, err)
	}
	c := &Canary{t: t, listener: l, own: map[string]chan struct{}{}, ended: make(chan struct{})}
	go c.accept()
	t.Cleanup(func() {
		l.Close()
		<-c.ended
	})
	return c
}

// Addr is the address the canary listens on.
func (c *Canary) Addr() netip.AddrPort {
	return c.listener.Addr().(*net.TCPAddr).AddrPort()
}

// Port is the port of [Canary.Addr].
func (c *Canary) Port() uint16 { return c.Addr().Port() }

// Hits is how many connections came in. The kernel hands connections out in
// the order they came, so Hits connects once itself and waits for that
// connection to be accepted: everything older has been counted by then.
func (c *Canary) Hits() int {
	c.t.Helper()
	c.settle()
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.hits
}

// settle returns once every connection that was made before it is counted.
func (c *Canary) settle() {
	c.t.Helper()
	// The lock keeps accept from judging the probe before it is registered.
	c.mu.Lock()
	probe, err := net.Dial("tcp", c.listener.Addr().String())
	if err != nil {
		c.mu.Unlock()
		c.t.Errorf("canary: probing %s: %v", c.listener.Addr(), err)
		return
	}
	defer probe.Close()
	seen := make(chan struct{})
	c.own[probe.LocalAddr().String()] = seen
	c.mu.Unlock()
	select {
	case <-seen:
	case <-c.ended:
	}
}

func (c *Canary) accept() {
	defer close(c.ended)
	for {
		conn, err := c.listener.Accept()
		if err != nil {
			return
		}
		c.count(conn.RemoteAddr().String())
		conn.Close()
	}
}

// count tells the canary's own probes from everybody else.
func (c *Canary) count(from string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if seen, ok := c.own[from]; ok {
		delete(c.own, from)
		close(seen)
		return
	}
	c.hits++
}
