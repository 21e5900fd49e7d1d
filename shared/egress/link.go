package egress

import (
	"bufio"
	"context"
	"crypto/tls"
	"io"
	"net"
	"sync/atomic"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// readerSize is the buffer of [Conn.Reader]: with 4 KiB a reply of 256 KiB
// takes a tenth longer.
const readerSize = 64 << 10

// link is a connection over all of its uses; a [Conn] is one use.
type link struct {
	key     key
	born    time.Time
	idle    time.Time // since when, while in the pool
	tcp     *net.TCPConn
	raw     syscall.RawConn
	stream  io.ReadWriter // the TLS connection, or tcp
	tls     *tls.Conn     // nil for plain
	records *records      // nil for plain
	reader  *bufio.Reader

	asked bool // the server asked for a certificate
	shows bool // the registration has one

	peek   func(fd uintptr) // look, made once
	peeked error            // what it found

	use    *traffic    // of the present user
	broken atomic.Bool // an I/O failed or was interrupted
}

// traffic counts the bytes of one use. It belongs to the [Conn], which may be
// asked after the link has gone to somebody else.
type traffic struct{ written, received atomic.Int64 }

// newLink makes a link of a connection, with TLS where the endpoint has it.
func (g *Guard) newLink(ctx context.Context, r Route, tcp *net.TCPConn) (*link, error) {
	raw, err := tcp.SyscallConn()
	if err != nil {
		return nil, err
	}
	l := &link{tcp: tcp, raw: raw, stream: tcp, shows: r.rules.shows()}
	l.peek = l.look
	if r.endpoint.TLS() {
		if err := g.handshake(ctx, l, r); err != nil {
			return nil, err
		}
	}
	l.reader = bufio.NewReaderSize(counted{l}, readerSize)
	return l, nil
}

// hand puts the link into the hands of one user.
func (l *link) hand(p *pool, reused bool) *Conn {
	c := &Conn{Reader: l.reader, link: l, pool: p, reused: reused, addr: l.key.addr}
	l.use = &c.traffic
	return c
}

// counted is the link as the reader sees it.
type counted struct{ *link }

// Read counts what comes in and remembers failures, the end included.
func (c counted) Read(p []byte) (int, error) {
	n, err := c.stream.Read(p)
	c.use.received.Add(int64(n))
	if err != nil {
		c.broken.Store(true)
	}
	return n, err
}

// interrupt makes every read and write fail from now on.
func (l *link) interrupt() {
	l.broken.Store(true)
	l.tcp.SetDeadline(time.Unix(1, 0)) // any time in the past
}

// drained reports whether everything that came in was read, on every level.
func (l *link) drained() bool {
	if l.broken.Load() || l.reader.Buffered() > 0 {
		return false
	}
	if l.tls == nil {
		return true
	}
	if l.records.unread() {
		return false
	}
	// The record that was read last may hold more than was taken from it. TLS
	// gives that first, and only then asks for a record, which is on hold.
	var one [1]byte
	l.records.held = true
	n, err := l.tls.Read(one[:])
	l.records.held = false
	_, held := err.(heldError)
	return n == 0 && held
}

// silent reports whether the connection is open and nothing came in since it
// was drained: the server may have closed it, or sent what nobody asked for.
func (l *link) silent() bool {
	return l.raw.Control(l.peek) == nil && l.peeked == unix.EAGAIN
}

// look peeks at the socket, which takes nothing and waits for nothing. Under
// TLS it sees what TLS has not read yet.
func (l *link) look(fd uintptr) {
	var one [1]byte
	_, _, l.peeked = unix.Recvfrom(int(fd), one[:], unix.MSG_PEEK|unix.MSG_DONTWAIT)
}

// close ends the connection at once. TLS's own Close may wait five seconds to
// say goodbye to a server that reads nothing, so it is not asked.
func (l *link) close() error { return l.tcp.Close() }
