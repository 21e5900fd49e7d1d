package runtimeapi_test

import (
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"mcprelay/shared/audit"
	"mcprelay/shared/budget"
	"mcprelay/shared/call"
	"mcprelay/test/runtimeapi"
)

// said is what a process answers, as far as these tests read it.
type said struct {
	status int
	header http.Header
	text   string
	Turn   string
	Reason string
}

// send takes an event of events/relay and changes it: its path, its body where
// one is given, and headers in pairs.
func send(t *testing.T, s *runtimeapi.Simulator, fixture, path, body string, headers ...string) said {
	t.Helper()
	e, _ := load(t, fixture)
	e.Path = path
	if body != "" {
		e.Body = body
	}
	for i := 0; i < len(headers); i += 2 {
		e.Headers[headers[i]] = headers[i+1]
		e.MultiValueHeaders[headers[i]] = []string{headers[i+1]}
	}
	reply, err := s.InvokeEvent(t.Context(), e)
	if err != nil {
		t.Fatal(err)
	}
	defer reply.Body.Close()
	text, err := io.ReadAll(reply.Body)
	got := said{status: reply.Status, header: reply.Header, text: string(text)}
	if err != nil || json.Unmarshal(text, &got) != nil {
		t.Fatalf("%s: %v in %q", path, err, text)
	}
	return got
}

func (s said) want(t *testing.T, status int, reason call.Reason) {
	t.Helper()
	if s.status != status || s.Reason != string(reason) {
		t.Errorf("got %d %s, want %d %s", s.status, s.text, status, reason)
	}
}

// turnsAcrossProcesses opens a turn in one process and calls in another, as
// Lambda spreads the requests of one runtime.
func turnsAcrossProcesses(t *testing.T, w *world) {
	one, two := w.start(t, runtimeapi.Options{}), w.start(t, runtimeapi.Options{})
	const run, tool = "turns", "/v1/servers/turned/tools/test_simple_text"
	open := func(s *runtimeapi.Simulator, body string) string {
		t.Helper()
		opened := send(t, s, "turn-opened", "/v1/turns", body, "X-Relay-Run", run)
		if opened.want(t, http.StatusCreated, ""); !strings.Contains(opened.text, `"digest":"`) {
			t.Errorf("the turn %s offers nothing", opened.text)
		}
		return opened.Turn
	}
	inTurn := func(s *runtimeapi.Simulator, turn string) said {
		t.Helper()
		return send(t, s, "plain-answered", tool, "", "X-Relay-Run", run, "X-Relay-Turn", turn)
	}
	send(t, one, "list-tools", "/v1/servers/turned/tools", "").want(t, http.StatusOK, "")
	_, before := w.reached()

	build := open(one, `{"mode":"build","tools":[{"server":"turned","tool":"test_simple_text"}]}`)
	inTurn(two, build).want(t, http.StatusOK, "")
	if r := w.records(t)[0]; r.Turn != build || r.Run != run || r.State != audit.StateFinal || r.Reason != call.OK {
		t.Errorf("the record of a call in a turn: %+v", r)
	}
	ask := open(two, `{"mode":"ask","tools":[{"server":"turned","tool":"test_simple_text"}]}`)
	inTurn(one, build).want(t, http.StatusForbidden, call.TurnEnded)
	inTurn(one, ask).want(t, http.StatusForbidden, call.TurnMode) // nobody says that the tool only reads
	send(t, one, "turn-ended-by-nobody", "/v1/turns/"+ask, "").want(t, http.StatusOK, "")
	inTurn(two, ask).want(t, http.StatusForbidden, call.TurnEnded)
	if _, after := w.reached(); after-before != 1 {
		t.Errorf("upstreams saw %d calls, want 1", after-before)
	}
}

// spentBudget makes one call of a budget, lets somebody else take the rest of
// the day's and of the next day's, and finds it spent.
func spentBudget(t *testing.T, w *world) {
	s := w.start(t, runtimeapi.Options{})
	const tool = "/v1/servers/metered/tools/test_simple_text"
	began := time.Now().Truncate(budget.Day)
	send(t, s, "plain-answered", tool, "").want(t, http.StatusOK, "")
	name, limits := budget.Of(tenant, "tries"), budget.Limits(0, 0, 2)
	taken := 0
	for _, day := range []time.Time{time.Now(), time.Now().Add(budget.Day)} {
		for {
			_, refusal, err := budget.Take(t.Context(), w.Store, name, limits, day)
			if err != nil {
				t.Fatal(err)
			}
			if refusal != nil {
				break
			}
			taken++
		}
	}
	if same := time.Now().Truncate(budget.Day).Equal(began); same && taken != 3 {
		t.Errorf("%d calls were left of two days' budgets of 2, of which one was made; want 3", taken)
	}
	refused := send(t, s, "plain-answered", tool, "")
	if refused.want(t, http.StatusTooManyRequests, call.OverBudget); refused.header.Get("Retry-After") == "" {
		t.Error("nobody says when the next call can be made")
	}
	if r := w.records(t)[0]; r.BudgetClass != "tries" || r.Reason != call.OverBudget || r.Posts != 0 {
		t.Errorf("the record of a call over its budget: %+v", r)
	}
}
