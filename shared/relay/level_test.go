package relay_test

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"mcprelay/shared/call"
	"mcprelay/test/kit"
)

// logging makes an upstream one of 2025-11-25 with sessions that announces log
// messages; what it is asked is kept.
func logging(k *kit.Relay) (asked func() []string) {
	var mu sync.Mutex
	var all []string
	k.Legacy, k.Capabilities = true, `"tools":{},"logging":{}`
	k.Answer = func(w http.ResponseWriter, _ *http.Request, body map[string]json.RawMessage) {
		mu.Lock()
		all = append(all, strings.Trim(string(body["method"]), `"`)+string(body["params"]))
		mu.Unlock()
		if string(body["method"]) == `"initialize"` {
			w.Header().Set("Mcp-Session-Id", "session-one")
			kit.Result(w, body, `{"protocolVersion":"2025-11-25","capabilities":{`+k.Capabilities+`}}`)
			return
		}
		kit.Result(w, body, `{}`)
	}
	return func() []string {
		mu.Lock()
		defer mu.Unlock()
		return slices.Clone(all)
	}
}

// wants is a wish for log messages by the caller of the other tests.
func wants(server, level string) call.Call {
	c := kit.Call("")
	c.Operation, c.Arguments, c.Server, c.Level = call.OperationSetLevel, nil, server, level
	return c
}

func told(asked []string) (levels []string) {
	for _, one := range asked {
		if params, ok := strings.CutPrefix(one, "logging/setLevel"); ok {
			levels = append(levels, params)
		}
	}
	return levels
}

func TestALevelGoesIntoTheCallersSessionAndIsRecorded(t *testing.T) {
	f := kit.New(t, "", "")
	asked := logging(f)
	if !f.SetLevel(t.Context(), wants("up", "debug")) || len(asked()) != 0 {
		t.Errorf("a server of which nothing is known: it was asked %v", asked())
	}
	f.Warm(t)
	if !f.SetLevel(t.Context(), wants("up", "debug")) {
		t.Error("a server that logs is said not to")
	}
	if got := told(asked()); !slices.Equal(got, []string{`{"level":"debug"}`}) {
		t.Errorf("the server was told %v", got)
	}
	r := f.Recorder.Only(t)
	if r.Operation != call.OperationSetLevel || r.About != "logging/setLevel" || r.Outcome != call.Answered || r.Session != "reused" || r.Posts != 1 || r.Agent != "ci" || r.CallID == wants("up", "").ID {
		t.Errorf("record %+v", r)
	}
	if got := strings.Count(f.Log.String(), `"state":"intent"`); got != 1 {
		t.Errorf("%d intents on the log, want 1", got)
	}
}

func TestNoLevelGoesToWhoHasNoUseForIt(t *testing.T) {
	f := kit.New(t, "", "")
	f.Capabilities = `"logging":{}`
	f.Warm(t)
	if !f.SetLevel(t.Context(), wants("up", "debug")) || f.Requests.Load() != 0 {
		t.Errorf("a modern server got %d requests", f.Requests.Load())
	}
	if r := f.Recorder.Only(t); r.Era != "modern" || r.Posts != 0 || r.Outcome != call.Answered {
		t.Errorf("record %+v", r)
	}
	f = kit.New(t, "", "")
	asked := logging(f)
	f.Capabilities = `"tools":{}`
	f.Warm(t)
	if f.SetLevel(t.Context(), wants("up", "debug")) || f.SetLevel(t.Context(), wants("", "debug")) {
		t.Error("a server that announced no log messages is said to have some")
	}
	if got := told(asked()); len(got) > 0 {
		t.Errorf("it was told %v", got)
	}
	if !f.SetLevel(t.Context(), wants("nobody", "debug")) {
		t.Error("a server that is none can be told apart from one that is unknown yet")
	}
	if _, finals := f.Recorder.Written(); finals != 0 {
		t.Errorf("%d records of nothing", finals)
	}
}

func TestOneSilentServerDoesNotSpeakForAll(t *testing.T) {
	f, other := kit.New(t, "", ""), kit.New(t, "", "")
	asked := logging(f)
	f.Beside(t, other, "docs")
	f.Warm(t)
	if !f.SetLevel(t.Context(), wants("", "error")) {
		t.Error("nothing is said to log")
	}
	if got := told(asked()); !slices.Equal(got, []string{`{"level":"error"}`}) || other.Requests.Load() != 0 {
		t.Errorf("one was told %v, the one of which nothing is known got %d requests", got, other.Requests.Load())
	}
}

// TestServersThatHangHoldALevelUpOnce: they are told side by side.
func TestServersThatHangHoldALevelUpOnce(t *testing.T) {
	f, other := kit.New(t, "", ""), kit.New(t, "", "")
	f.Beside(t, other, "docs")
	for _, k := range []*kit.Relay{f, other} {
		logging(k)
		answer := k.Answer
		k.Answer = func(w http.ResponseWriter, r *http.Request, body map[string]json.RawMessage) {
			if m := string(body["method"]); m == `"logging/setLevel"` || m == `"notifications/cancelled"` {
				<-r.Context().Done()
				return
			}
			answer(w, r, body)
		}
	}
	f.Warm(t)
	c := kit.Call("look")
	c.Server = "docs"
	answer, refusal := f.Acquire(t.Context(), c)
	if answer.Settle(); refusal != nil {
		t.Fatal(refusal)
	}
	began := time.Now()
	if !f.SetLevel(t.Context(), wants("", "debug")) {
		t.Error("nothing is said to log")
	}
	if took := time.Since(began); took < time.Second || took > 2500*time.Millisecond {
		t.Errorf("took %s, want 2 s", took)
	}
}
