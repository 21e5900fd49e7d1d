package relay_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"mcprelay/shared/call"
	"mcprelay/shared/policy"
	"mcprelay/shared/relay"
	"mcprelay/shared/seal"
	"mcprelay/shared/wire"
	"mcprelay/test/kit"
)

// serverState is what the server of these tests keeps in its questions, with
// the escapes and the secret that it wrote.
const serverState = `"step \u0031, token-one-12345678"`

// asking is a relay whose server asks for input until it gets its state back.
// The params of each tools/call are kept.
func asking(t *testing.T, serverKeys string, fileKeys ...string) (*kit.Relay, *[]map[string]json.RawMessage) {
	t.Helper()
	f := kit.New(t, serverKeys, strings.Join(fileKeys, ""))
	sealer, err := seal.New(bytes.Repeat([]byte{1}, seal.KeySize))
	if err != nil {
		t.Fatal(err)
	}
	f.Sealer = sealer
	f.Warm(t)
	var seen []map[string]json.RawMessage
	f.Answer = func(w http.ResponseWriter, _ *http.Request, body map[string]json.RawMessage) {
		var params map[string]json.RawMessage
		if err := json.Unmarshal(body["params"], &params); err != nil {
			t.Error(err)
		}
		if seen = append(seen, params); params["requestState"] != nil {
			kit.Result(w, body, `{"resultType":"complete","content":[]}`)
			return
		}
		kit.Result(w, body, question(serverState))
	}
	return f, &seen
}

// question is a result that asks for input and has a state.
func question(state string) string {
	return fmt.Sprintf(`{"resultType": "input_required", "inputRequests":{"a":{"method":"elicitation/create"}}, "requestState" : %s,"z":1.50}`, state)
}

// rule adds a rule to the table.
func rule(t *testing.T, f *kit.Relay, action string, decision policy.Word) {
	t.Helper()
	rules, err := policy.Compile(append(f.Registry.Registration.Rules.Table(), policy.Rule{Action: action, Decision: decision}))
	if err != nil {
		t.Fatal(err)
	}
	changed := *f.Registry.Registration
	changed.Rules = rules
	f.Registry.Registration = &changed
}

const pass = `,"elicitation":"pass"`

// asked is a call of an agent that can be asked.
func asked() call.Call {
	c := kit.Call("change")
	c.Modern, c.Capabilities = true, json.RawMessage(`{"elicitation":{}}`)
	c.Arguments = json.RawMessage(`{"n":1,"m":{"a":"x","b":2}}`)
	return c
}

// answering is the same call with the answer to what the server asked.
func answering(state string) call.Call {
	c := asked()
	c.RequestState, c.InputResponses = state, json.RawMessage(`{"a":{"action":"accept"}}`)
	return c
}

// ask makes the first call and gives the state that the agent got.
func ask(t *testing.T, f *kit.Relay) string {
	t.Helper()
	answer, refusal := f.Do(t.Context(), asked())
	if refusal != nil {
		t.Fatal(refusal)
	}
	if answer.ResultType != "input_required" || answer.State == "" {
		t.Fatalf("got %q with state %q, want a question with a state", answer.ResultType, answer.State)
	}
	return answer.State
}

func TestAQuestionReachesTheAgentWithASealedState(t *testing.T) {
	f, _ := asking(t, pass)
	answer, refusal := f.Do(t.Context(), asked())
	if refusal != nil {
		t.Fatal(refusal)
	}
	want := question(string(wire.AppendString(nil, answer.State)))
	if got := string(answer.Result); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if strings.Contains(string(answer.Result), "step") {
		t.Error("the agent can read the server's state")
	}
	if r := f.Recorder.Only(t); r.Outcome != call.Answered || r.ResultType != "input_required" {
		t.Errorf("record %+v, want an answer of type input_required", r)
	}
}

func TestTheServerGetsItsOwnStateBack(t *testing.T) {
	f, seen := asking(t, pass)
	c := answering(ask(t, f))
	c.Arguments = json.RawMessage(`{ "m": {"b":2, "a":"\u0078"}, "n":1 }`) // written anew by the agent
	answer, refusal := f.Do(t.Context(), c)
	if refusal != nil || answer.ResultType != "" || answer.State != "" {
		t.Fatalf("got %v, %q, %q, want the answer", refusal, answer.ResultType, answer.State)
	}
	last := (*seen)[len(*seen)-1]
	if got := string(last["requestState"]); got != serverState {
		t.Errorf("the server got %s, want %s", got, serverState)
	}
	if got := string(last["inputResponses"]); got != string(c.InputResponses) {
		t.Errorf("the server got %s, want %s", got, c.InputResponses)
	}
}

func TestAQuestionWithoutAStateHasNone(t *testing.T) {
	f, _ := asking(t, pass)
	const result = `{"resultType":"input_required","inputRequests":{"a":{"method":"roots/list"}}}`
	f.Answer = func(w http.ResponseWriter, _ *http.Request, body map[string]json.RawMessage) {
		kit.Result(w, body, result)
	}
	c := asked()
	c.Capabilities = json.RawMessage(`{"roots":{}}`)
	answer, refusal := f.Do(t.Context(), c)
	if refusal != nil || string(answer.Result) != result || answer.State != "" || answer.ResultType != "input_required" {
		t.Errorf("got %v, %s, state %q, want the question as it came", refusal, answer.Result, answer.State)
	}
}

