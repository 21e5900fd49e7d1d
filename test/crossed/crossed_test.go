package crossed_test

import (
	"encoding/json"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"

	"mcprelay/test/hostile"
)

const (
	pairs = 4    // of agents' workers: what one does, its twin does at the same time
	each  = 1250 // calls of a worker
)

// asked is one call, as its arguments say. Its twin differs in the agent alone.
type asked struct {
	Agent  string
	Worker int
	Call   int
}

// arguments are unlike those of every other call.
func (a asked) arguments() string {
	return fmt.Sprintf(`{"agent":%q,"worker":%d,"call":%d}`, a.Agent, a.Worker, a.Call)
}

// id is the same for both agents, and for all of an agent's workers: it is the
// id of the request and its progress token.
func (a asked) id() string {
	if a.Call%2 == 0 {
		return fmt.Sprint(a.Call % 10)
	}
	return fmt.Sprintf(`"%d"`, a.Call%10)
}

// ask is the call in one of both revisions, on one of both paths, to one of
// both servers.
func (a asked) ask() hostile.Ask {
	return hostile.Ask{
		Subject: a.Agent, ID: a.id(), Arguments: a.arguments(), Meta: `"progressToken":` + a.id(),
		Tool: "look", Server: [2]string{"up", "old"}[a.Call&1], Modern: a.Call&2 != 0, All: a.Call&4 != 0,
	}
}

// meetings brings twins together: the first waits for the second.
type meetings struct {
	mu      sync.Mutex
	waiting map[string]chan struct{}
}

// meet returns when both twins are at a place. It reports whether the caller
// was the first.
func (m *meetings) meet(place string) (first bool) {
	m.mu.Lock()
	other, here := m.waiting[place]
	if here {
		delete(m.waiting, place)
		m.mu.Unlock()
		close(other)
		return false
	}
	other = make(chan struct{})
	m.waiting[place] = other
	m.mu.Unlock()
	<-other
	return true
}

// interleaved answers twins together: both are here before either hears of its
// progress, and both have before either is answered.
func interleaved(up *hostile.Server, m *meetings) hostile.Script {
	return func(c *hostile.Conn, r hostile.Request) {
		var a asked
		if err := json.Unmarshal([]byte(r.Arguments), &a); err != nil || a.Agent == "" {
			up.Honest(c, r) // the call that opens
			return
		}
		place := fmt.Sprint(a.Worker, " ", a.Call)
		m.meet(place)
		c.Send("HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n")
		c.Chunk(hostile.Event(`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":` + r.Meta("progressToken") + `,"progress":1,"said":` + r.Arguments + `}}`))
		m.meet("then " + place)
		c.Chunk(hostile.Event(hostile.Response(r, r.Fill(up.Echo()))))
		c.LastChunk()
	}
}

// said is what an agent is told of progress.
type said struct {
	Method string
	Params struct {
		ProgressToken json.RawMessage
		Said          asked
	}
}

// crossed fails the test for every part of a reply that is not of the call.
func (a asked) crossed(t *testing.T, reply hostile.Reply) {
	t.Helper()
	var result struct {
		StructuredContent struct{ Echo asked }
	}
	if err := json.Unmarshal([]byte(reply.Result()), &result); err != nil || result.StructuredContent.Echo != a || reply.ID() != a.id() {
		t.Errorf("%+v under id %s was answered %s (%v)", a, a.id(), reply.Body, err)
	}
	if len(reply.Notes) != 1 {
		t.Errorf("%+v was told %q, want its one notification", a, reply.Notes)
	}
	for _, note := range reply.Notes {
		var s said
		if err := json.Unmarshal([]byte(note), &s); err != nil || s.Method != "notifications/progress" || s.Params.Said != a || string(s.Params.ProgressToken) != a.id() {
			t.Errorf("%+v was told %s (%v)", a, note, err)
		}
	}
}

func TestTwoAgentsThatLookAlikeNeverSeeEachOther(t *testing.T) {
	m := &meetings{waiting: map[string]chan struct{}{}}
	up := hostile.Start(t, hostile.Options{TLS: hostile.TLS{Plain: true}})
	old := hostile.Start(t, hostile.Options{Era: hostile.Legacy, TLS: hostile.TLS{Plain: true}})
	for _, server := range []*hostile.Server{up, old} {
		server.On("tools/call", interleaved(server, m))
	}
	relay := hostile.Relay(t, up, hostile.Setup{More: map[string]*hostile.Server{"old": old}, Server: hostile.Keys{"max_in_flight": 2 * pairs}})
	for _, agent := range hostile.Subjects() {
		for _, server := range []string{"up", "old"} {
			relay.Ask(t.Context(), t, hostile.Ask{Subject: agent, Server: server}).Result() // opens its session
		}
	}
	var done atomic.Int64
	var workers sync.WaitGroup
	for worker := range pairs {
		for _, agent := range hostile.Subjects() {
			workers.Go(func() {
				for n := range each {
					a := asked{agent, worker, n}
					a.crossed(t, relay.Ask(t.Context(), t, a.ask()))
					done.Add(1)
				}
			})
		}
	}
	workers.Wait()
	if got, want := done.Load(), int64(2*pairs*each); got != want {
		t.Errorf("%d calls were made, want %d", got, want)
	}
	if got := len(old.Sessions()); got != 2 {
		t.Errorf("the old server has %d sessions, want one an agent", got)
	}
	ownSession(t, old)
}

// ownSession fails the test where both agents were seen in one session.
func ownSession(t *testing.T, old *hostile.Server) {
	t.Helper()
	owners := map[string]string{}
	for _, r := range old.Requests() {
		var a asked
		if json.Unmarshal([]byte(r.Arguments), &a) != nil || a.Agent == "" {
			continue
		}
		id := r.Header.Get("Mcp-Session-Id")
		if owner := owners[id]; id == "" || owner != "" && owner != a.Agent {
			t.Fatalf("%s calls in the session of %q", a.Agent, owner)
		}
		owners[id] = a.Agent
	}
	if len(owners) != 2 {
		t.Errorf("calls came in %d sessions, want one an agent", len(owners))
	}
}
