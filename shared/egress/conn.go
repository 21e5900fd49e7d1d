package egress

import (
	"bufio"
	"context"
	"net"
	"net/netip"
	"sync/atomic"
)

// Conn is one use of a connection to a checked address. One goroutine may read
// while another writes; the other methods are for one owner.
type Conn struct {
	// Reader reads what the server sends. Its buffer is 64 KiB. It is nil
	// after Release.
	Reader *bufio.Reader

	traffic traffic
	addr    netip.AddrPort
	link    *link
	pool    *pool
	reused  bool
	ended   atomic.Bool
	unbind  func()
}

// Write sends p. On an error the count says how much the server may have read;
// part of a TLS record cannot be read and is not counted.
func (c *Conn) Write(p []byte) (int, error) {
	if c.ended.Load() {
		return 0, net.ErrClosed
	}
	n, err := c.link.stream.Write(p)
	c.traffic.written.Add(int64(n))
	if err != nil {
		c.link.broken.Store(true)
	}
	return n, err
}

// Reused reports whether the connection served a request before.
func (c *Conn) Reused() bool { return c.reused }

// Written is how many bytes were sent in this use, before encryption.
func (c *Conn) Written() int64 { return c.traffic.written.Load() }

// Received is how many bytes came in in this use, after decryption.
func (c *Conn) Received() int64 { return c.traffic.received.Load() }

// Addr is the checked address at the other end.
func (c *Conn) Addr() netip.AddrPort { return c.addr }

// Bind makes the end of ctx unblock reads and writes for good, which then fail
// with a timeout: ask ctx what it was. A later Bind replaces this one. Stop
// may be called at any time and more than once; Release and Close call it.
func (c *Conn) Bind(ctx context.Context) (stop func()) {
	c.stop()
	release := context.AfterFunc(ctx, c.link.interrupt)
	done := false
	c.unbind = func() {
		// False may mean that interrupt runs just now: the link is lost.
		if !done && !release() {
			c.link.broken.Store(true)
		}
		done = true
	}
	return c.unbind
}

func (c *Conn) stop() {
	if c.unbind != nil {
		c.unbind()
	}
}

// Release gives the connection back for another use. The caller promises that
// the reply was read to its end and that both sides keep the connection open;
// a connection that failed, was interrupted or holds unread bytes is closed.
func (c *Conn) Release() {
	if c.ended.Swap(true) {
		return
	}
	c.stop()
	c.Reader = nil
	c.pool.put(c.link)
}

// Close closes the connection at once. It may be called more than once, and
// after Release it does nothing.
func (c *Conn) Close() error {
	if c.ended.Swap(true) {
		return nil
	}
	c.stop()
	return c.link.close()
}
