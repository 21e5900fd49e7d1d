package relay_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"

	"mcprelay/shared/call"
	"mcprelay/shared/policy"
	"mcprelay/shared/registry"
	"mcprelay/shared/relay"
	"mcprelay/shared/turn"
	"mcprelay/test/kit"
)

var operator = call.Principal{Tenant: "acme", Subject: "operator", Kind: call.KindUser, Scopes: []call.Scope{call.ScopeAdminRead}}

// simulate asks a question in its JSON, as operators write it.
func simulate(t *testing.T, f *kit.Relay, question string) relay.Simulation {
	t.Helper()
	q, refusal := relay.ReadQuestion([]byte(question))
	if refusal != nil {
		t.Fatal(refusal)
	}
	q.CallID, q.By = "01JDXAMPLE0000000000000001", operator
	s, refusal := f.Simulate(t.Context(), q)
	if refusal != nil {
		t.Fatal(refusal)
	}
	return s
}

// about is a question about one thing of server up, by the caller of kit.Call.
func about(what, name, more string) string {
	quoted, _ := json.Marshal(name)
	return fmt.Sprintf(`{"subject":"ci","kind":"user","server":"up",%q:%s%s}`, what, quoted, more)
}

const (
	selecting = `,"policies":[{"name":"reads","source":"package chalk.policy\nimport rego.v1\ndeny contains \"only SELECT\" if not startswith(input.request.params.arguments.sql, \"SELECT\")\n"%s}]`
	oddly     = `,"policies":[{"name":"odd","source":"package mcprelay.policy\nimport rego.v1\ndeny contains 7 if true\n"}]`
	watching  = `,"policies":[{"name":"watch","mode":"audit","source":"package mcprelay.policy\nimport rego.v1\ndeny contains \"seen\" if input.relay.run == \"r1\"\n"},{"name":"off","enabled":false,"source":"package mcprelay.policy\nimport rego.v1\ndeny contains \"off\" if true\n"}]`
)

