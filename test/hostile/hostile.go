// Package hostile is an MCP server that misbehaves on demand, and a whole
// relay in front of it.
//
// It promises that a test decides every byte that the relay reads, over TLS or
// not, down to the reset of the socket; that what reached the server is counted
// there, before it answers; and that a server in whose hands nobody interferes
// is a correct one of its era. It refuses to forgive: whatever the relay sends
// that the protocol or the house forbids fails the test, unless the test says
// that it expects so ([Options.Lenient]).
//
// # The server
//
// [Start] gives a [Server] of one of three eras: [Modern] (2026-07-28),
// [Legacy] (2025-11-25 and older, with sessions) and [Sessionless] (the same
// without). It answers correctly, except for what [Options.On] gives to a
// [Script] by JSON-RPC method, or by verb for GET and DELETE. The key
// "tools/call" is what most tests set. A script is given the connection and the
// request and writes what it likes; [Server.Honest] is the script that answers
// correctly, so that a test can be odd once and honest afterwards:
//
//	up := hostile.Start(t, hostile.Options{Era: hostile.Legacy})
//	up.On("tools/call", hostile.Sequence(hostile.Status(404, "text/html", "<p>"), up.Honest))
//	relay := hostile.Relay(t, up, hostile.Setup{})
//	reply := relay.Call(t, hostile.Ask{Tool: "echo", Arguments: `{"n":1.0}`})
//
// Scripts for whole kinds are made by [Status], [JSON], [Stream], [Bytes],
// [Pieces] and their relatives; [Modes] lists the ready-made ones that a call
// can meet, by name. In the texts of all of them $ID stands for the id of the
// request and $ARGUMENTS for its arguments. Under TLS every text that is
// written by itself is a record of its own, so that the relay reads it by
// itself: chunkings are exact.
//
// [Server.Calls] and [Server.Count] are the counters, [Server.Requests] what
// came, byte for byte. [Server.Await] waits for something to come.
//
// # The relay
//
// [Relay] wires the real pipeline, front and SQLite store over the servers;
// loopback and the authority of the certificates are injected in code.
// [Front.Call] asks as an agent does, over HTTP, and gives the [Reply] with the
// one audit record that the call left. Whatever the test is about, no reply,
// record or log line may hold the credential or a session id.
package hostile

import (
	"crypto/tls"
	"net"
	"strconv"
	"sync"
	"testing"

	"mcprelay/shared/wire"
)

// Era is which protocol a server speaks.
type Era string

// The eras.
const (
	Modern      Era = "modern"      // 2026-07-28: one POST is the whole exchange
	Legacy      Era = "legacy"      // 2025-11-25, with a session id
	Sessionless Era = "sessionless" // 2025-11-25, without
)

// Eras lists all three.
func Eras() []Era { return []Era{Modern, Legacy, Sessionless} }

// Options are what a server is. The zero Options are an honest modern server
// over TLS.
type Options struct {
	Era Era // empty: Modern
	// Version is what a legacy server negotiates; empty: 2025-11-25.
	Version string
	// Host is the name in the endpoint and in the certificate; empty:
	// up.mcp.localhost, which the relay dials at 127.0.0.1 without a lookup.
	Host string
	// Listen is the address; empty: 127.0.0.1 and a free port.
	Listen string
	Path   string // of the endpoint; empty: /mcp
	TLS    TLS
	On     map[string]Script // by method, or by GET and DELETE
	Tools  []string          // descriptors; nil: those of [Tools]
	// Lenient says that the relay is expected to send odd requests.
	Lenient bool
}

// Server is a server that runs until its test ends.
type Server struct {
	t        testing.TB
	options  Options
	listener net.Listener
	tls      *tls.Config
	log      requests

	mu       sync.Mutex
	scripts  map[string]Script
	sessions map[string]bool // those that are open
	opened   []string        // every id that was assigned
	conns    map[*Conn]bool
	dialed   int
	ended    bool
}

// Start starts a server; it ends with the test.
func Start(t testing.TB, o Options) *Server {
	t.Helper()
	o = o.withDefaults()
	s := &Server{t: t, options: o, scripts: map[string]Script{}, sessions: map[string]bool{}, conns: map[*Conn]bool{}}
	s.log.init()
	for method, script := range o.On {
		s.scripts[method] = script
	}
	if !o.TLS.Plain && o.TLS.Instead == nil {
		s.tls = o.TLS.config(t, o.Host)
	}
	s.listen()
	return s
}

func (o Options) withDefaults() Options {
	if o.Era == "" {
		o.Era = Modern
	}
	if o.Version == "" {
		o.Version = wire.Legacy
	}
	if o.Host == "" {
		o.Host = "up.mcp.localhost"
	}
	if o.Listen == "" {
		o.Listen = "127.0.0.1:0"
	}
	if o.Path == "" {
		o.Path = "/mcp"
	}
	if o.Tools == nil {
		o.Tools = Tools()
	}
	return o
}

// Era is the era that the server speaks.
func (s *Server) Era() Era { return s.options.Era }

// On changes who answers a method (or GET, DELETE); nil makes it honest again.
func (s *Server) On(method string, script Script) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.scripts[method] = script
}

// Port is where the server listens.
func (s *Server) Port() int { return s.listener.Addr().(*net.TCPAddr).Port }

// Authority is the host and port that the relay must name in Host.
func (s *Server) Authority() string {
	if s.Port() == 443 && !s.options.TLS.Plain {
		return s.options.Host
	}
	return net.JoinHostPort(s.options.Host, strconv.Itoa(s.Port()))
}

// URL is the endpoint to register.
func (s *Server) URL() string {
	if s.options.TLS.Plain {
		return "http://" + s.Authority() + s.options.Path
	}
	return "https://" + s.Authority() + s.options.Path
}
