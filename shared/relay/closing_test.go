package relay_test

import (
	"context"
	"encoding/json"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"mcprelay/shared/call"
	"mcprelay/shared/endpoint"
	"mcprelay/shared/relay"
	"mcprelay/test/kit"
)

// sessioned makes the upstream a server that holds sessions, and gives the ids
// that it was asked to end.
func sessioned(f *kit.Relay) (ended func() []string) {
	var mu sync.Mutex
	var ids []string
	opened := 0
	f.Legacy, f.Sessions.Keep = true, true
	f.Deletes = func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		ids = append(ids, r.Header.Get("Mcp-Session-Id"))
		w.WriteHeader(http.StatusNoContent)
	}
	f.Answer = func(w http.ResponseWriter, _ *http.Request, body map[string]json.RawMessage) {
		switch string(body["method"]) {
		case `"initialize"`:
			mu.Lock()
			opened++
			w.Header().Set("Mcp-Session-Id", "session-"+string(rune('0'+opened)))
			mu.Unlock()
			kit.Result(w, body, `{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"s","version":"1"}}`)
		case `"notifications/initialized"`:
			w.WriteHeader(http.StatusAccepted)
		default:
			kit.Result(w, body, `{"content":[]}`)
		}
	}
	return func() []string {
		mu.Lock()
		defer mu.Unlock()
		return append([]string(nil), ids...)
	}
}

func ofRun(run string) call.Call {
	c := kit.Call("look")
	c.Run = run
	return c
}

// closing is the request to close a run, by agent ci.
func closing(run string) call.Call {
	c := ofRun(run)
	c.Operation, c.Server, c.Tool, c.Arguments = call.OperationClose, "", "", nil
	return c
}

func closeRun(t *testing.T, f *kit.Relay, run string) relay.Closed {
	t.Helper()
	closed, err := f.CloseRun(t.Context(), closing(run))
	if err != nil {
		t.Fatal(err)
	}
	return closed
}

func TestClosingARunEndsItsSessionsAndNoOther(t *testing.T) {
	f := kit.New(t, "", "")
	ended := sessioned(f)
	for _, run := range []string{"one", "two", "one", ""} {
		if _, refusal := f.Do(t.Context(), ofRun(run)); refusal != nil {
			t.Fatal(refusal)
		}
	}
	if got := closeRun(t, f, "one"); got != (relay.Closed{Closed: 1}) {
		t.Errorf("got %+v, want one closed", got)
	}
	if got := ended(); len(got) != 1 || got[0] != "session-1" {
		t.Errorf("ended %v, want session-1 alone", got)
	}
	own := f.Recorder.Own()
	if len(own) != 1 || own[0].Operation != call.OperationClose || own[0].About != "close" || own[0].Run != "one" || own[0].Agent != "ci" || own[0].Outcome != call.Answered {
		t.Errorf("records %+v, want one about close in the caller's name", own)
	}
	if got := closeRun(t, f, "one"); got != (relay.Closed{}) {
		t.Errorf("the second time: %+v, want nothing to close", got)
	}
	before := f.Requests.Load()
	if _, refusal := f.Do(t.Context(), ofRun("one")); refusal != nil {
		t.Fatal(refusal)
	}
	if got := f.Requests.Load() - before; got != 3 {
		t.Errorf("the next call of the run made %d requests, want initialize, initialized and the call", got)
	}
}

func TestARunOfAnotherCallerIsNotClosed(t *testing.T) {
	f := kit.New(t, "", "")
	ended := sessioned(f)
	if _, refusal := f.Do(t.Context(), ofRun("one")); refusal != nil {
		t.Fatal(refusal)
	}
	for _, other := range []call.Principal{
		{Tenant: "acme", Subject: "other", Kind: call.KindUser}, {Tenant: "acme", Subject: "ci", Kind: call.KindServiceToken}, {Tenant: "rival", Subject: "ci", Kind: call.KindUser},
	} {
		c := closing("one")
		c.Principal = other
		if closed, err := f.CloseRun(t.Context(), c); err != nil || closed != (relay.Closed{}) {
			t.Errorf("%+v closed %+v, %v", other, closed, err)
		}
	}
	if got := ended(); len(got) != 0 {
		t.Errorf("ended %v", got)
	}
}