func TestASimulationAndTheCallDecideTheSame(t *testing.T) {
	for _, test := range []struct {
		name, server, file string
		what, asked        string
		arguments          string
		want               call.Reason
	}{
		{name: "a read", what: "tool", asked: "look"},
		{name: "a write", what: "tool", asked: "change"},
		{name: "what nobody classified", what: "tool", asked: "unclassified"},
		{name: "a denied tool", what: "tool", asked: "never", want: call.DeniedByRule},
		{name: "a tool of no name", what: "tool", asked: "a\x01b", want: call.UnknownTool},
		{name: "a tool that is not registered", server: `,"allowed_tools":["look","change"],"unexpected_tools":"hide"`, what: "tool", asked: "unclassified", want: call.UnknownTool},
		{name: "a bound name", server: `,"bindings":{"change":"edit"}`, what: "tool", asked: "edit"},
		{name: "the name behind it", server: `,"bindings":{"change":"edit"}`, what: "tool", asked: "change", want: call.UnknownTool},
		{name: "a resource without a rule", what: "resource", asked: "file:///a", want: call.NoRule},
		{name: "a prompt without a rule", what: "prompt", asked: "greet", want: call.NoRule},
		{name: "no secret may be sent", what: "tool", asked: "look", want: call.CredentialNoRule},
		{name: "out of scope", file: `,"agents":[{"subject":"ci","servers":["docs"]}]`, what: "tool", asked: "look", want: call.OutOfScope},
		{name: "a write by a reader", file: `,"agents":[{"subject":"ci","access":"read"}]`, what: "tool", asked: "change", want: call.AccessRead},
		{name: "a read by a reader", file: `,"agents":[{"subject":"ci","access":"read"}]`, what: "tool", asked: "look"},
		{name: "a policy that denies", file: fmt.Sprintf(selecting, ""), what: "tool", asked: "look", arguments: `{"sql":"DROP"}`, want: call.DeniedByPolicy},
		{name: "a policy that does not", file: fmt.Sprintf(selecting, ""), what: "tool", asked: "look", arguments: `{"sql":"SELECT 1"}`},
		{name: "a policy that watches", file: fmt.Sprintf(selecting, `,"mode":"audit"`), what: "tool", asked: "look", arguments: `{"sql":"DROP"}`},
		{name: "a policy that is off", file: fmt.Sprintf(selecting, `,"enabled":false`), what: "tool", asked: "look", arguments: `{"sql":"DROP"}`},
		{name: "a policy that fails", file: oddly, what: "tool", asked: "look", want: call.PolicyFailed},
		{name: "one that may fail", file: oddly + `,"on_policy_error":"allow"`, what: "tool", asked: "look"},
		{name: "a policy about the run", file: watching, what: "tool", asked: "look"},
		{name: "long arguments", server: `,"limits":{"look":{"max_arguments_bytes":8}}`, what: "tool", asked: "look", arguments: `{"n":"123456789"}`, want: call.ArgumentsTooLarge},
		{name: "a number that no policy may see", file: fmt.Sprintf(selecting, ""), what: "tool", asked: "look", arguments: `{"sql":` + strings.Repeat("1", 2000) + `}`, want: call.PolicyFailed},
		{name: "a turn is required", file: `,"require_turn":"all"`, what: "tool", asked: "look"},
		{name: "a turn is required and a policy denies", file: `,"require_turn":"all"` + fmt.Sprintf(selecting, ""), what: "tool", asked: "change", arguments: `{"sql":"DROP"}`, want: call.DeniedByPolicy},
		{name: "a turn is required of writes", server: `,"require_turn":"writes"`, what: "tool", asked: "look"},
		{name: "a turn is required of a resource", server: `,"require_turn":"all"`, what: "resource", asked: "file:///a", want: call.TurnNotOffered},
		{name: "a turn is required of a prompt", server: `,"require_turn":"all"`, what: "prompt", asked: "greet", want: call.TurnNotOffered},
		{name: "a tool that is held back", what: "tool", asked: "late", want: call.ToolHeld},
	} {
		t.Run(test.name, func(t *testing.T) {
			f := kit.New(t, test.server, test.file)
			f.Lists = tools("change", "look", "unclassified", "never", "edit")
			somebody := kit.Call("look") // whom nothing narrows
			somebody.Principal.Subject = "somebody"
			if _, refusal := f.Acquire(t.Context(), somebody); refusal != nil {
				t.Fatal(refusal)
			}
			if test.want == call.TurnNotOffered {
				rule(t, f, "mcp.up.resource.*", policy.Allow)
				rule(t, f, "mcp.up.prompt.*", policy.Allow)
			}
			if test.want == call.CredentialNoRule {
				f.Beside(t, kit.New(t, "", ""), "other") // the secret is of two servers from here on
				unshare(t, f)
			}
			more := `,"run":"r1"`
			if test.arguments != "" {
				more += `,"arguments":` + test.arguments
			}
			s := simulate(t, f, about(test.what, test.asked, more))
			compare(t, f, test.want, s, realCall(t, f, s, test.what, test.asked, test.arguments))
		})
	}
}

// unshare takes away the rule that lets servers share the secret.
func unshare(t *testing.T, f *kit.Relay) {
	t.Helper()
	registration := *f.Registry.Registration
	rules, err := policy.Compile(slices.DeleteFunc(registration.Rules.Table(), func(r policy.Rule) bool { return r.To != nil }))
	if err != nil {
		t.Fatal(err)
	}
	registration.Rules = rules
	f.Registry.Registration = &registration
}

