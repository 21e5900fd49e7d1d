package runtimeapi_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"testing"
	"time"
)

// slowServer speaks 2026-07-28 and answers a tool call when the test says so.
// Before that it reports progress to who gave a token for it.
type slowServer struct {
	called chan struct{} // a call has arrived
	answer chan struct{}
	again  chan struct{}  // asks for progress once more
	gone   chan time.Time // when a call's client went away unanswered
	seen   chan string    // methods, for counting
}

func newSlowServer(t *testing.T) *slowServer {
	t.Helper()
	return &slowServer{
		called: make(chan struct{}, 64), answer: make(chan struct{}),
		again: make(chan struct{}), gone: make(chan time.Time, 64), seen: make(chan string, 1024),
	}
}

func (s *slowServer) requests() int { return len(s.seen) }

func (s *slowServer) calls() int { return len(s.called) }

// slowRequest is what the server reads of one.
type slowRequest struct {
	ID     json.RawMessage
	Method string
	Params struct {
		Meta struct{ ProgressToken json.RawMessage } `json:"_meta"`
	}
}

func (s *slowServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var m slowRequest
	if err := json.NewDecoder(r.Body).Decode(&m); err != nil {
		http.Error(w, "not JSON", http.StatusBadRequest)
		return
	}
	s.seen <- m.Method
	result := `{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{"tools":{}},"ttlMs":0,"cacheScope":"private"}`
	switch m.Method {
	case "server/discover":
	case "tools/list":
		result = `{"resultType":"complete","tools":[{"name":"work","inputSchema":{"type":"object"}}],"ttlMs":0,"cacheScope":"private"}`
	default:
		s.work(w, r, m)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":%s}`, m.ID, result)
}

// work is the tool call.
func (s *slowServer) work(w http.ResponseWriter, r *http.Request, m slowRequest) {
	s.called <- struct{}{}
	token := m.Params.Meta.ProgressToken
	before, after, again := "", "", s.again
	w.Header().Set("Content-Type", "application/json")
	if token == nil {
		again = nil
	} else {
		w.Header().Set("Content-Type", "text/event-stream")
		before, after = "data: ", "\n\n"
		halfDone(w, token)
	}
	for {
		select {
		case <-s.answer:
			fmt.Fprintf(w, `%s{"jsonrpc":"2.0","id":%s,"result":{"resultType":"complete","content":[{"type":"text","text":"worked"}]}}%s`, before, m.ID, after)
			return
		case <-again:
			halfDone(w, token)
		case <-r.Context().Done():
			s.gone <- time.Now()
			return
		}
	}
}

// halfDone sends progress.
func halfDone(w http.ResponseWriter, token json.RawMessage) {
	fmt.Fprintf(w, "data: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/progress\",\"params\":{\"progressToken\":%s,\"progress\":0.5,\"message\":\"half\"}}\n\n", token)
	_ = http.NewResponseController(w).Flush() // fails where the client has gone, which the request says
}

// wait returns when a tool call has arrived.
func (s *slowServer) wait(t *testing.T) {
	t.Helper()
	select {
	case <-s.called:
		s.called <- struct{}{} // it stays counted
	case <-time.After(patience):
		t.Fatal("no call arrived")
	}
}

// release lets one call be answered.
func (s *slowServer) release(t *testing.T) {
	t.Helper()
	select {
	case s.answer <- struct{}{}:
	case <-time.After(patience):
		t.Error("no call waits for its answer")
	}
}

// forget drops what is known of clients that went away.
func (s *slowServer) forget() {
	for len(s.gone) > 0 {
		<-s.gone
	}
}

// reportUntilGone reports progress of a call until its client goes away, and
// says when that was.
func (s *slowServer) reportUntilGone(t *testing.T) time.Time {
	t.Helper()
	tick, late := time.NewTicker(20*time.Millisecond), time.After(patience)
	defer tick.Stop()
	again := s.again
	for {
		select {
		case at := <-s.gone:
			return at
		case again <- struct{}{}:
			again = nil
		case <-tick.C:
			again = s.again
		case <-late:
			t.Fatal("the call goes on without a reader")
		}
	}
}
