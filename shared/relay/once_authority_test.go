package relay_test

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"mcprelay/shared/call"
	"mcprelay/shared/idempotency"
	"mcprelay/shared/relay"
	"mcprelay/shared/turn"
	"mcprelay/test/kit"
)

// A key is no way around what decides about a call.
func TestARepeatIsDecidedAboutLikeACall(t *testing.T) {
	for name, test := range map[string]struct {
		change func(t *testing.T, f *kit.Relay, c *call.Call)
		want   call.Reason
	}{
		"nothing": {func(*testing.T, *kit.Relay, *call.Call) {}, ""},
		"its turn ended": {func(t *testing.T, f *kit.Relay, c *call.Call) {
			if refusal := f.EndTurn(t.Context(), kit.Call(""), c.Turn); refusal != nil {
				t.Fatal(refusal)
			}
		}, call.TurnEnded},
		"another turn of one call, which is used": {func(t *testing.T, f *kit.Relay, c *call.Call) {
			c.Turn = opened(t, f, relay.Authority{Mode: turn.Build, Single: true}, "").ID
			other := kit.Call("change")
			other.Turn = c.Turn
			if _, refusal := f.Do(t.Context(), other); refusal != nil {
				t.Fatal(refusal)
			}
		}, call.TurnUsed},
		"without its turn": {func(t *testing.T, f *kit.Relay, c *call.Call) {
			registration := *f.Registry.Registration
			registration.Settings.RequireTurn = "all"
			f.Registry.Registration, c.Turn = &registration, ""
		}, call.TurnRequired},
		"a policy that denies now": {func(t *testing.T, f *kit.Relay, c *call.Call) {
			denying := kit.New(t, "", `,"policies":[{"name":"no","source":"package mcprelay.policy\nimport rego.v1\ndeny contains \"no\" if true\n"}]`)
			registration := *f.Registry.Registration
			registration.Engine = denying.Registry.Registration.Engine
			f.Registry.Registration = &registration
		}, call.DeniedByPolicy},
		"a limit of its tool": {func(t *testing.T, f *kit.Relay, c *call.Call) {
			limited := kit.New(t, `,"limits":{"change":{"max_arguments_bytes":4}}`, "")
			registration := *f.Registry.Registration
			server := *registration.Servers["up"]
			server.ToolLimits = limited.Registry.Registration.Servers["up"].ToolLimits
			registration.Servers = map[string]*registryServer{"up": &server}
			f.Registry.Registration = &registration
		}, call.ArgumentsTooLarge},
		"another request under its key": {func(_ *testing.T, _ *kit.Relay, c *call.Call) {
			c.Arguments = json.RawMessage(`{"n":2}`)
		}, call.TurnUsed},
	} {
		t.Run(name, func(t *testing.T) {
			f, _ := keeping(t, "", "")
			first := keyed(1)
			first.Turn = opened(t, f, relay.Authority{Mode: turn.Build, Single: true}, "").ID
			if _, refusal := f.Do(t.Context(), first); refusal != nil {
				t.Fatal(refusal)
			}
			again := keyed(2)
			again.Turn = first.Turn
			test.change(t, f, &again)
			posts := f.Posts.Load()
			answer, refusal := f.Do(t.Context(), again)
			if refusal != nil || test.want != "" {
				kit.WantReason(t, refusal, test.want)
			}
			if (answer.Result != nil) != (test.want == "") || f.Posts.Load() != posts {
				t.Errorf("got %s, %d posts, want %d", answer.Result, f.Posts.Load(), posts)
			}
		})
	}
}

func TestACallThatDidNotRunGivesItsTurnBack(t *testing.T) {
	f := kit.New(t, "", "")
	single := opened(t, f, relay.Authority{Mode: turn.Build, Single: true}, "")
	c := kit.Call("change")
	c.Turn = single.ID
	f.Recorder.FailIntent = true
	_, refusal := f.Do(t.Context(), c)
	kit.WantReason(t, refusal, call.AuditUnavailable)
	f.Recorder.FailIntent = false
	c.ID = keyed(2).ID
	if _, refusal := f.Do(t.Context(), c); refusal != nil {
		t.Error(refusal)
	}
	c.ID = keyed(3).ID
	_, refusal = f.Do(t.Context(), c)
	kit.WantReason(t, refusal, call.TurnUsed)
}

func TestAnAnswerGoesOnWithTheTurnAndTheBudgetOfItsCall(t *testing.T) {
	f, seen := asking(t, pass+`,"budget_classes":{"change":"data"}`, `,"budgets":{"data":{"per_minute":1}}`)
	f.Keys = &keys{kept: map[idempotency.Key]idempotency.Record{}}
	id := opened(t, f, relay.Authority{Mode: turn.Build, Single: true}, "").ID
	round := func(n int, c call.Call) (string, *call.Refusal) {
		c.ID, c.Turn, c.IdempotencyKey = keyed(n).ID, id, fmt.Sprint("key-", n)
		answer, refusal := f.Do(t.Context(), c)
		return answer.State, refusal
	}
	state, refusal := round(1, asked())
	if refusal != nil {
		t.Fatal(refusal)
	}
	_, refusal = round(2, asked())
	kit.WantReason(t, refusal, call.TurnUsed)
	if _, refusal = round(3, answering(state)); refusal != nil {
		t.Fatal(refusal)
	}
	_, refusal = round(4, answering(state))
	kit.WantReason(t, refusal, call.TurnUsed)
	if len(*seen) != 2 {
		t.Errorf("the server saw %d calls, want 2", len(*seen))
	}
	later := time.Now().Add(relay.StateLifetime - time.Minute)
	f.Config.Now = func() time.Time { return later }
	if _, refusal = round(3, answering(state)); refusal != nil {
		t.Errorf("a repeat of the answer: %v", refusal)
	}
}