// realCall is the call that a simulation was about, with a turn where it said so.
func realCall(t *testing.T, f *kit.Relay, s relay.Simulation, what, name, arguments string) call.Call {
	t.Helper()
	c := kit.Call("")
	quoted, _ := json.Marshal(name)
	c.Run, c.Arguments, c.Params = "r1", nil, json.RawMessage(fmt.Sprintf(`{"name":%s}`, quoted))
	if arguments != "" {
		c.Arguments = json.RawMessage(arguments)
		c.Params = json.RawMessage(fmt.Sprintf(`{"name":%s,"arguments":%s}`, quoted, arguments))
	}
	switch what {
	case "tool":
		c.Tool = name
	case "resource":
		c.Operation, c.Resource = call.OperationResourcesRead, name
	case "prompt":
		c.Operation, c.Prompt = call.OperationPromptsGet, name
	}
	if s.TurnRequired {
		unsent(t, f, c, call.TurnRequired)
		c.Turn = opened(t, f, relay.Authority{Mode: turn.Build}, "r1").ID
	}
	return c
}

// compare makes the call, and compares what its record says with what was
// simulated before.
func compare(t *testing.T, f *kit.Relay, want call.Reason, s relay.Simulation, c call.Call) {
	t.Helper()
	c.ID = "01JDXAMPLE0000000000000002"
	_, refusal := f.Do(t.Context(), c)
	record, ok := f.Recorder.Of(c.ID)
	if !ok {
		t.Fatal("the call left no record")
	}
	reason := call.Reason("")
	if refusal != nil {
		reason = refusal.Reason
	}
	if reason != want || s.Reason != want || (s.Decision == call.Allow) != (want == "") {
		t.Errorf("simulated %s (%s), the call was refused for %q, want %q", s.Decision, s.Reason, reason, want)
	}
	if s.Decision != record.Decision || s.Policy != record.Policy || s.Rule+s.Missing != record.Rule {
		t.Errorf("simulated %s, policy %s, rule %q; recorded %s, %s, %q", s.Decision, s.Policy, s.Rule+s.Missing, record.Decision, record.Policy, record.Rule)
	}
	var said []string
	detail := s.Detail
	for _, message := range s.Enforced { // of a call that is denied before its credential is known
		message = named("reads", message)
		said, detail = append(said, "policy: "+message), message
	}
	for _, message := range s.Audited {
		said = append(said, "audited policy: "+message)
	}
	if record.Policy != call.PolicyNotRun && !slices.Equal(said, record.Reasons) {
		t.Errorf("simulated %q, recorded %q", said, record.Reasons)
	}
	if refusal != nil && detail != refusal.Detail {
		t.Errorf("simulated %q, the call %q", detail, refusal.Detail)
	}
}

func TestASimulationSendsCountsAndRecordsNothing(t *testing.T) {
	f := kit.New(t, `,"budget_classes":{"look":"data"},"limits":{"look":{"per_minute":1}}`, `,"require_turn":"all","budgets":{"data":{"per_minute":1}}`)
	for range 3 {
		if s := simulate(t, f, about("tool", "look", "")); s.Decision != call.Allow || s.BudgetClass != "data" || !s.TurnRequired || s.Effect != call.EffectRead {
			t.Errorf("got %+v", s)
		}
	}
	intents, finals := f.Recorder.Written()
	if f.Requests.Load() != 0 || f.Counters.Total() != 0 || intents+finals != 0 || len(f.Recorder.Own()) != 0 {
		t.Errorf("%d requests, %d counted, %d intents, %d finals", f.Requests.Load(), f.Counters.Total(), intents, finals)
	}
	if lines := strings.Count(f.Log.String(), `"msg":"simulated"`); lines != 3 || strings.Contains(f.Log.String(), `"state"`) {
		t.Errorf("%d lines of 3: %s", lines, f.Log)
	}
}

