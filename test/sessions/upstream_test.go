package sessions_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"
	"testing"
)

// upstream is a small server of 2025-11-25 that holds sessions, and keeps
// count. It shares no code with the relay.
type upstream struct {
	url string
	// gather is how many initialize requests are waited for before the first
	// is answered, so that all who open a session do so at once.
	gather int

	mu      sync.Mutex
	met     chan struct{} // closed when they are there
	waiting int
	opened  []string       // session ids
	live    map[string]int // session ids, with the calls they had
	ended   []string
	calls   map[string]int // by their argument
	lost    int            // requests of a session that is none
}

func startUpstream(t *testing.T, gather int) *upstream {
	t.Helper()
	u := &upstream{gather: gather, met: make(chan struct{}), live: map[string]int{}, calls: map[string]int{}}
	server := httptest.NewServer(u)
	t.Cleanup(func() {
		server.CloseClientConnections()
		server.Close()
	})
	u.url = server.URL + "/mcp"
	return u
}

func (u *upstream) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	id := r.Header.Get("Mcp-Session-Id")
	if r.Method == http.MethodDelete {
		u.end(w, id)
		return
	}
	var message struct {
		ID     json.RawMessage
		Method string
		Params struct{ Arguments json.RawMessage }
	}
	body, err := io.ReadAll(r.Body)
	if err == nil {
		err = json.Unmarshal(body, &message)
	}
	switch {
	case err != nil || r.Method != http.MethodPost:
		http.Error(w, "bad", http.StatusBadRequest)
	case message.Method == "initialize":
		u.open(w, r, message.ID)
	case !u.knows(id):
		http.Error(w, "no such session", http.StatusNotFound)
	case message.Method == "notifications/initialized":
		w.WriteHeader(http.StatusAccepted)
	case message.Method == "tools/call":
		u.count(id, string(message.Params.Arguments))
		answer(w, message.ID, `{"content":[],"structuredContent":`+string(message.Params.Arguments)+`}`)
	default:
		answer(w, message.ID, `{}`)
	}
}

func answer(w http.ResponseWriter, id json.RawMessage, result string) {
	w.Header().Set("Content-Type", "application/json")
	_, _ = fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":%s}`, id, result)
}

// open makes a session once enough are there who want one.
func (u *upstream) open(w http.ResponseWriter, r *http.Request, request json.RawMessage) {
	u.mu.Lock()
	id := fmt.Sprintf("session-%d", len(u.opened)+1)
	u.opened = append(u.opened, id)
	u.live[id] = 0
	met := u.met
	if u.waiting++; u.waiting == u.gather {
		close(met)
	}
	u.mu.Unlock()
	select {
	case <-met:
	case <-r.Context().Done():
		return
	}
	w.Header().Set("Mcp-Session-Id", id)
	answer(w, request, `{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"counting","version":"1"}}`)
}

// knows reports whether a session is open. The relay asks for the era without
// one; anything else is a request that got lost.
func (u *upstream) knows(id string) bool {
	u.mu.Lock()
	defer u.mu.Unlock()
	_, ok := u.live[id]
	if !ok && id != "" {
		u.lost++
	}
	return ok
}

func (u *upstream) count(id, argument string) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.live[id]++
	u.calls[argument]++
}

func (u *upstream) end(w http.ResponseWriter, id string) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if _, ok := u.live[id]; !ok {
		u.lost++
		http.Error(w, "no such session", http.StatusNotFound)
		return
	}
	delete(u.live, id)
	u.ended = append(u.ended, id)
	w.WriteHeader(http.StatusNoContent)
}

// hold makes the server hold a session that nobody opened.
func (u *upstream) hold(id string) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.live[id] = 0
}

// lose forgets all sessions, as a server does that starts anew, and waits for
// as many openings again.
func (u *upstream) lose() {
	u.mu.Lock()
	defer u.mu.Unlock()
	clear(u.live)
	u.met, u.waiting = make(chan struct{}), 0
}

// closed are the sessions that were ended, sorted.
func (u *upstream) closed() []string {
	u.mu.Lock()
	defer u.mu.Unlock()
	return slices.Sorted(slices.Values(u.ended))
}

// tally is what an upstream has seen.
type tally struct{ opened, ended, live, calls, distinct, lost int }

func (u *upstream) tally() tally {
	u.mu.Lock()
	defer u.mu.Unlock()
	n := tally{opened: len(u.opened), ended: len(u.ended), live: len(u.live), distinct: len(u.calls), lost: u.lost}
	for _, times := range u.calls {
		n.calls += times
	}
	return n
}

// survivors are the sessions that are open.
func (u *upstream) survivors() []string {
	u.mu.Lock()
	defer u.mu.Unlock()
	var ids []string
	for id := range u.live {
		ids = append(ids, id)
	}
	return ids
}
