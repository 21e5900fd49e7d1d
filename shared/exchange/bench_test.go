package exchange_test

import (
	"bytes"
	"crypto/tls"
	"net"
	"net/http"
	"strconv"
	"strings"
	"testing"

	"mcprelay/shared/egress"
	"mcprelay/shared/exchange"
	"mcprelay/shared/session"
)

// quietPeer answers every call with the same result and allocates nothing for
// it, so that what is counted is the relay's.
func quietPeer(t testing.TB, listener net.Listener, head, body string) string {
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			go quiet(conn, head, body)
		}
	}()
	t.Cleanup(func() { listener.Close() })
	return listener.Addr().String()
}

// quiet reads requests that fit its buffer. The id is padded with blanks to a
// fixed width, so that the head is constant.
func quiet(conn net.Conn, head, body string) {
	defer conn.Close()
	const width = 12
	begin, end, _ := strings.Cut(body, "ID")
	head = strings.Replace(head, "LENGTH", strconv.Itoa(len(begin)+width+len(end)), 1)
	in, out := make([]byte, 1<<20), make([]byte, 0, 1<<20)
	for n := 0; ; {
		m, err := conn.Read(in[n:])
		if err != nil {
			return
		}
		n += m
		if !whole(in[:n]) {
			continue
		}
		_, rest, _ := bytes.Cut(in[:n], []byte(`"id":`))
		id, _, _ := bytes.Cut(rest, []byte(","))
		out = append(append(out[:0], head...), begin...)
		out = append(out, id...)
		for range width - len(id) {
			out = append(out, ' ')
		}
		_, _ = conn.Write(append(out, end...))
		n = 0
	}
}

// whole reports whether b is one whole request.
func whole(b []byte) bool {
	head, body, ok := bytes.Cut(b, []byte("\r\n\r\n"))
	if !ok {
		return false
	}
	_, rest, _ := bytes.Cut(head, []byte("Content-Length: "))
	n := 0
	for _, digit := range rest {
		if digit < '0' || digit > '9' {
			break
		}
		n = 10*n + int(digit-'0')
	}
	return len(body) == n
}

const (
	quietHead = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nDate: Mon, 30 Nov 2026 12:00:00 GMT\r\nContent-Length: LENGTH\r\n\r\n"
	quietBody = `{"jsonrpc":"2.0","id":ID,"result":{"content":[{"type":"text","text":"hello"}],"isError":false}}`
	// The response and the end of the stream come in one piece.
	quietStream = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nCache-Control: no-cache\r\nContent-Length: LENGTH\r\n\r\n"
)

// warm gives an exchange and a request whose opening was done before.
func warm(t testing.TB, era session.Era, secured bool, head, body string) (*exchange.Exchange, exchange.Request) {
	s := newStore()
	knows(s, era)
	if era == session.Legacy {
		state := s.get(originKey)
		state.SessionID = "5f2b9d6e-0d0e-4a35-9c4b-1f7f0a0f4a11"
		s.set(sessionKey, state)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	guard, scheme := egress.New(egress.Config{Loopback: true}), "http://"
	if secured {
		var config *tls.Config
		config, guard = secure(t)
		listener, scheme = tls.NewListener(listener, config), "https://"
	}
	x := process(t, s, func(c *exchange.Config) { c.Guard = guard })
	r := request(t, scheme+quietPeer(t, listener, head, body)+"/mcp")
	value := []string{"Bearer 0123456789abcdef0123456789abcdef"} // as a binding does, made once
	r.Authorize = func(h http.Header) { h["Authorization"] = value }
	r.Meta = []byte(`{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{},"progressToken":1}`)
	if _, err := x.Call(t.Context(), r); err != nil {
		t.Fatal(err)
	}
	return x, r
}

// TestWarmCallAllocatesLittle holds the budget of the hot path: 23, and 36 on a
// stream. The race detector adds up to 6, since it has pools drop what they hold.
func TestWarmCallAllocatesLittle(t *testing.T) {
	for name, tc := range map[string]struct {
		era        session.Era
		head, body string
		most       float64
	}{
		"modern": {session.Modern, quietHead, quietBody, 30},
		"legacy": {session.Legacy, quietHead, quietBody, 30},
		"stream": {session.Modern, quietStream, "event: message\ndata: " + quietBody + "\n\n", 44},
	} {
		x, r := warm(t, tc.era, false, tc.head, tc.body)
		got := testing.AllocsPerRun(200, func() {
			if _, err := x.Call(t.Context(), r); err != nil {
				t.Fatal(err)
			}
		})
		if got > tc.most {
			t.Errorf("%s: want at most %v allocations, got %v", name, tc.most, got)
		}
	}
}

func BenchmarkWarmCall(b *testing.B) {
	big := strings.Replace(quietBody, "hello", strings.Repeat("y", 256<<10), 1)
	for _, tc := range []struct {
		name       string
		era        session.Era
		secured    bool
		head, body string
	}{
		{"modern", session.Modern, false, quietHead, quietBody},
		{"legacy", session.Legacy, false, quietHead, quietBody},
		{"stream", session.Modern, false, quietStream, "event: message\ndata: " + quietBody + "\n\n"},
		{"tls", session.Modern, true, quietHead, quietBody},
		{"256KiB", session.Modern, false, quietHead, big},
	} {
		b.Run(tc.name, func(b *testing.B) {
			x, r := warm(b, tc.era, tc.secured, tc.head, tc.body)
			ctx := b.Context()
			b.ReportAllocs()
			for b.Loop() {
				if _, err := x.Call(ctx, r); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