func TestASimulationShowsTheWholeInputDocument(t *testing.T) {
	f := kit.New(t, `,"bindings":{"change":"edit"},"budget_classes":{"change":"data"},"policy_metadata":{"change":{"owner":"docs"}}`, "")
	s := simulate(t, f, `{"subject":"ci","kind":"trusted_issuer","scopes":["call","admin:write"],"server":"up","tool":"edit","run":"r1","arguments":{"n":1.000000000000000000001}}`)
	const want = `{"auth":{"subject":"ci","issuer":"","kind":"trusted_issuer","scopes":["call","admin:write"]},"gateway":{"backend":"up","upstream_tool":"change","upstream_uri":"","upstream_prompt":""},` +
		`"request":{"method":"tools/call","params":{"name":"edit","arguments":{"n":1.000000000000000000001}}},"schema_version":1,` +
		`"relay":{"tenant":"acme","run":"r1","turn":"","effect":"write","metadata":{"owner":"docs"},"budget_class":"data"}}`
	if string(s.Input) != want {
		t.Errorf("got  %s\nwant %s", s.Input, want)
	}
	s = simulate(t, f, `{"subject":"ci","server":"nowhere","prompt":"greet"}`)
	if got := string(s.Input); !strings.Contains(got, `"backend":"nowhere","upstream_tool":"","upstream_uri":"","upstream_prompt":"greet"`) ||
		!strings.Contains(got, `"kind":"service_token","scopes":["call"]`) || !strings.Contains(got, `"params":{"name":"greet"}`) || s.Reason != call.UnknownServer {
		t.Errorf("of an unknown server: %s, %s", s.Reason, got)
	}
}

func TestASimulationTellsARuleFromAMissingOne(t *testing.T) {
	f := kit.New(t, "", "")
	for _, test := range []struct{ what, name, rule, missing string }{
		{"tool", "look", "mcp.up.tool.*", ""},
		{"tool", "never", "mcp.up.tool.never", ""},
		{"prompt", "greet", "", "mcp.up.prompt.greet"},
	} {
		if s := simulate(t, f, about(test.what, test.name, "")); s.Rule != test.rule || s.Missing != test.missing {
			t.Errorf("%s %s: rule %q, missing %q", test.what, test.name, s.Rule, s.Missing)
		}
	}
}

func TestCandidatePoliciesAreAskedBesideOrInThePlaceOfTheSaved(t *testing.T) {
	f := kit.New(t, "", fmt.Sprintf(selecting, ""))
	const candidate = `{"name":%q,"mode":%q,"source":"package mcprelay.policy\nimport rego.v1\ndeny contains \"the candidate\" if true\n"}`
	one := func(name, mode, more string) string {
		return `,"policies":[` + fmt.Sprintf(candidate, name, mode) + `]` + more
	}
	for _, test := range []struct {
		name, more        string
		enforced, audited []string
	}{
		{"the saved ones", "", []string{"only SELECT"}, nil},
		{"none of them", `,"only":true`, nil, nil},
		{"one beside", one("new", "enforce", ""), []string{"only SELECT", "the candidate"}, nil},
		{"one beside that watches", one("new", "audit", ""), []string{"only SELECT"}, []string{"the candidate"}},
		{"one of the same name", one("reads", "", ""), []string{"the candidate"}, nil},
		{"one alone", one("new", "", `,"only":true`), []string{"the candidate"}, nil},
	} {
		s := simulate(t, f, about("tool", "look", `,"arguments":{"sql":"DROP"}`+test.more))
		if !slices.Equal(s.Enforced, test.enforced) || !slices.Equal(s.Audited, test.audited) || (s.Decision == call.Deny) != (test.enforced != nil) {
			t.Errorf("%s: %s, enforced %q, audited %q", test.name, s.Decision, s.Enforced, s.Audited)
		}
	}
	c := kit.Call("look")
	c.Arguments = json.RawMessage(`{"sql":"SELECT"}`)
	if _, refusal := f.Do(t.Context(), c); refusal != nil {
		t.Errorf("a candidate was kept: %v", refusal)
	}
}

