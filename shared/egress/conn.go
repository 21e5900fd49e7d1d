package egress

import (
	"bufio"
	"context"
	"net/netip"
)

// Conn is one connection to a checked address, in the hands of one user.
type Conn struct {
	// Reader reads what the upstream sends. Its buffer is 64 KiB.
	Reader *bufio.Reader
}

// Write sends p.
func (c *Conn) Write(p []byte) (int, error) { return 0, nil }

// Reused reports whether the connection served a request before.
func (c *Conn) Reused() bool { return false }

// Written is how many bytes were sent since the connection was taken.
func (c *Conn) Written() int64 { return 0 }

// Received is how many bytes came in since the connection was taken.
func (c *Conn) Received() int64 { return 0 }

// Addr is the checked address at the other end.
func (c *Conn) Addr() netip.AddrPort { return netip.AddrPort{} }

// Bind makes the end of ctx unblock reads and writes, which then fail with a
// timeout: ask ctx what it was. Call stop before Release.
func (c *Conn) Bind(ctx context.Context) (stop func()) { return func() {} }

// Release gives the connection back for reuse.
func (c *Conn) Release() {}

// Close closes the connection at once. It may be called more than once.
func (c *Conn) Close() error { return nil }
