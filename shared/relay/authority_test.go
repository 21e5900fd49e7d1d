package relay_test

import (
	"encoding/json"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"mcprelay/shared/call"
	"mcprelay/shared/relay"
	"mcprelay/shared/turn"
	"mcprelay/test/kit"
)

// unsent asks for a call that must be refused before anything is sent of it.
func unsent(t *testing.T, f *kit.Relay, c call.Call, want call.Reason) *call.Refusal {
	t.Helper()
	posts := f.Posts.Load()
	_, refusal := f.Do(t.Context(), c)
	kit.WantReason(t, refusal, want)
	if f.Posts.Load() != posts || refusal.MayHaveRun() != call.ImpactNone {
		t.Errorf("%s: %d posts, effect %s", want, f.Posts.Load()-posts, refusal.MayHaveRun())
	}
	if intents, _ := f.Recorder.Written(); intents != 0 {
		t.Errorf("%s: an intent was written", want)
	}
	return refusal
}

func TestAnAgentReachesTheServersOfItsScopeOnly(t *testing.T) {
	f := kit.New(t, "", `,"agents":[{"subject":"ci","servers":["docs"]},{"subject":"reader","access":"read"}]`)
	f.Beside(t, kit.New(t, "", ""), "docs")
	unsent(t, f, kit.Call("look"), call.OutOfScope)
	views, refusal := f.Views(t.Context(), kit.Call(""))
	if refusal != nil || len(views) != 1 || views[0].Server != "docs" {
		t.Errorf("%d views, %v, want docs alone", len(views), refusal)
	}
	c := kit.Call("look")
	c.Principal.Subject = "somebody"
	if _, refusal := f.Do(t.Context(), c); refusal != nil {
		t.Errorf("whom nothing narrows: %v", refusal)
	}
}

func TestAnAgentThatMayReadIsOfferedAndMayCallReadsOnly(t *testing.T) {
	f := kit.New(t, "", `,"agents":[{"subject":"ci","access":"read"}]`)
	for range 2 { // the second is remembered
		for _, tool := range []string{"change", "unclassified"} {
			unsent(t, f, kit.Call(tool), call.AccessRead)
		}
		if _, refusal := f.Do(t.Context(), kit.Call("look")); refusal != nil {
			t.Error(refusal)
		}
	}
	view, _ := f.View(t.Context(), kit.Call(""))
	if got := shown(view.Tools()); !slices.Equal(got, []string{"look"}) {
		t.Errorf("shown %v, want look", got)
	}
	c := kit.Call("")
	c.Principal.Subject = "somebody"
	if view, _ := f.View(t.Context(), c); len(view.Tools()) != 3 {
		t.Errorf("whom nothing narrows is shown %v", shown(view.Tools()))
	}
}

const selects = `,"policies":[{"name":"reads","source":"package chalk.policy\nimport rego.v1\ndeny contains \"only SELECT\" if not startswith(input.request.params.arguments.sql, \"SELECT\")\n","enabled":true%}]`

func TestPoliciesDenyWhatTheArgumentsSay(t *testing.T) {
	for _, test := range []struct {
		name, more, arguments string
		want                  call.Reason
		policy                call.PolicyVerdict
	}{
		{"allowed", "", `{"sql":"SELECT 1"}`, "", call.PolicyAllow},
		{"denied", "", `{"sql":"DROP"}`, call.DeniedByPolicy, call.PolicyDeny},
		{"audited", `,"mode":"audit"`, `{"sql":"DROP"}`, "", call.PolicyDeny},
	} {
		t.Run(test.name, func(t *testing.T) {
			f := kit.New(t, "", strings.Replace(selects, "%", test.more, 1))
			c := kit.Call("look")
			c.Arguments = json.RawMessage(test.arguments)
			c.Params = json.RawMessage(`{"name":"look","arguments":` + test.arguments + `}`)
			_, refusal := f.Do(t.Context(), c)
			if test.want != "" {
				kit.WantReason(t, refusal, test.want)
			} else if refusal != nil {
				t.Error(refusal)
			}
			r := f.Recorder.Only(t)
			if r.Policy != test.policy || (r.Decision == call.Allow) != (test.want == "") {
				t.Errorf("policy %s, decision %s", r.Policy, r.Decision)
			}
			message := "only SELECT"
			if test.want != "" { // the server's credential was not read, so that nothing could be masked
				message = named("reads", message)
			}
			if said := strings.Contains(strings.Join(r.Reasons, "\n"), message); said != (test.policy == call.PolicyDeny) {
				t.Errorf("reasons %q", r.Reasons)
			}
		})
	}
}

