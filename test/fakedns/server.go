// Package fakedns is a DNS server for tests: it speaks the real protocol over
// UDP and TCP and says what the test wants.
//
// It promises to count every question, to answer with TTL 0, and to answer
// NXDOMAIN for names it was not given. It refuses to ask anybody else.
package fakedns

import (
	"context"
	"encoding/binary"
	"io"
	"net"
	"net/netip"
	"strings"
	"sync"
	"testing"

	"golang.org/x/net/dns/dnsmessage"
)

// maxUDP is how long a reply over UDP may be before it is truncated: what
// Go's resolver says that it takes (EDNS0, DNS flag day 2020).
const maxUDP = 1232

// Server is a running DNS server. It ends with its test.
type Server struct {
	addr netip.AddrPort
	all  sync.WaitGroup

	mu      sync.Mutex
	answers map[string]Answer
	counts  map[question]int // per answer, for sequences
	asked   []question
	open    map[net.Conn]struct{} // TCP connections to end
	ended   bool
}

// question is a record type and a lower-case name without trailing dot.
type question struct {
	kind dnsmessage.Type
	name string
}

func (q question) String() string {
	return strings.TrimPrefix(q.kind.String(), "Type") + " " + q.name
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
	s := &Server{answers: map[string]Answer{}, counts: map[question]int{}, open: map[net.Conn]struct{}{}}
	for name, a := range answers {
		if !a.valid() {
			t.Fatalf("fakedns: an address of %s does not parse", name)
		}
		s.answers[name] = a
	}
	stream, packets := listen(t, addr)
	s.addr = stream.Addr().(*net.TCPAddr).AddrPort()
	s.all.Go(func() { s.servePackets(packets) })
	s.all.Go(func() { s.serveStreams(stream) })
	t.Cleanup(func() {
		stream.Close()
		packets.Close()
		s.endStreams()
		s.all.Wait()
	})
	return s
}

// listen opens both sockets on one port. A free TCP port may be taken over
// UDP, so it tries a few.
func listen(t testing.TB, addr string) (net.Listener, net.PacketConn) {
	t.Helper()
	const tries = 20
	var err error
	for range tries {
		var stream net.Listener
		if stream, err = net.Listen("tcp", addr); err != nil {
			break
		}
		var packets net.PacketConn
		if packets, err = net.ListenPacket("udp", stream.Addr().String()); err == nil {
			return stream, packets
		}
		stream.Close()
	}
	t.Fatalf("fakedns: listening on %s: %v", addr, err)
	return nil, nil
}

// Addr is where the server listens, over UDP and TCP alike.
func (s *Server) Addr() netip.AddrPort { return s.addr }

// Dial connects to the server whatever address is asked for: the Dial of a
// [net.Resolver].
func (s *Server) Dial(ctx context.Context, network, _ string) (net.Conn, error) {
	var d net.Dialer
	return d.DialContext(ctx, network, s.addr.String())
}

// Set replaces a name's answer; its sequence starts anew.
func (s *Server) Set(name string, a Answer) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.answers[name] = a
	for q := range s.counts {
		if q.name == name {
			delete(s.counts, q)
		}
	}
}

// Asked lists the questions so far, in order: "A mcp.example.com". A question
// that comes again over TCP, because its answer was too long, is there twice.
func (s *Server) Asked() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	list := make([]string, len(s.asked))
	for i, q := range s.asked {
		list[i] = q.String()
	}
	return list
}

// Count is how often one question was asked: Count("A", "mcp.example.com").
func (s *Server) Count(kind, name string) int {
	n := 0
	for _, asked := range s.Asked() {
		if asked == kind+" "+name {
			n++
		}
	}
	return n
}

func (s *Server) servePackets(packets net.PacketConn) {
	query := make([]byte, maxUDP)
	for {
		n, from, err := packets.ReadFrom(query)
		if err != nil {
			return
		}
		if reply := s.reply(query[:n], true); reply != nil {
			packets.WriteTo(reply, from)
		}
	}
}

func (s *Server) serveStreams(stream net.Listener) {
	for {
		conn, err := stream.Accept()
		if err != nil {
			return
		}
		if !s.keep(conn) {
			conn.Close()
			return
		}
		s.all.Go(func() { s.serveStream(conn) })
	}
}

// keep remembers conn for the end; false when that has come.
func (s *Server) keep(conn net.Conn) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ended {
		return false
	}
	s.open[conn] = struct{}{}
	return true
}

func (s *Server) endStreams() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ended = true
	for conn := range s.open {
		conn.Close()
	}
}

// serveStream answers queries with their two-byte lengths (RFC 1035 section 4.2.2).
func (s *Server) serveStream(conn net.Conn) {
	defer func() {
		conn.Close()
		s.mu.Lock()
		delete(s.open, conn)
		s.mu.Unlock()
	}()
	for {
		var size [2]byte
		if _, err := io.ReadFull(conn, size[:]); err != nil {
			return
		}
		query := make([]byte, binary.BigEndian.Uint16(size[:]))
		if _, err := io.ReadFull(conn, query); err != nil {
			return
		}
		if reply := s.reply(query, false); reply != nil {
			framed := binary.BigEndian.AppendUint16(nil, uint16(len(reply)))
			conn.Write(append(framed, reply...))
		}
	}
}