func TestSimulationsAreBounded(t *testing.T) {
	var all []string
	for i := range 9 {
		all = append(all, fmt.Sprintf(`{"name":"p%d","source":"package mcprelay.policy\n\ndeny contains \"x\""}`, i))
	}
	f := kit.New(t, "", "")
	simulate(t, f, about("tool", "look", `,"policies":[`+strings.Join(all[:8], ",")+`]`))
	q, refusal := relay.ReadQuestion([]byte(about("tool", "look", `,"policies":[`+strings.Join(all, ",")+`]`)))
	if refusal != nil {
		t.Fatal(refusal)
	}
	q.By = operator
	_, refusal = f.Simulate(t.Context(), q)
	kit.WantReason(t, refusal, call.BadParams)

	// One that is held up in the registry keeps its place; two are all there are.
	held := relay.New(f.Relay.Config)
	ctx, cancel := context.WithCancel(t.Context())
	q.Policies = nil
	var running sync.WaitGroup
	reached := make(chan struct{}, 2)
	held.Registry = heldRegistry{reached}
	for range 2 {
		running.Go(func() { _, _ = held.Simulate(ctx, q) })
		<-reached
	}
	_, refusal = held.Simulate(ctx, q)
	kit.WantReason(t, refusal, call.TooManyInFlight)
	cancel()
	running.Wait()
}

// heldRegistry answers when whoever asks has gone.
type heldRegistry struct{ reached chan struct{} }

func (h heldRegistry) Tenant(ctx context.Context, _ string) (*registry.Tenant, error) {
	h.reached <- struct{}{}
	<-ctx.Done()
	return nil, ctx.Err()
}

func TestACandidateThatCannotBeUsedIsRefusedWithItsPlace(t *testing.T) {
	f := kit.New(t, "", "")
	for _, test := range []struct{ policies, want string }{
		{`{"name":"new","source":"package mcprelay.policy\n\ndeny contains"}`, "policy new:3:"},
		{`{"name":"new","source":""}`, "policy new"},
		{`{"name":"a b","source":"package mcprelay.policy"}`, "name"},
		{`{"name":"new","source":"package mcprelay.policy","mode":"off"}`, "mode"},
		{`{"name":"new","source":"package mcprelay.policy"},{"name":"new","source":"package mcprelay.policy"}`, "two policies"},
		{`{"name":"new","source":"` + strings.Repeat("#", 257<<10) + `"}`, "longer than"},
	} {
		q, refusal := relay.ReadQuestion([]byte(about("tool", "look", `,"policies":[`+test.policies+`]`)))
		if refusal != nil {
			t.Fatal(refusal)
		}
		q.By = operator
		_, refusal = f.Simulate(t.Context(), q)
		kit.WantReason(t, refusal, call.BadParams)
		if !strings.Contains(refusal.Detail, test.want) {
			t.Errorf("got %s, want %s", refusal.Detail, test.want)
		}
	}
}

func TestAQuestionIsReadStrictly(t *testing.T) {
	for _, body := range []string{
		``, `[]`, `{}`, `{"subject":"ci","server":"up"}`, `{"subject":"ci","tool":"look"}`, `{"server":"up","tool":"look"}`,
		about("tool", "look", `,"prompt":"greet"`), about("tool", "look", `,"Kind":"user"`), about("tool", "look", `,"sever":"up"`),
		about("tool", "look", `,"server":"up"`), about("tool", "look", `,"scopes":["all"]`), about("tool", "look", `,"scopes":"call"`),
		`{"subject":"ci","kind":"root","server":"up","tool":"look"}`, about("tool", "look", `,"arguments":[]`), about("tool", "look", `,"arguments":null`),
		about("resource", "file:///a", `,"arguments":{}`), about("tool", "look", `,"run":"a\u0001"`), about("tool", "look", `,"run":"`+strings.Repeat("r", 129)+`"`),
		about("tool", "look", `,"policies":[{"name":"p","text":"x"}]`), about("tool", "look", `,"policies":[{"Name":"p"}]`), about("tool", "look", `,"policies":{}`), about("tool", "look", `,"policies":["p"]`),
		about("tool", "look", `,"only":1`), about("tool", "look", `,"turn":"trn_x"`),
	} {
		if q, refusal := relay.ReadQuestion([]byte(body)); refusal == nil || refusal.Row().Stage != call.StageParse {
			t.Errorf("%.80s: read as %+v, %v", body, q, refusal)
		}
	}
	f := kit.New(t, "", "")
	_, refusal := f.Simulate(t.Context(), relay.Question{By: operator})
	kit.WantReason(t, refusal, call.BadParams)
	f.Registry.Registration, f.Registry.Err = nil, errors.New("the store is down")
	_, refusal = f.Simulate(t.Context(), relay.Question{By: operator, Subject: "ci", Server: "up", Tool: "look"})
	kit.WantReason(t, refusal, call.PolicyUnavailable)
}

