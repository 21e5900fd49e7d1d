package policies_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"mcprelay/shared/call"
	"mcprelay/shared/policy"
)

// configurations is how many random ones each property is tried on.
const configurations = 100_000

// dice picks at random, the same in every run.
type dice struct{ *rand.Rand }

func newDice() dice { return dice{rand.New(rand.NewPCG(41, 44))} }

func pick[T any](d dice, from ...T) T { return from[d.IntN(len(from))] }

func (d dice) rule() policy.Rule {
	server, tool := pick(d, "docs", "wiki", "payroll"), pick(d, "search", "save", "save.all")
	return policy.Rule{
		Decision: pick(d, policy.Allow, policy.Allow, policy.Ask, policy.Deny),
		Action: pick(d, "mcp.*", "mcp."+server+".*", "mcp."+server+".host.*", "mcp."+server+".host.com.example.*", "mcp."+server+".host.com.example."+server,
			"mcp."+server+".tool.*", "mcp."+server+".tool."+tool, "mcp."+server+".tool.save.*"),
	}
}

// question is a random caller who asks for a random tool under random rules.
func (d dice) question() (asked, []policy.Rule) {
	rules := make([]policy.Rule, d.IntN(7))
	for i := range rules {
		rules[i] = d.rule()
	}
	a := asked{
		agent:  agent{subject: pick(d, "ann", "release-agent", ""), kind: pick(d, "user", "service_token", "other"), scopes: pick(d, nil, []string{"call"}, []string{"call", "admin:write"})},
		server: pick(d, "docs", "wiki", "payroll"), tool: pick(d, "search", "save", "save.all"),
		effect: pick(d, call.EffectRead, call.EffectWrite, call.EffectUnclassified), open: pick(d, true, false),
		params: pick(d, `{}`, `{"arguments":{"sql":"SELECT 1"}}`, `{"arguments":{"sql":"DROP TABLE a","n":9007199254740993}}`, `{"arguments":[1e999999999999]}`),
	}
	a.agent.Servers = pick(d, nil, nil, []string{}, []string{a.server}, []string{"docs", "wiki"})
	a.agent.Access = pick(d, "", policy.AccessRead, policy.AccessBuild, policy.Access("odd"))
	return a, rules
}

// Whatever was refused is refused with a deny more, and the scope, the access
// and the policies only ever take away from what the rules allow.
func TestNothingThatNarrowsEverAllowsMore(t *testing.T) {
	d := newDice()
	allowed := 0
	for range configurations {
		a, rules := d.question()
		a.rules = compile(t, rules)
		before, _, _ := a.answer(t)
		more := d.rule()
		more.Decision = pick(d, policy.Deny, policy.Ask)
		narrower := a
		narrower.rules = compile(t, slices.Insert(slices.Clone(rules), d.IntN(len(rules)+1), more))
		if after, _, _ := narrower.answer(t); after == call.OK && before != call.OK {
			t.Fatalf("adding %+v to %+v allows %+v", more, rules, a)
		}
		wider := a
		wider.agent.Caller = policy.Caller{}
		if reason, _, _ := wider.answer(t); before == call.OK && reason != call.OK {
			t.Fatalf("%+v is allowed more than without its scope and access", a)
		}
		if before == call.OK {
			allowed++
		}
	}
	if allowed < configurations/20 {
		t.Errorf("only %d of %d were allowed at first", allowed, configurations)
	}
}

// texts are policies of which some deny, some fail and some do neither.
var texts = [...]string{
	`deny contains "writes" if input.relay.effect != "read"`,
	`deny contains "no person" if input.auth.kind != "user"`,
	`deny contains input.auth.subject if input.gateway.backend == "payroll"`,
	`deny contains 5 if input.gateway.backend == "wiki"`,
	`deny contains "never" if input.absent`,
}

// subset compiles the policies of texts whose bit is set in enforced, and
// those of audited as audited ones, before, between and behind them.
func subset(t *testing.T, d dice, enforced, audited int) *policy.Engine {
	var sources []policy.Source
	for i, text := range texts {
		source := policy.Source{Name: fmt.Sprint("p", i), Text: "package mcprelay.policy\n\n" + text}
		if enforced>>i&1 == 1 {
			sources = append(sources, source)
		}
		if audited>>i&1 == 1 {
			source.Audit = true
			sources = slices.Insert(sources, d.IntN(len(sources)+1), source)
		}
	}
	return engine(t, sources...)
}

// An audited policy changes nothing about what is done, nor about what the
// enforcing ones say, whatever it says and wherever it stands.
func TestAnAuditedPolicyNeverChangesAnOutcome(t *testing.T) {
	d := newDice()
	type pair struct{ plain, audited *policy.Engine }
	var pairs []pair
	for i := range len(texts) * len(texts) {
		enforced := 1<<(i%len(texts)) | 1<<(i/len(texts)) // one, or two
		for audited := range texts {
			pairs = append(pairs, pair{subset(t, d, enforced, 0), subset(t, d, enforced, 1<<audited)})
		}
	}
	pairs = append(pairs, pair{subset(t, d, 0, 0), subset(t, d, 0, 1<<len(texts)-1)})
	said := 0
	synctest.Test(t, func(t *testing.T) {
		everything := compile(t, []policy.Rule{{Action: "mcp.*", Decision: policy.Allow}})
		for range configurations {
			a, rules := d.question()
			if a.rules = everything; d.IntN(4) == 0 {
				a.rules = compile(t, rules)
			}
			two := pick(d, pairs...)
			a.engine = two.plain
			reason, rule, _ := a.answer(t)
			a.engine = two.audited
			reason2, rule2, _ := a.answer(t)
			if reason != reason2 || rule != rule2 {
				t.Fatalf("%+v: %s by %s, with audited policies %s by %s", a, reason, rule, reason2, rule2)
			}
			if reason == call.DeniedByPolicy || reason == call.PolicyFailed {
				said++
			}
		}
	})
	if said < configurations/20 {
		t.Errorf("only %d of %d were refused by policies", said, configurations)
	}
}

// Adding an enforcing policy never allows what was refused.
func TestAddingAPolicyNeverAllowsMore(t *testing.T) {
	d := newDice()
	const all = 1<<len(texts) - 1
	var engines [all + 1]*policy.Engine
	for i := range engines {
		engines[i] = subset(t, d, i, 0)
	}
	synctest.Test(t, func(t *testing.T) {
		for range configurations / 10 {
			a, _ := d.question()
			a.rules = compile(t, []policy.Rule{{Action: "mcp.*", Decision: policy.Allow}})
			i, more := d.IntN(all+1), d.IntN(len(texts))
			a.engine = engines[i]
			before, _, _ := a.answer(t)
			a.engine = engines[i|1<<more]
			if after, _, _ := a.answer(t); after == call.OK && before != call.OK {
				t.Fatalf("adding %s allows %+v", strings.TrimSpace(texts[more]), a)
			}
		}
	})
}
