package peers

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"sync"
	"testing"
)

// countedBody bounds the request bodies that a counter reads to name their method.
const countedBody = 4 << 20

// Seen is one request that passed a counter.
type Seen struct {
	Method string // HTTP
	RPC    string // method of the JSON-RPC message, empty where there was none
	Header http.Header
	Body   []byte
}

// Counter is a pass-through proxy that writes down what goes to an upstream.
type Counter struct {
	URL string // of the proxy, with the upstream's path

	mu   sync.Mutex
	seen []Seen
}

// Counted puts a counter in front of an upstream for the length of a test.
// Replies stream through as they come.
func Counted(t testing.TB, upstream string) *Counter {
	t.Helper()
	target, err := url.Parse(upstream)
	if err != nil {
		t.Fatalf("counting %q: %v", upstream, err)
	}
	c := &Counter{}
	transport := &http.Transport{DisableCompression: true}
	forward := &httputil.ReverseProxy{
		Transport:     transport,
		FlushInterval: -1,
		Rewrite: func(r *httputil.ProxyRequest) {
			r.Out.URL.Scheme, r.Out.URL.Host, r.Out.Host = target.Scheme, target.Host, target.Host
		},
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		c.note(r)
		forward.ServeHTTP(w, r)
	}))
	t.Cleanup(func() {
		server.CloseClientConnections()
		server.Close()
		transport.CloseIdleConnections()
	})
	c.URL = server.URL + target.RequestURI()
	return c
}

// note keeps a copy of the request and gives its body back to it.
func (c *Counter) note(r *http.Request) {
	body, _ := io.ReadAll(io.LimitReader(r.Body, countedBody))
	rest := io.Reader(bytes.NewReader(body))
	if len(body) == countedBody {
		// Only then may the original be read again: the server closes it once a
		// reply begins, and a read after that would cut the upstream's connection.
		rest = io.MultiReader(rest, r.Body)
	}
	r.Body = io.NopCloser(rest)
	var message struct{ Method string }
	_ = json.Unmarshal(body, &message)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.seen = append(c.seen, Seen{Method: r.Method, RPC: message.Method, Header: r.Header.Clone(), Body: body})
}

// All is every request so far, oldest first.
func (c *Counter) All() []Seen {
	c.mu.Lock()
	defer c.mu.Unlock()
	return append([]Seen(nil), c.seen...)
}

// Posts counts the POSTs of one JSON-RPC method, or of all where it is empty.
func (c *Counter) Posts(rpc string) int {
	return c.count(func(s Seen) bool { return s.Method == http.MethodPost && (rpc == "" || s.RPC == rpc) })
}

// Gets counts the GETs, of which the relay makes none.
func (c *Counter) Gets() int {
	return c.count(func(s Seen) bool { return s.Method == http.MethodGet })
}

// Deletes counts the DELETEs, by which sessions are ended.
func (c *Counter) Deletes() int {
	return c.count(func(s Seen) bool { return s.Method == http.MethodDelete })
}

// Reset forgets everything seen.
func (c *Counter) Reset() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.seen = nil
}

func (c *Counter) count(want func(Seen) bool) int {
	n := 0
	for _, s := range c.All() {
		if want(s) {
			n++
		}
	}
	return n
}
