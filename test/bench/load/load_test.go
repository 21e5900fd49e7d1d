package load_test

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"crypto/x509"

	"mcprelay/test/bench/load"
	"mcprelay/test/bench/upstream"
)

const arguments = `{"z":9007199254740993,"text":"<&>"}`

func TestEveryCallIsMadeAndTimed(t *testing.T) {
	var connections, calls atomic.Int64
	inner := upstream.New(false)
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		calls.Add(1)
		inner.ServeHTTP(w, r)
	}))
	server.Config.ConnState = func(_ net.Conn, s http.ConnState) {
		if s == http.StateNew {
			connections.Add(1)
		}
	}
	server.StartTLS()
	defer server.Close()
	roots := x509.NewCertPool()
	roots.AddCert(server.Certificate())
	got, err := load.Run(t.Context(), load.Plan{URL: server.URL + "/mcp", Roots: roots, Tool: "echo", Arguments: arguments, Clients: 3, Calls: 5, Warmup: 2})
	if err != nil {
		t.Fatal(err)
	}
	if got.Sent != 21 || calls.Load() != 21 || connections.Load() != 3 {
		t.Errorf("got %d sent, %d arrived on %d connections, want 21, 21 and 3", got.Sent, calls.Load(), connections.Load())
	}
	if len(got.Latencies) != 15 || got.Elapsed <= 0 {
		t.Errorf("got %d latencies in %s, want the 15 counted calls", len(got.Latencies), got.Elapsed)
	}
	for _, l := range got.Latencies {
		if l <= 0 || l > got.Elapsed {
			t.Errorf("a latency of %s within %s", l, got.Elapsed)
		}
	}
}

func TestTheRequestIsAModernCall(t *testing.T) {
	var seen []*http.Request
	var bodies []string
	var mu sync.Mutex
	keep := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		mu.Lock()
		seen, bodies = append(seen, r), append(bodies, string(body))
		mu.Unlock()
		fmt.Fprint(w, arguments)
	})
	server := httptest.NewServer(keep)
	defer server.Close()
	p := load.Plan{URL: server.URL + "/v1/x?y=z", Token: "secret", Tool: "echo", Arguments: arguments, Clients: 1, Calls: 1}
	if _, err := load.Run(t.Context(), p); err != nil {
		t.Fatal(err)
	}
	r, err := p.Request(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	keep.ServeHTTP(httptest.NewRecorder(), r)
	if len(seen) != 2 || bodies[0] != bodies[1] {
		t.Fatalf("got %d requests with the bodies %q, want the same one twice", len(seen), bodies)
	}
	for _, r := range seen {
		if r.RequestURI != "/v1/x?y=z" || r.ContentLength != int64(len(bodies[0])) {
			t.Errorf("got %s with %d bytes, want /v1/x?y=z with %d", r.RequestURI, r.ContentLength, len(bodies[0]))
		}
		for name, want := range map[string]string{
			"Authorization": "Bearer secret", "Mcp-Method": "tools/call", "Mcp-Name": "echo",
			"Mcp-Protocol-Version": "2026-07-28", "Content-Type": "application/json", "Accept": "application/json, text/event-stream",
		} {
			if got := r.Header.Values(name); len(got) != 1 || got[0] != want {
				t.Errorf("%s: got %q, want %q", name, got, want)
			}
		}
	}
	if want := `"arguments":` + arguments; !strings.Contains(bodies[0], want) {
		t.Errorf("got %s, want %s in it", bodies[0], want)
	}
}

// raw answers every request of one connection with the bytes of reply.
func raw(t *testing.T, reply string) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var done sync.WaitGroup
	t.Cleanup(func() {
		listener.Close()
		done.Wait()
	})
	done.Go(func() {
		conn, err := listener.Accept()
		if err != nil {
			return
		}
		defer conn.Close()
		r := bufio.NewReader(conn)
		for {
			req, err := http.ReadRequest(r)
			if err != nil {
				return
			}
			_, _ = io.Copy(io.Discard, req.Body)
			if _, err := io.WriteString(conn, reply); err != nil || strings.Contains(reply, "Connection: close") {
				return
			}
		}
	})
	return "http://" + listener.Addr().String()
}

func TestRepliesOfAnyFraming(t *testing.T) {
	for name, c := range map[string]struct {
		reply, fails string
	}{
		"length":                     {"HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nxx{\"a\":1}", ""},
		"chunks":                     {"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nxx{\"\r\n5\r\na\":1}\r\n0\r\n\r\n", ""},
		"a status that is not 200":   {"HTTP/1.1 503 No\r\nContent-Length: 7\r\n\r\n{\"a\":1}", "status 503"},
		"other arguments":            {"HTTP/1.1 200 OK\r\nContent-Length: 7\r\n\r\n{\"a\":2}", "not with its arguments"},
		"no status line":             {"what\r\n\r\n", "no status line"},
		"a status that is no number": {"HTTP/1.1 abc OK\r\n\r\n", "the status"},
		"a length that is none":      {"HTTP/1.1 200 OK\r\nContent-Length: x\r\n\r\n", "the length"},
		"a length below nothing":     {"HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n", "too large"},
		"a length beyond bounds":     {"HTTP/1.1 200 OK\r\nContent-Length: 99999999\r\n\r\n", "too large"},
		"a chunk that is none":       {"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nxyz\r\n", "a chunk"},
		"a line without end":         {"HTTP/1.1 200 OK\r\nX: " + strings.Repeat("x", 9000) + "\r\n\r\n", "too long"},
		"an end within the reply":    {"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 9\r\n\r\nxx", "reading the reply"},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := load.Run(t.Context(), load.Plan{URL: raw(t, c.reply), Tool: "echo", Arguments: `{"a":1}`, Clients: 1, Calls: 3})
			if c.fails == "" {
				if err != nil || got.Sent != 3 {
					t.Errorf("got %d sent and %v, want 3", got.Sent, err)
				}
				return
			}
			if err == nil || !strings.Contains(err.Error(), c.fails) {
				t.Errorf("got %v, want an error with %q", err, c.fails)
			}
		})
	}
}

func TestOneFailureStopsAllClients(t *testing.T) {
	var n atomic.Int64
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if n.Add(1) == 10 {
			w.WriteHeader(http.StatusInternalServerError)
			return
		}
		fmt.Fprint(w, arguments)
	}))
	defer server.Close()
	_, err := load.Run(t.Context(), load.Plan{URL: server.URL, Tool: "echo", Arguments: arguments, Clients: 4, Calls: 1_000_000})
	if err == nil || !strings.Contains(err.Error(), "status 500") {
		t.Errorf("got %v, want the status in an error", err)
	}
}

func TestTargetsThatCannotBeReached(t *testing.T) {
	away, secure := httptest.NewServer(nil), httptest.NewTLSServer(nil)
	defer secure.Close()
	away.Close() // last, or the other might get its port
	for name, url := range map[string]string{"connecting": away.URL, "shaking hands": secure.URL, "reading the target": "http://[::1"} {
		_, err := load.Run(t.Context(), load.Plan{URL: url, Tool: "echo", Arguments: arguments, Clients: 1, Calls: 1})
		if err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("got %v, want an error with %q", err, name)
		}
	}
	if _, err := (load.Plan{URL: "http://[::1"}).Request(t.Context()); err == nil {
		t.Error("want an error for a URL that is none")
	}
}