func TestWhatExpiredIsClosedOnce(t *testing.T) {
	f := kit.New(t, "", "")
	ended := sessioned(f)
	if _, refusal := f.Do(t.Context(), ofRun("")); refusal != nil {
		t.Fatal(refusal)
	}
	if closed, err := f.CloseExpired(t.Context()); err != nil || closed != (relay.Closed{}) {
		t.Errorf("a live session: %+v, %v", closed, err)
	}
	f.Sessions.Expire()
	for want := 1; want >= 0; want-- {
		if closed, err := f.CloseExpired(t.Context()); err != nil || closed.Closed != want {
			t.Errorf("got %+v, %v, want %d closed", closed, err, want)
		}
	}
	if got := ended(); len(got) != 1 {
		t.Errorf("ended %v, want one", got)
	}
}

func TestAServerThatCannotBeToldIsForgotten(t *testing.T) {
	f := kit.New(t, "", "")
	sessioned(f)
	if _, refusal := f.Do(t.Context(), ofRun("one")); refusal != nil {
		t.Fatal(refusal)
	}
	f.Deletes = func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusForbidden) }
	if got := closeRun(t, f, "one"); got != (relay.Closed{Failed: 1}) {
		t.Errorf("got %+v, want one failed", got)
	}
	if got := closeRun(t, f, "one"); got != (relay.Closed{}) {
		t.Errorf("got %+v, want nothing left", got)
	}
}

func TestAServerThatIsDownIsToldLaterAndNotForEver(t *testing.T) {
	down := func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusServiceUnavailable) }
	for name, test := range map[string]struct{ fails, closed, failed int }{
		"once": {1, 1, 1}, "for ever": {100, 0, relay.MaxTries},
	} {
		f := kit.New(t, "", "")
		sessioned(f)
		if _, refusal := f.Do(t.Context(), ofRun("one")); refusal != nil {
			t.Fatal(refusal)
		}
		fine, asked := f.Deletes, 0
		f.Deletes = func(w http.ResponseWriter, r *http.Request) {
			if asked++; asked <= test.fails {
				down(w, r)
				return
			}
			fine(w, r)
		}
		f.Sessions.Expire()
		var total relay.Closed
		for range relay.MaxTries + 2 {
			closed, err := f.CloseExpired(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			total.Closed, total.Failed = total.Closed+closed.Closed, total.Failed+closed.Failed
		}
		if total != (relay.Closed{Closed: test.closed, Failed: test.failed}) {
			t.Errorf("%s: %+v, want %d closed after %d failed", name, total, test.closed, test.failed)
		}
	}
}

func TestASessionThatMayBeInUseIsNotClosed(t *testing.T) {
	f := kit.New(t, "", "")
	ended := sessioned(f)
	if _, refusal := f.Do(t.Context(), ofRun("")); refusal != nil {
		t.Fatal(refusal)
	}
	f.Sessions.ExpireAt(time.Now().Add(-relay.InUse + time.Minute))
	if closed, err := f.CloseExpired(t.Context()); err != nil || closed != (relay.Closed{}) || len(ended()) != 0 {
		t.Errorf("a session that expired just now: %+v, %v, ended %v", closed, err, ended())
	}
}

func TestClosingARunLeavesARecordWhateverItHeld(t *testing.T) {
	f := kit.New(t, "", "")
	if got := closeRun(t, f, "nothing"); got != (relay.Closed{}) {
		t.Errorf("got %+v", got)
	}
	if r := f.Recorder.Only(t); r.Operation != call.OperationClose || r.Run != "nothing" || r.Items != 0 || r.Outcome != call.Answered || r.Agent != "ci" {
		t.Errorf("record %+v", r)
	}
}

