package e2e_test

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"sync"
	"sync/atomic"
	"testing"
)

// upstream is a small modern MCP server that keeps what it was sent. It reads
// with encoding/json's raw messages, which is not how the relay reads.
type upstream struct {
	url     string
	calls   atomic.Int64 // tools/call POSTs
	all     atomic.Int64 // requests of any kind
	mu      sync.Mutex
	got     json.RawMessage // the arguments of the last call
	headers http.Header
	// hold, where set, is waited for before a call is answered; arrived is
	// closed when the first call came.
	hold    chan struct{}
	arrived chan struct{}
	once    sync.Once
}

func startUpstream(t testing.TB) *upstream {
	t.Helper()
	u := &upstream{arrived: make(chan struct{})}
	s := httptest.NewServer(u)
	t.Cleanup(s.Close)
	u.url = s.URL + "/mcp"
	return u
}

func (u *upstream) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	u.all.Add(1)
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	var message struct {
		ID     json.RawMessage
		Method string
		Params struct{ Arguments json.RawMessage }
	}
	if err := json.Unmarshal(body, &message); err != nil {
		http.Error(w, "bad", http.StatusBadRequest)
		return
	}
	result := `{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{"tools":{}},"tools":[{"name":"change","inputSchema":{}},{"name":"echo","inputSchema":{}},{"name":"look","inputSchema":{}},{"name":"other","inputSchema":{}},{"name":"write","inputSchema":{}}],"ttlMs":0,"cacheScope":"private"}`
	if message.Method == "tools/call" {
		u.calls.Add(1)
		u.mu.Lock()
		u.got, u.headers = message.Params.Arguments, r.Header.Clone()
		u.mu.Unlock()
		u.once.Do(func() { close(u.arrived) })
		if u.hold != nil {
			select {
			case <-u.hold:
			case <-r.Context().Done():
				return
			}
		}
		result = `{"resultType":"complete","content":[{"type":"text","text":"<&>"}],"structuredContent":` + string(message.Params.Arguments) + `}`
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = io.WriteString(w, `{"jsonrpc":"2.0","id":`+string(message.ID)+`,"result":`+result+`}`)
}

func (u *upstream) last() (json.RawMessage, http.Header) {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.got, u.headers
}
