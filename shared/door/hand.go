package door

import (
	"bufio"
	"errors"
	"net"
)

// handedOver is the listener that net/http sees.
type handedOver struct {
	conns chan net.Conn
	done  chan struct{}
	addr  net.Addr
}

// give hands a connection over, or closes it where the server is closing.
func (h *handedOver) give(c net.Conn) {
	select {
	case h.conns <- c:
	case <-h.done:
		_ = c.Close() // no request of it was begun
	}
}

// Accept waits for the next connection that takes the long way.
func (h *handedOver) Accept() (net.Conn, error) {
	select {
	case c := <-h.conns:
		return c, nil
	case <-h.done:
		return nil, net.ErrClosed
	}
}

// Close does nothing: the server closes what it listens on.
func (h *handedOver) Close() error { return nil }

// Addr is where the clients are.
func (h *handedOver) Addr() net.Addr { return h.addr }

// replayed is a connection of which something was read already.
type replayed struct {
	net.Conn
	read *bufio.Reader // nil once it is empty
}

// Read gives what was read already, then what comes.
func (r *replayed) Read(p []byte) (int, error) {
	if r.read != nil && r.read.Buffered() > 0 {
		return r.read.Read(p[:min(len(p), r.read.Buffered())])
	}
	r.read = nil
	return r.Conn.Read(p)
}

// CloseWrite lets net/http say goodbye before it closes.
func (r *replayed) CloseWrite() error {
	if half, ok := r.Conn.(interface{ CloseWrite() error }); ok {
		return half.CloseWrite()
	}
	return errors.ErrUnsupported
}