func TestASessionIsNeverEndedElsewhere(t *testing.T) {
	f := kit.New(t, "", "")
	ended := sessioned(f)
	if _, refusal := f.Do(t.Context(), ofRun("one")); refusal != nil {
		t.Fatal(refusal)
	}
	up := f.Registry.Registration.Servers["up"]
	moved, err := endpoint.Parse(up.Endpoint.String()+"/moved", endpoint.Options{Loopback: true})
	if err != nil {
		t.Fatal(err)
	}
	up.Endpoint, up.AllowedEndpoints = moved, []string{moved.String()}
	if got := closeRun(t, f, "one"); got != (relay.Closed{Failed: 1}) {
		t.Errorf("got %+v, want one failed", got)
	}
	if got := ended(); len(got) != 0 {
		t.Errorf("%v was sent to another endpoint", got)
	}
	if own := f.Recorder.Own(); len(own) != 1 || own[0].Reason != call.EndpointNotAllowed {
		t.Errorf("records %+v, want endpoint_not_allowed", own)
	}
}

func TestASweepWithoutTimeLeavesTheSessionToTheNext(t *testing.T) {
	f := kit.New(t, "", "")
	ended := sessioned(f)
	if _, refusal := f.Do(t.Context(), ofRun("")); refusal != nil {
		t.Fatal(refusal)
	}
	f.Sessions.Expire()
	late, cancel := context.WithTimeout(t.Context(), relay.Reserve)
	defer cancel()
	if closed, err := f.CloseExpired(late); err != nil || closed != (relay.Closed{}) {
		t.Errorf("without time: %+v, %v", closed, err)
	}
	if closed, err := f.CloseExpired(t.Context()); err != nil || closed.Closed != 1 || len(ended()) != 1 {
		t.Errorf("the next sweep: %+v, %v", closed, err)
	}
}

func TestASessionWhoseCredentialCannotBeReadNowIsKept(t *testing.T) {
	f := kit.New(t, "", "")
	sessioned(f)
	if _, refusal := f.Do(t.Context(), ofRun("one")); refusal != nil {
		t.Fatal(refusal)
	}
	f.Registry.Err = context.DeadlineExceeded
	if got := closeRun(t, f, "one"); got != (relay.Closed{Failed: 1}) {
		t.Errorf("got %+v, want one failed", got)
	}
	f.Registry.Err = nil
	f.Sessions.Expire()
	if closed, err := f.CloseExpired(t.Context()); err != nil || closed.Closed != 1 {
		t.Errorf("later: %+v, %v, want one closed", closed, err)
	}
}

func TestSessionsThatCannotBeListedAreAnError(t *testing.T) {
	f := kit.New(t, "", "")
	f.Sessions.Fail = true
	if _, err := f.CloseRun(t.Context(), closing("one")); err == nil {
		t.Error("a run was closed without a store")
	}
	if _, err := f.CloseExpired(t.Context()); err == nil {
		t.Error("a sweep was made without a store")
	}
}

func TestASweepStopsWithItsContext(t *testing.T) {
	f := kit.New(t, "", "")
	sessioned(f)
	if _, refusal := f.Do(t.Context(), ofRun("")); refusal != nil {
		t.Fatal(refusal)
	}
	f.Sessions.Expire()
	gone, cancel := context.WithDeadline(t.Context(), time.Now())
	defer cancel()
	if closed, _ := f.CloseExpired(gone); closed != (relay.Closed{}) {
		t.Errorf("got %+v", closed)
	}
}

func TestASessionsIdNeverComesBack(t *testing.T) {
	f := kit.New(t, "", "")
	sessioned(f)
	open := f.Answer
	f.Answer = func(w http.ResponseWriter, r *http.Request, body map[string]json.RawMessage) {
		if id := r.Header.Get("Mcp-Session-Id"); id != "" && string(body["method"]) == `"tools/call"` {
			kit.Result(w, body, `{"content":[{"type":"text","text":"your session is `+id+`"}]}`)
			return
		}
		open(w, r, body)
	}
	answer, refusal := f.Do(t.Context(), ofRun("one"))
	if refusal != nil {
		t.Fatal(refusal)
	}
	if got := string(answer.Result); strings.Contains(got, "session-1") || !strings.Contains(got, "[redacted]") {
		t.Errorf("got %s, want the id masked", got)
	}
	if text := f.Log.String(); strings.Contains(text, "session-1") {
		t.Errorf("the log holds the id: %s", text)
	}
}
