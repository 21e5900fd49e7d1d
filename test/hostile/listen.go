package hostile

import (
	"bufio"
	"bytes"
	"crypto/tls"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
)

// listen accepts until the test ends, and then ends every connection.
func (s *Server) listen() {
	s.t.Helper()
	listener, err := net.Listen("tcp", s.options.Listen)
	if err != nil {
		s.t.Fatalf("hostile: listening on %s: %v", s.options.Listen, err)
	}
	s.listener = listener
	var running sync.WaitGroup
	running.Go(func() {
		for {
			socket, err := listener.Accept()
			if err != nil {
				return
			}
			running.Go(func() { s.serve(socket.(*net.TCPConn)) })
		}
	})
	s.t.Cleanup(func() {
		listener.Close()
		s.hangUp()
		running.Wait()
		s.judge()
	})
}

// hangUp closes every connection, and those that are being accepted.
func (s *Server) hangUp() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ended = true
	for c := range s.conns {
		c.socket.Close()
	}
}

// HangUp closes every connection that is open now, as a restart does. The
// server goes on to accept.
func (s *Server) HangUp() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for c := range s.conns {
		c.socket.Close()
	}
}

// Connections is how many were accepted.
func (s *Server) Connections() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.dialed
}

// Open is how many connections are open.
func (s *Server) Open() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.conns)
}

// admit takes note of a connection.
func (s *Server) admit(socket *net.TCPConn) *Conn {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.dialed++
	c := &Conn{Conn: socket, socket: socket, reader: bufio.NewReader(socket), server: s, Number: s.dialed}
	s.conns[c] = true
	if s.ended {
		socket.Close()
	}
	return c
}

func (s *Server) dismiss(c *Conn) {
	c.socket.Close()
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.conns, c)
}

// serve is one connection.
func (s *Server) serve(socket *net.TCPConn) {
	c := s.admit(socket)
	defer s.dismiss(c)
	if s.options.TLS.Instead != nil {
		s.options.TLS.Instead(c)
		return
	}
	if !s.options.TLS.Plain {
		secured := tls.Server(socket, s.tls)
		if err := secured.Handshake(); err != nil {
			s.log.handshake(err)
			return
		}
		c.Conn, c.state = secured, secured.ConnectionState()
	}
	var raw bytes.Buffer
	c.reader = bufio.NewReader(io.TeeReader(c.Conn, &raw))
	for {
		r, ok := s.next(c, &raw)
		if !ok {
			return
		}
		s.script(r)(c, r)
	}
}

// next reads one request. What is no request is kept too.
func (s *Server) next(c *Conn, raw *bytes.Buffer) (Request, bool) {
	got, err := http.ReadRequest(c.reader)
	if err != nil {
		if raw.Len() > 0 {
			s.log.broken("no HTTP request: " + strings.ToValidUTF8(raw.String(), "?"))
		}
		return Request{}, false
	}
	body, err := io.ReadAll(got.Body)
	if err != nil {
		s.log.broken("the body of a request ends early")
		return Request{}, false
	}
	head, _, _ := bytes.Cut(raw.Bytes(), []byte("\r\n\r\n"))
	r := newRequest(got, string(head), body)
	raw.Reset()
	r.Connection, r.ServerName = c.Number, c.state.ServerName
	for _, fault := range s.faults(r) {
		s.log.broken(fault)
	}
	s.log.add(r)
	return r, true
}

// script is who answers r.
func (s *Server) script(r Request) Script {
	s.mu.Lock()
	defer s.mu.Unlock()
	if script := s.scripts[r.Key()]; script != nil {
		return script
	}
	return s.Honest
}