func TestAStateThatIsNotTheAgentsReachesNobody(t *testing.T) {
	for name, change := range map[string]func(*kit.Relay, *call.Call){
		"another subject":  func(_ *kit.Relay, c *call.Call) { c.Principal.Subject = "other" },
		"another kind":     func(_ *kit.Relay, c *call.Call) { c.Principal.Kind = call.KindServiceToken },
		"another tenant":   func(_ *kit.Relay, c *call.Call) { c.Principal.Tenant = "other" },
		"another tool":     func(_ *kit.Relay, c *call.Call) { c.Tool = "look" },
		"another argument": func(_ *kit.Relay, c *call.Call) { c.Arguments = json.RawMessage(`{"n":2,"m":{"a":"x","b":2}}`) },
		"an argument more": func(_ *kit.Relay, c *call.Call) { c.Arguments = json.RawMessage(`{"n":1,"m":{"a":"x","b":2},"o":0}`) },
		"no arguments":     func(_ *kit.Relay, c *call.Call) { c.Arguments = nil },
		"another operation": func(_ *kit.Relay, c *call.Call) {
			c.Operation, c.Tool, c.Prompt = call.OperationPromptsGet, "", "change"
		},
		"a changed text":   func(_ *kit.Relay, c *call.Call) { c.RequestState = c.RequestState[:9] + "A" + c.RequestState[9:] },
		"the server's own": func(_ *kit.Relay, c *call.Call) { c.RequestState = "step 1" },
		"an expired one": func(f *kit.Relay, _ *call.Call) {
			f.Now = func() time.Time { return time.Now().Add(relay.StateLifetime) }
		},
		"an older agent":      func(_ *kit.Relay, c *call.Call) { c.Modern = false },
		"another entry":       func(f *kit.Relay, _ *call.Call) { f.Registry.Registration.Servers["up"].Elicitation = "refuse" },
		"a relay with no key": func(f *kit.Relay, _ *call.Call) { f.Sealer = nil },
	} {
		t.Run(name, func(t *testing.T) {
			f, _ := asking(t, pass)
			rule(t, f, "mcp.up.prompt.*", "allow")
			c := answering(ask(t, f))
			change(f, &c)
			asked, intents := f.Requests.Load(), func() int { n, _ := f.Recorder.Written(); return n }
			before := intents()
			_, refusal := f.Do(t.Context(), c)
			kit.WantReason(t, refusal, call.StateRefused)
			if f.Requests.Load() != asked || intents() != before {
				t.Errorf("%d requests and %d intents more, want none", f.Requests.Load()-asked, intents()-before)
			}
			if refusal.MayHaveRun() != call.ImpactNone {
				t.Errorf("effect %s, want none", refusal.MayHaveRun())
			}
		})
	}
}

func TestAQuestionIsRefusedWhereTheAgentMayNotBeAsked(t *testing.T) {
	for _, test := range []struct {
		name, keys string
		change     func(*kit.Relay, *call.Call)
	}{
		{"by default", "", func(*kit.Relay, *call.Call) {}},
		{"by the entry", `,"elicitation":"refuse"`, func(*kit.Relay, *call.Call) {}},
		{"an older agent", pass, func(_ *kit.Relay, c *call.Call) { c.Modern = false }},
		{"a relay with no key", pass, func(f *kit.Relay, _ *call.Call) { f.Sealer = nil }},
	} {
		t.Run(test.name, func(t *testing.T) {
			f, seen := asking(t, test.keys)
			c := asked()
			test.change(f, &c)
			answer, refusal := f.Do(t.Context(), c)
			kit.WantReason(t, refusal, call.InputRequired)
			if answer.Result != nil || answer.State != "" {
				t.Errorf("got %s, %q, want nothing of the question", answer.Result, answer.State)
			}
			// Answers to what nobody may ask would be left out, and the tool run.
			posts := len(*seen)
			c.InputResponses = json.RawMessage(`{"a":{}}`)
			_, refusal = f.Do(t.Context(), c)
			kit.WantReason(t, refusal, call.StateRefused)
			if len(*seen) != posts {
				t.Errorf("%d requests more reached the server", len(*seen)-posts)
			}
		})
	}
}

func TestAStateThatCannotBeSealedRefusesTheQuestion(t *testing.T) {
	for _, test := range []struct {
		state string
		want  call.Reason
	}{
		{`{"a":1}`, call.Protocol}, {`null`, call.Protocol}, {`7`, call.Protocol},
		{`"` + strings.Repeat("x", seal.MaxState-1) + `"`, call.ReplyTooLarge},
	} {
		f, _ := asking(t, pass)
		f.Answer = func(w http.ResponseWriter, _ *http.Request, body map[string]json.RawMessage) {
			kit.Result(w, body, question(test.state))
		}
		answer, refusal := f.Do(t.Context(), asked())
		kit.WantReason(t, refusal, test.want)
		if answer.Result != nil || strings.Contains(refusal.Detail, "xxx") {
			t.Errorf("%.20s: got %.40s and detail %.80s, want neither to show it", test.state, answer.Result, refusal.Detail)
		}
	}
}