func TestAPolicyThatFailsRefusesUnlessTheTenantIsOpen(t *testing.T) {
	const failing = `,"policies":[{"name":"odd","source":"package mcprelay.policy\nimport rego.v1\ndeny contains 7 if true\n","enabled":true}]`
	f := kit.New(t, "", failing)
	unsent(t, f, kit.Call("look"), call.PolicyFailed)
	if r := f.Recorder.Only(t); r.Policy != call.PolicyError || r.Decision != call.Deny {
		t.Errorf("policy %s, decision %s", r.Policy, r.Decision)
	}
	f = kit.New(t, "", failing+`,"on_policy_error":"allow"`)
	if _, refusal := f.Do(t.Context(), kit.Call("look")); refusal != nil {
		t.Error(refusal)
	}
	if r := f.Recorder.Only(t); r.Policy != call.PolicyError || r.Decision != call.Allow {
		t.Errorf("policy %s, decision %s", r.Policy, r.Decision)
	}
}

func opened(t *testing.T, f *kit.Relay, a relay.Authority, run string) turn.Turn {
	t.Helper()
	c := kit.Call("")
	c.Run = run
	opened, refusal := f.OpenTurn(t.Context(), c, a)
	if refusal != nil {
		t.Fatal(refusal)
	}
	return opened
}

func TestATurnAllowsWhatItOffersInItsModeAndNothingElse(t *testing.T) {
	f := kit.New(t, "", "")
	asking := opened(t, f, relay.Authority{Mode: turn.Ask}, "")
	under := func(tool, id, run string) call.Call {
		c := kit.Call(tool)
		c.Turn, c.Run = id, run
		return c
	}
	if _, refusal := f.Do(t.Context(), under("look", asking.ID, "")); refusal != nil {
		t.Errorf("a read in mode ask: %v", refusal)
	}
	unsent(t, f, under("change", asking.ID, ""), call.TurnMode)
	unsent(t, f, under("look", asking.ID, "another"), call.TurnForeign)
	foreign := under("look", asking.ID, "")
	foreign.Principal.Subject = "somebody"
	unsent(t, f, foreign, call.TurnForeign)
	named := under("look", asking.ID, "") // the same subject, named by somebody else
	named.Principal.Issuer = "https://login.example.com"
	unsent(t, f, named, call.TurnForeign)
	kit.WantReason(t, f.EndTurn(t.Context(), named, asking.ID), call.TurnForeign)
	unsent(t, f, under("look", "trn_x", ""), call.TurnUnknown)

	building := opened(t, f, relay.Authority{Mode: turn.Build, Tools: []turn.Offer{{Server: "up", Tool: "change"}}}, "")
	unsent(t, f, under("look", asking.ID, ""), call.TurnEnded)
	unsent(t, f, under("look", building.ID, ""), call.TurnNotOffered)
	if _, refusal := f.Do(t.Context(), under("change", building.ID, "")); refusal != nil {
		t.Errorf("a write in mode build: %v", refusal)
	}
	if refusal := f.EndTurn(t.Context(), kit.Call(""), building.ID); refusal != nil {
		t.Error(refusal)
	}
	_, refusal := f.Do(t.Context(), under("change", building.ID, ""))
	kit.WantReason(t, refusal, call.TurnEnded)

	expiring := opened(t, f, relay.Authority{Mode: turn.Build, Lifetime: time.Minute}, "")
	later := time.Now().Add(time.Minute)
	f.Config.Now = func() time.Time { return later }
	_, refusal = f.Do(t.Context(), under("look", expiring.ID, ""))
	kit.WantReason(t, refusal, call.TurnExpired)
	f.Turns.Fail = true
	_, refusal = f.Do(t.Context(), under("look", expiring.ID, ""))
	kit.WantReason(t, refusal, call.TurnUnavailable)
}

func TestAWriteNeedsTheDescriptionThatTheTurnOffers(t *testing.T) {
	f := kit.New(t, `,"pin":"off"`, "")
	f.Lists = tools("look", "change")
	building := opened(t, f, relay.Authority{Mode: turn.Build}, "")
	f.Lists = listing(`{"name":"look","inputSchema":{"type":"object"}},{"name":"change","inputSchema":{"type":"object"},"description":"now it deletes"}`)
	reread(t, f)
	c := kit.Call("change")
	c.Turn = building.ID
	unsent(t, f, c, call.TurnChanged)
}

func TestATurnForOneCallAllowsOneHoweverManyAsk(t *testing.T) {
	f := kit.New(t, "", "")
	single := opened(t, f, relay.Authority{Mode: turn.Build, Single: true}, "")
	var ran, used atomic.Int64
	var calls sync.WaitGroup
	for range 8 {
		calls.Go(func() {
			c := kit.Call("change")
			c.Turn = single.ID
			switch _, refusal := f.Do(t.Context(), c); {
			case refusal == nil:
				ran.Add(1)
			case refusal.Reason == call.TurnUsed:
				used.Add(1)
			default:
				t.Error(refusal)
			}
		})
	}
	calls.Wait()
	if ran.Load() != 1 || used.Load() != 7 || f.Posts.Load() != 1 {
		t.Errorf("%d ran, %d were refused, %d posts", ran.Load(), used.Load(), f.Posts.Load())
	}
}

