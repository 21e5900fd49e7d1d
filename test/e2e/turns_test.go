package e2e_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"mcprelay/shared/call"
)

// turnOf opens a turn of a caller's run.
func (p *process) turnOf(t *testing.T, subject, run, body string) string {
	t.Helper()
	r := p.as(t, subject, http.MethodPost, "/v1/turns", body, "X-Relay-Run", run)
	var opened struct {
		Turn  string
		Tools []struct{ Server, Tool, Digest string }
	}
	if err := json.Unmarshal(r.body, &opened); err != nil || r.status != http.StatusCreated || len(opened.Tools) == 0 {
		t.Fatalf("got %d %s, want a turn that offers something", r.status, r.body)
	}
	for _, tool := range opened.Tools {
		if len(tool.Digest) != 64 {
			t.Errorf("the turn offers %+v, want its digest", tool)
		}
	}
	return opened.Turn
}

// inTurn calls a tool of docs in a turn of a run.
func (p *process) inTurn(t *testing.T, subject, run, turn, tool string) reply {
	t.Helper()
	return p.calls(t, subject, tool, `{"text":"t"}`, "X-Relay-Run", run, "X-Relay-Turn", turn)
}

// A runtime opens a turn in which its model asks, then one in which it builds.
// The second process has what the first has stored.
func TestATurnEndsTheOneBefore(t *testing.T) {
	g := newGoverned(t)
	relay, other := g.serve(t), g.serve(t)
	relay.shown(t, "builder", "/v1/servers/docs/tools", "tools") // the lists are read

	ask := relay.turnOf(t, "builder", "r-1", `{"mode":"ask"}`)
	if r := last(t, g.data); r.Turn != ask || r.Run != "r-1" || r.Operation != call.OperationTurn || r.Reason != call.OK || !strings.Contains(r.Detail, "mode ask") {
		t.Errorf("the record of the opening: %+v", r)
	}
	wantAnswered(t, other.inTurn(t, "builder", "r-1", ask, "look"))
	if r := g.wantRecord(t, "builder", call.PolicyAllow, call.Allow, call.OK); r.Turn != ask {
		t.Errorf("the record names the turn %q, want %q", r.Turn, ask)
	}
	checkProblem(t, relay.inTurn(t, "builder", "r-1", ask, "write"), 403, call.TurnMode)
	g.wantRecord(t, "builder", call.PolicyNotRun, call.Deny, call.TurnMode)

	build := other.turnOf(t, "builder", "r-1", `{"mode":"build","tools":[{"server":"docs","tool":"write"}]}`)
	for _, refused := range []struct {
		subject, run, turn, tool string
		reason                   call.Reason
	}{
		{"builder", "r-1", ask, "look", call.TurnEnded},
		{"builder", "r-1", build, "look", call.TurnNotOffered},
		{"builder", "r-2", build, "write", call.TurnForeign},
		{"scoped", "r-1", build, "write", call.TurnForeign},
		{"builder", "r-1", build[:len(build)-1], "write", call.TurnUnknown},
	} {
		checkProblem(t, relay.inTurn(t, refused.subject, refused.run, refused.turn, refused.tool), 403, refused.reason)
		g.wantRecord(t, refused.subject, call.PolicyNotRun, call.Deny, refused.reason)
	}
	wantAnswered(t, relay.inTurn(t, "builder", "r-1", build, "write"))

	checkProblem(t, relay.as(t, "scoped", http.MethodDelete, "/v1/turns/"+build, ""), 403, call.TurnForeign)
	for range 2 { // what has ended stays so
		if r := relay.as(t, "builder", http.MethodDelete, "/v1/turns/"+build, ""); r.status != http.StatusOK || !strings.Contains(string(r.body), `"ended":true`) {
			t.Errorf("got %d %s, want the end of the turn", r.status, r.body)
		}
	}
	checkProblem(t, other.inTurn(t, "builder", "r-1", build, "write"), 403, call.TurnEnded)
	if n := g.docs.calls.Load(); n != 2 {
		t.Errorf("the server saw %d calls, want 2", n)
	}
}

func TestATurnOfOneCallAllowsOne(t *testing.T) {
	g := newGoverned(t)
	relay := g.serve(t)
	relay.shown(t, "builder", "/v1/servers/docs/tools", "tools")
	once := relay.turnOf(t, "builder", "r-1", `{"mode":"build","single_use":true}`)
	wantAnswered(t, relay.inTurn(t, "builder", "r-1", once, "write"))
	checkProblem(t, relay.inTurn(t, "builder", "r-1", once, "write"), 403, call.TurnUsed)
	g.wantRecord(t, "builder", call.PolicyNotRun, call.Deny, call.TurnUsed)
}
