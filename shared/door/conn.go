package door

import (
	"bufio"
	"context"
	"io"
	"net"
	"net/http"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

const (
	// readSize is the largest head that takes the short way, in bytes: one
	// with a large token is within it.
	readSize = 8 << 10
	// writeSize is the largest reply that is one write, in bytes.
	writeSize = 8 << 10
	// lingerTime and lingerBytes bound what is read of a client that is still
	// sending when it was answered: closing at once would take the reply from it.
	// A body that is refused for its size is over 1 MiB.
	lingerTime  = 500 * time.Millisecond
	lingerBytes = 8 << 20
)

// conn is a connection on the short way. Its goroutine reads and writes; look
// and retire come from others.
type conn struct {
	server *Server
	tcp    net.Conn
	raw    syscall.RawConn // nil where the connection is no socket
	reader *bufio.Reader
	writer *bufio.Writer
	remote string
	ctx    context.Context // of all its requests
	cancel context.CancelFunc
	reads  deadline
	writes deadline
	peek   func(fd uintptr) // gone, made once
	lost   bool             // what peek found

	mu      sync.Mutex
	busy    bool // a request is in flight
	seen    bool // it was when somebody looked last
	retired bool // it takes no other request
}

func makeConn(s *Server, base context.Context, tcp net.Conn) *conn {
	c := &conn{
		server: s, tcp: tcp, remote: tcp.RemoteAddr().String(),
		reader: bufio.NewReaderSize(tcp, readSize), writer: bufio.NewWriterSize(tcp, writeSize),
	}
	c.ctx, c.cancel = context.WithCancel(base)
	c.reads.enforce, c.writes.enforce = tcp.SetReadDeadline, tcp.SetWriteDeadline
	c.peek = c.gone
	if socket, ok := tcp.(syscall.Conn); ok {
		c.raw, _ = socket.SyscallConn() // without it no client is seen to leave
	}
	return c
}

// serve takes requests until one is not for the short way, or none comes.
func (c *conn) serve() {
	handed := false
	defer c.server.serving.Done()
	defer func() {
		c.server.forget(c) // from here on nobody looks at it
		if handed {
			c.handOver()
			return
		}
		c.cancel()
		_ = c.tcp.Close() // nobody is left to tell
	}()
	idle := c.server.HTTP.ReadHeaderTimeout // of a connection that has said nothing yet
	for {
		_ = c.reads.set(time.Now().Add(idle)) // fails where the next read does
		idle = c.server.HTTP.IdleTimeout
		if c.isRetired() { // the deadline may have undone how that is said
			return
		}
		if _, err := c.reader.Peek(1); err != nil || !c.begin() {
			return
		}
		_ = c.reads.set(time.Time{})
		// A head that is not here as one piece takes the long way too.
		head, _ := c.reader.Peek(c.reader.Buffered())
		if handed = !plain(head); handed {
			return
		}
		if keep := c.answer(); !c.end() || !keep {
			return
		}
	}
}

// begin takes the connection for a request; false where it is retired.
func (c *conn) begin() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.busy, c.seen = !c.retired, false
	return c.busy
}

// end frees the connection; false where it is retired.
func (c *conn) end() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.busy = false
	return !c.retired
}

// retire lets the connection take no further request.
func (c *conn) retire() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.retired = true; !c.busy {
		_ = c.tcp.SetReadDeadline(past()) // fails where it is closed already
	}
}

func (c *conn) isRetired() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.retired
}

// answer takes one request through the handler, and reports whether the
// connection can carry another.
func (c *conn) answer() bool {
	r, err := http.ReadRequest(c.reader)
	if err != nil {
		_ = c.tcp.SetWriteDeadline(time.Now().Add(lingerTime))
		_, _ = io.WriteString(c.tcp, "HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
		c.linger()
		return false
	}
	ctx, cancel := context.WithCancel(c.ctx)
	defer cancel()
	r = r.WithContext(ctx)
	r.RemoteAddr = c.remote
	w := &reply{conn: c, header: make(http.Header, replyHeaders), body: body{r.Body, r.ContentLength}}
	r.Body = &w.body
	if !w.handle(c.server.HTTP.Handler, r) || w.finish() != nil {
		return false
	}
	_ = c.writes.set(time.Time{}) // fails where the next read does
	if w.closing || w.body.left > 0 {
		c.linger()
		return false
	}
	return c.ctx.Err() == nil
}

// body is that of a request, and how much of it was not read.
type body struct {
	io.ReadCloser
	left int64
}

// Read counts.
func (b *body) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	b.left -= int64(n)
	return n, err
}

// Close leaves what was not read to the connection: reading it might wait.
func (b *body) Close() error { return nil }

// linger says that nothing more is sent and reads on for a moment.
func (c *conn) linger() {
	if half, ok := c.tcp.(interface{ CloseWrite() error }); ok && half.CloseWrite() == nil {
		_ = c.tcp.SetReadDeadline(time.Now().Add(lingerTime)) // fails where the copy does
		_, _ = io.CopyN(io.Discard, c.reader, lingerBytes)
	}
}

// handOver gives the connection to net/http, with what was read of it.
func (c *conn) handOver() {
	defer c.cancel()
	_ = c.reads.set(time.Time{})
	_ = c.writes.set(time.Time{})
	c.server.handed.give(&replayed{Conn: c.tcp, read: c.reader})
}

// look enforces the deadlines, and ends the call of a client that has gone.
func (c *conn) look(now time.Time) {
	c.reads.look(now)
	c.writes.look(now)
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.busy || c.raw == nil {
		return
	}
	if !c.seen { // most calls are over before the next look
		c.seen = true
		return
	}
	if c.raw.Control(c.peek) == nil && c.lost {
		c.cancel()
	}
}

// gone peeks at the socket, which takes nothing and waits for nothing.
func (c *conn) gone(fd uintptr) {
	var one [1]byte
	n, _, err := unix.Recvfrom(int(fd), one[:], unix.MSG_PEEK|unix.MSG_DONTWAIT)
	c.lost = err == nil && n == 0 || err != nil && err != unix.EAGAIN && err != unix.EINTR
}
