// Package door is the listener of the local relay: net/http, with a shorter
// way for the requests that nearly all calls are.
//
// It promises that what does not look exactly like such a request is served by
// [net/http.Server] on the same connection, that a client that goes away ends
// the context of its call, that no reader or writer keeps a connection beyond
// its deadline, and that requests in flight end before [Server.Shutdown]
// returns. It refuses to guess: it parses no head that two readers could read
// in two ways.
//
// net/http watches for the end of a connection with a goroutine a request and
// arms a timer of the runtime for every deadline; together they take a tenth
// of a call. Here one goroutine looks at all connections every [lookEvery].
package door

import (
	"context"
	"errors"
	"net"
	"net/http"
	"sync"
	"syscall"
	"time"
)

// lookEvery is the grain of deadlines, and of noticing that a client has gone.
const lookEvery = 25 * time.Millisecond

// Server serves one listener. Its fields must not change once it serves.
type Server struct {
	// HTTP serves what takes the long way. Its Handler, BaseContext,
	// ReadHeaderTimeout and IdleTimeout hold for the short way too; the first
	// and the last two must be set. Serve it by nothing else.
	HTTP *http.Server

	mu      sync.Mutex
	conns   map[*conn]struct{}
	closing bool
	listens net.Listener  // nil before Serve
	watched chan struct{} // holds one: connections have come
	done    chan struct{} // closed by Shutdown
	serving sync.WaitGroup
	handed  *handedOver
	dates   dates
}

// New makes a server of a net/http one.
func New(inner *http.Server) *Server {
	return &Server{
		HTTP: inner, conns: map[*conn]struct{}{}, watched: make(chan struct{}, 1),
		done: make(chan struct{}),
	}
}

// Serve accepts connections until the listener fails or is closed by Shutdown,
// which is [net/http.ErrServerClosed]. It is called once.
func (s *Server) Serve(l net.Listener) error {
	s.mu.Lock()
	if s.closing {
		s.mu.Unlock()
		return errors.Join(http.ErrServerClosed, l.Close())
	}
	s.listens = l
	s.handed = &handedOver{conns: make(chan net.Conn), done: s.done, addr: l.Addr()}
	go func() { _ = s.HTTP.Serve(s.handed) }() // it ends with done, and only then
	s.mu.Unlock()
	go s.look()
	base := context.Background()
	if s.HTTP.BaseContext != nil {
		base = s.HTTP.BaseContext(l)
	}
	for {
		tcp, err := accept(l)
		if err != nil {
			if s.isClosing() {
				return http.ErrServerClosed
			}
			return err
		}
		if c := s.newConn(base, tcp); c != nil {
			go c.serve()
		}
	}
}

// The pauses after an accept that failed for want of files or memory.
const (
	firstPause = 5 * time.Millisecond
	mostPause  = time.Second
)

// accept waits while the process has no room for another connection.
func accept(l net.Listener) (net.Conn, error) {
	for pause := firstPause; ; pause = min(2*pause, mostPause) {
		tcp, err := l.Accept()
		if err == nil || !passing(err) {
			return tcp, err
		}
		time.Sleep(pause)
	}
}

// passing reports whether an accept may do better after a pause.
func passing(err error) bool {
	errno, ok := errors.AsType[syscall.Errno](err)
	if !ok {
		return false
	}
	switch errno {
	case syscall.EMFILE, syscall.ENFILE, syscall.ENOBUFS, syscall.ENOMEM, syscall.ECONNABORTED:
		return true
	}
	return false
}

func (s *Server) isClosing() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.closing
}

// Shutdown closes the listener and the connections without a request, then
// waits for the requests in flight, at most until ctx ends.
func (s *Server) Shutdown(ctx context.Context) error {
	s.mu.Lock()
	first := !s.closing
	if s.closing = true; first {
		close(s.done)
	}
	var err error
	if first && s.listens != nil {
		err = s.listens.Close()
	}
	for c := range s.conns {
		c.retire()
	}
	s.mu.Unlock()
	if ended := s.HTTP.Shutdown(ctx); ended != nil {
		return errors.Join(err, ended)
	}
	quiet := make(chan struct{})
	go func() {
		s.serving.Wait()
		close(quiet)
	}()
	select {
	case <-quiet:
		return err
	case <-ctx.Done():
		return errors.Join(err, ctx.Err())
	}
}

// newConn makes a connection one of the server's; nil where it is closing.
func (s *Server) newConn(base context.Context, tcp net.Conn) *conn {
	c := makeConn(s, base, tcp)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closing {
		c.cancel()
		_ = tcp.Close() // nothing was promised on it
		return nil
	}
	s.serving.Add(1)
	if s.conns[c] = struct{}{}; len(s.conns) == 1 {
		select {
		case s.watched <- struct{}{}:
		default:
		}
	}
	return c
}

// forget ends the server's part in a connection, which may live on.
func (s *Server) forget(c *conn) {
	s.mu.Lock()
	delete(s.conns, c)
	s.mu.Unlock()
}

// look keeps the deadlines of all connections while there are any.
func (s *Server) look() {
	tick := time.NewTicker(lookEvery)
	defer tick.Stop()
	for now := range tick.C {
		if s.lookAt(now) {
			continue
		}
		tick.Stop()
		select {
		case <-s.watched:
		case <-s.done:
			if s.lookAt(time.Now()) {
				break // one came before the end
			}
			return
		}
		tick.Reset(lookEvery)
	}
}

// lookAt looks at every connection, and reports whether there is one.
func (s *Server) lookAt(now time.Time) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	for c := range s.conns {
		c.look(now)
	}
	return len(s.conns) > 0
}