func TestNamesThatNothingHasAreWarnedOfWithTheNearest(t *testing.T) {
	f := kit.New(t, `,"bindings":{"change":"edit"}`, `,"agents":[{"subject":"ci"},{"subject":"docs-agent"}]`)
	f.Beside(t, kit.New(t, "", ""), "warehouse")
	warned := func(question string, want ...string) {
		t.Helper()
		if s := simulate(t, f, question); !slices.Equal(s.Warnings, append([]string{}, want...)) {
			t.Errorf("%s\n got %q\nwant %q", question, s.Warnings, want)
		}
	}
	warned(about("tool", "look", ""), `what server up offers has not been read yet, so that nobody knows whether it has "look"`)
	f.Warm(t)
	warned(about("tool", "look", ""))
	warned(about("resource", "file:///a", ""))
	warned(about("tool", "lok", ""), `server up has no tool "lok"; the nearest is "look"`)
	warned(about("tool", "change", ""), `server up has no tool "change"; the nearest is "edit"`)
	warned(`{"subject":"ci","server":"warehose","tool":"look"}`, `no server is named "warehose"; the nearest is "warehouse"`)
	warned(`{"subject":"dosc-agent","scopes":[],"server":"up","tool":"look"}`,
		`no agent is registered as "dosc-agent", so the rules alone hold it; the nearest is "docs-agent"`)

	f = kit.New(t, `,"allowed_tools":["look","change"]`, "")
	warned(about("tool", "looks", ""), `server up has no tool "looks"; the nearest is "look"`)
	f = kit.New(t, "", "")
	f.Capabilities = `"tools":{},"prompts":{}`
	f.Answer = func(w http.ResponseWriter, _ *http.Request, body map[string]json.RawMessage) {
		kit.Result(w, body, `{"resultType":"complete","ttlMs":0,"cacheScope":"private","prompts":[{"name":"greet"}]}`)
	}
	if _, refusal := f.View(t.Context(), kit.Call("")); refusal != nil {
		t.Fatal(refusal)
	}
	warned(about("prompt", "great", ""), `server up has no prompt "great"; the nearest is "greet"`)
	warned(about("prompt", "greet", ""))
}

func TestAPolicyThatFailsIsWarnedOfWhereTheTenantIsOpen(t *testing.T) {
	f := kit.New(t, "", oddly+`,"on_policy_error":"allow"`)
	f.Warm(t)
	s := simulate(t, f, about("tool", "look", ""))
	if s.Decision != call.Allow || s.Policy != call.PolicyError || len(s.Warnings) != 1 || !strings.Contains(s.Warnings[0], "policy odd") {
		t.Errorf("got %s, %s, %q", s.Decision, s.Policy, s.Warnings)
	}
	s = simulate(t, f, about("tool", "look", `,"only":true,"policies":[{"name":"old","source":"package mcprelay.policy\ndeny[msg] { msg := \"v0\" }\n"}]`))
	if len(s.Warnings) != 1 || !strings.Contains(s.Warnings[0], "policy old: it is written in Rego v0") {
		t.Errorf("warnings %q", s.Warnings)
	}
}