func TestATurnIsRequiredWhereTheRegistrationSaysSo(t *testing.T) {
	for _, test := range []struct {
		more  string
		wants map[string]call.Reason
	}{
		{``, map[string]call.Reason{"look": "", "change": ""}},
		{`,"require_turn":"writes"`, map[string]call.Reason{"look": "", "change": call.TurnRequired}},
		{`,"require_turn":"all"`, map[string]call.Reason{"look": call.TurnRequired, "change": call.TurnRequired}},
	} {
		f := kit.New(t, "", test.more)
		for tool, want := range test.wants {
			_, refusal := f.Do(t.Context(), kit.Call(tool))
			if want != "" {
				kit.WantReason(t, refusal, want)
			} else if refusal != nil {
				t.Errorf("%s %s: %v", test.more, tool, refusal)
			}
		}
	}
}

const budgets = `,"budgets":{"data":{"per_minute":2}}`

func TestABudgetIsNeverOverspentAndGivenBackWhereNothingRan(t *testing.T) {
	f := kit.New(t, `,"budget_classes":{"look":"data","change":"data"}`, budgets)
	for _, tool := range []string{"look", "change"} {
		if _, refusal := f.Do(t.Context(), kit.Call(tool)); refusal != nil {
			t.Fatal(refusal)
		}
	}
	_, refusal := f.Do(t.Context(), kit.Call("look"))
	kit.WantReason(t, refusal, call.OverBudget)
	if refusal.RetryAfter < 1 || refusal.RetryAfter > 60 || f.Posts.Load() != 2 {
		t.Errorf("retry after %d, %d posts", refusal.RetryAfter, f.Posts.Load())
	}

	f = kit.New(t, `,"budget_classes":{"look":"data"}`, budgets)
	f.Secrets = func() (string, string) { return "", "" } // the call cannot be made
	for range 5 {
		_, refusal := f.Do(t.Context(), kit.Call("look"))
		kit.WantReason(t, refusal, call.SecretMissing)
	}
	if f.Counters.Total() != 0 {
		t.Errorf("%d calls are counted that were not made", f.Counters.Total())
	}

	f = kit.New(t, `,"budget_classes":{"look":"data"}`, budgets)
	f.Counters.Fail = true
	unsent(t, f, kit.Call("look"), call.BudgetUnavailable)
	f = kit.New(t, `,"budget_classes":{"look":"data"}`, `,"budgets":{"data":{"per_minute":2,"on_error":"allow"}}`)
	f.Counters.Fail = true
	if _, refusal := f.Do(t.Context(), kit.Call("look")); refusal != nil {
		t.Errorf("a budget that is open: %v", refusal)
	}
}

func TestAToolHasBoundsOfItsOwn(t *testing.T) {
	f := kit.New(t, `,"limits":{"look":{"max_arguments_bytes":16,"per_minute":1}}`, "")
	c := kit.Call("look")
	c.Arguments = json.RawMessage(`{"n":"` + strings.Repeat("x", 16) + `"}`)
	unsent(t, f, c, call.ArgumentsTooLarge)
	if _, refusal := f.Do(t.Context(), kit.Call("look")); refusal != nil {
		t.Fatal(refusal)
	}
	unsent(t, f, kit.Call("look"), call.RateLimited)
}

func TestWhatPolicyRefusesSpendsNothing(t *testing.T) {
	f := kit.New(t, `,"budget_classes":{"look":"data"}`, budgets+strings.Replace(selects, "%", "", 1))
	single := opened(t, f, relay.Authority{Mode: turn.Build, Single: true}, "")
	c := kit.Call("look")
	c.Turn, c.Arguments = single.ID, json.RawMessage(`{"sql":"DROP"}`)
	for range 3 {
		unsent(t, f, c, call.DeniedByPolicy)
	}
	if f.Counters.Total() != 0 {
		t.Errorf("%d counted", f.Counters.Total())
	}
	c.Arguments = json.RawMessage(`{"sql":"SELECT"}`)
	if _, refusal := f.Do(t.Context(), c); refusal != nil {
		t.Errorf("the turn was spent: %v", refusal)
	}
}

func TestARefusedTurnIsRecorded(t *testing.T) {
	f := kit.New(t, "", "")
	c := kit.Call("")
	_, refusal := f.OpenTurn(t.Context(), c, relay.Authority{Mode: turn.Ask, Tools: []turn.Offer{{Server: "up", Tool: "never"}}})
	kit.WantReason(t, refusal, call.TurnNotOffered)
	if r := f.Recorder.Only(t); r.Operation != call.OperationTurn || r.Reason != call.TurnNotOffered {
		t.Errorf("record %+v", r)
	}
}
