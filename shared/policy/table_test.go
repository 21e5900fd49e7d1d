package policy_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"mcprelay/shared/policy"

	"github.com/google/go-cmp/cmp"
)

func TestUsableRules(t *testing.T) {
	for _, action := range []string{
		"mcp.*", "mcp.docs.*", "mcp.docs.host.*", "mcp.docs.host.com.example.mcp", "mcp.docs.host.com.*", "mcp.docs.host.127.0.0.1",
		"mcp.docs.host.::1", "mcp.a-1.tool.*", "mcp.docs.tool.search", "mcp.docs.tool.read.*", "mcp.docs.tool.a b", "mcp.docs.tool.Été",
		"mcp.docs.tool..", "secret.*", "secret.use.*", "secret.use.docs-access", "secret.use.docs.*", "secret.use.A_b",
		"mcp.docs.process", "mcp.docs.process.*", "mcp.docs.resource.*", "mcp.docs.resource.file:///a.txt", "mcp.docs.resource.https://example.com/a?b=1#c",
		"mcp.docs.resource.db:///{table}", "mcp.docs.prompt.*", "mcp.docs.prompt.summarize", "mcp.docs.prompt.a b",
	} {
		if _, err := policy.Compile([]policy.Rule{{Action: action, Decision: policy.Allow}}); err != nil {
			t.Errorf("%s: %v", action, err)
		}
	}
}

func TestUnusableRulesAreNamed(t *testing.T) {
	ok := policy.Rule{Action: "mcp.docs.*", Decision: policy.Allow}
	rule := func(action string) policy.Rule { return policy.Rule{Action: action, Decision: policy.Deny} }
	to := func(to ...string) policy.Rule {
		return policy.Rule{Action: "secret.use.key", Decision: policy.Allow, To: append([]string{}, to...)}
	}
	cases := []struct {
		rule policy.Rule
		want string
	}{
		{rule(""), "action: it is missing"},
		{rule("*"), `action: a "*" needs something before it, as in mcp.docs.*`},
		{rule(".*"), `action: a "*" needs something before it, as in mcp.docs.*`},
		{rule("mcp"), "action: it matches nothing: an action has several words with dots between them"},
		{rule("mcp.docs"), "action: it matches nothing: mcp.<server>.* stands for all of a server"},
		{rule("mcp.docs.host"), "action: it ends too early: a name or * is missing"},
		{rule("mcp.docs.tool."), "action: it ends too early: a name or * is missing"},
		{rule("mcp..tool.x"), "action: its second word is not the name of a server"},
		{rule("mcp.Docs.tool.x"), "action: its second word is not the name of a server"},
		{rule("mcp.docs.hots.com.example"), `action: "hots" is not host, process, tool, resource or prompt`},
		{rule("mcp.docs.host.Com.Example"), "action: a host is written in lower case"},
		{rule("mcp.docs.resource"), "action: it ends too early: a name or * is missing"},
		{rule("mcp.docs.prompt."), "action: it ends too early: a name or * is missing"},
		{rule("mcp.docs.prompts.x"), `action: "prompts" is not host, process, tool, resource or prompt`},
		{rule("mcp.docs.process.docs"), "action: nothing comes after process: a server has one"},
		{rule("mcp.docs.process.a.*"), "action: nothing comes after process: a server has one"},
		{rule("mcp.docs.processes"), `action: "processes" is not host, process, tool, resource or prompt`},
		{rule("mcp.docs.resource.file:///a/*"), `action: a "*" can only stand at the end, after a dot`},
		{rule("mpc.docs.tool.x"), "action: it matches nothing: actions are mcp.<server>.host.<host>, mcp.<server>.process, mcp.<server>.tool.<name>, mcp.<server>.resource.<uri>, mcp.<server>.prompt.<name> and secret.use.<reference>"},
		{rule("secret.read.x"), "action: it matches nothing: actions are mcp.<server>.host.<host>, mcp.<server>.process, mcp.<server>.tool.<name>, mcp.<server>.resource.<uri>, mcp.<server>.prompt.<name> and secret.use.<reference>"},
		{rule("secret.use"), "action: it names no reference: secret.use.<reference>"},
		{rule("secret.use."), "action: it names no reference: secret.use.<reference>"},
		{rule("mcp.*.tool.x"), `action: a "*" can only stand at the end, after a dot`},
		{rule("mcp.docs.tool.sea*"), `action: a "*" can only stand at the end, after a dot`},
		{rule("mcp.docs.tool.*.*"), `action: a "*" can only stand at the end, after a dot`},
		{rule("mcp.docs.tool.**"), `action: a "*" can only stand at the end, after a dot`},
		{rule(" mcp.docs.*"), "action: it begins or ends with a blank, or holds a control character"},
		{rule("mcp.docs.tool.a\x00b"), "action: it begins or ends with a blank, or holds a control character"},
		{rule("mcp.docs.tool.a\n"), "action: it begins or ends with a blank, or holds a control character"},
		{rule("mcp.docs.tool." + strings.Repeat("a", 512)), "action: it is longer than 512 bytes"},
		{policy.Rule{Action: "mcp.docs.*"}, "decision: it is missing: allow, ask or deny"},
		{policy.Rule{Action: "mcp.docs.*", Decision: "Allow"}, `decision: "Allow" is not allow, ask or deny`},
		{policy.Rule{Action: "mcp.docs.*", Decision: "permit"}, `decision: "permit" is not allow, ask or deny`},
		{policy.Rule{Action: "mcp.docs.*", Decision: policy.Allow, To: []string{"mcp.docs.*"}}, "to: only secret.use rules have it"},
		{to(), "to: it is empty: leave it out, or list servers as mcp.<server>.*"},
		{to("mcp.docs.*", "mcp.*"), "to[1]: it must name one server: mcp.<server>.*, mcp.<server>.host.<host> or mcp.<server>.process"},
		{to("docs"), "to[0]: it must name one server: mcp.<server>.*, mcp.<server>.host.<host> or mcp.<server>.process"},
		{to("mcp.docs"), "to[0]: it must name one server: mcp.<server>.*, mcp.<server>.host.<host> or mcp.<server>.process"},
		{to("mcp.docs.tool.x"), "to[0]: it must name one server: mcp.<server>.*, mcp.<server>.host.<host> or mcp.<server>.process"},
		{to("mcp.docs.resource.x"), "to[0]: it must name one server: mcp.<server>.*, mcp.<server>.host.<host> or mcp.<server>.process"},
		{to("mcp.docs.prompt.*"), "to[0]: it must name one server: mcp.<server>.*, mcp.<server>.host.<host> or mcp.<server>.process"},
		{to("secret.use.x"), "to[0]: it must name one server: mcp.<server>.*, mcp.<server>.host.<host> or mcp.<server>.process"},
		{to("*"), "to[0]: it must name one server: mcp.<server>.*, mcp.<server>.host.<host> or mcp.<server>.process"},
		{to(slices.Repeat([]string{"mcp.docs.*"}, 65)...), "to: it has more than 64 entries"},
	}
	for _, c := range cases {
		_, err := policy.Compile([]policy.Rule{ok, c.rule})
		var place *policy.Error
		if !errors.As(err, &place) {
			t.Errorf("%+v: got %v, want an *Error", c.rule, err)
			continue
		}
		if got := place.Field + ": " + place.Reason; got != c.want || place.Index != 1 {
			t.Errorf("%+v:\ngot  %s (rule %d)\nwant %s (rule 1)", c.rule, got, place.Index, c.want)
		}
		if place.Error() != "rules[1]."+c.want {
			t.Errorf("%+v: the error reads %q", c.rule, place)
		}
	}
}

func TestATableIsBounded(t *testing.T) {
	rules := make([]policy.Rule, policy.MaxRules+1)
	for i := range rules {
		rules[i] = policy.Rule{Action: fmt.Sprintf("mcp.docs.tool.t%d", i), Decision: policy.Allow}
	}
	if _, err := policy.Compile(rules[1:]); err != nil {
		t.Errorf("%d rules: %v", policy.MaxRules, err)
	}
	if _, err := policy.Compile(rules); err == nil {
		t.Errorf("%d rules are accepted", len(rules))
	}
}

func TestMatchFindsTheMostSpecific(t *testing.T) {
	r := compile(t, []policy.Rule{
		{Action: "mcp.*", Decision: policy.Allow},
		{Action: "mcp.docs.tool.*", Decision: policy.Ask},
		{Action: "mcp.docs.tool.x", Decision: policy.Deny},
		{Action: "secret.use.key", Decision: policy.Allow, To: []string{"mcp.docs.*"}},
	})
	cases := []struct {
		action string
		want   policy.Match
	}{
		{"mcp.docs.tool.x", policy.Match{Word: policy.Deny, Rule: "mcp.docs.tool.x", Found: true}},
		{"mcp.docs.tool.x.y", policy.Match{Word: policy.Ask, Rule: "mcp.docs.tool.*", Found: true}},
		{"mcp.docs.tool", policy.Match{Word: policy.Ask, Rule: "mcp.docs.tool.*", Found: true}},
		{"mcp.docs.host.com", policy.Match{Word: policy.Allow, Rule: "mcp.*", Found: true}},
		{"mcp", policy.Match{Word: policy.Allow, Rule: "mcp.*", Found: true}},
		{"secret.use.key", policy.Match{Word: policy.Allow, Rule: "secret.use.key", Found: true}},
		{"secret.use.other", policy.Match{}},
		{"mcpx.docs", policy.Match{}},
		{"", policy.Match{}},
	}
	for _, c := range cases {
		if diff := cmp.Diff(c.want, r.Match(c.action)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.action, diff)
		}
	}
}

func TestTheTableIsACopy(t *testing.T) {
	rules := []policy.Rule{{Action: "mcp.docs.*", Decision: policy.Allow}}
	r := compile(t, rules)
	rules[0].Decision = policy.Deny
	r.Table()[0].Decision = policy.Deny
	if m := r.Match("mcp.docs.x"); m.Word != policy.Allow {
		t.Errorf("got %s, want allow", m.Word)
	}
	if diff := cmp.Diff([]policy.Rule{{Action: "mcp.docs.*", Decision: policy.Allow}}, r.Table()); diff != "" {
		t.Errorf("table (-want +got):\n%s", diff)
	}
}

// The fast look-up agrees with the definition: exact, else the longest ".*"
// whose body is the action or its beginning up to a dot.
func FuzzMatch(f *testing.F) {
	f.Add("mcp.docs.tool.a", "mcp.docs.tool.*", "mcp.docs.*", "mcp.docs.tool.a.b")
	f.Add("mcp.docs.*", "mcp.*", "mcp.docs.host.com.*", "mcp.docs.host.com")
	f.Add("secret.use.a", "secret.*", "secret.use.*", "secret.use.a.*")
	f.Add("mcp.docs.tool..", "mcp.docs.tool...*", "mcp.docs.tool.*", "mcp.docs.tool...")
	f.Fuzz(func(t *testing.T, one, two, three, action string) {
		var rules []policy.Rule
		for i, a := range []string{one, two, three} {
			rule := policy.Rule{Action: a, Decision: []policy.Word{policy.Allow, policy.Ask, policy.Deny}[i]}
			if _, err := policy.Compile([]policy.Rule{rule}); err == nil {
				rules = append(rules, rule)
			}
		}
		got := compile(t, rules).Match(action)
		if want := slowMatch(rules, action); got != want {
			t.Errorf("%+v asked for %q: got %+v, want %+v", rules, action, got, want)
		}
	})
}

func slowMatch(rules []policy.Rule, action string) policy.Match {
	order := map[policy.Word]int{policy.Allow: 0, policy.Ask: 1, policy.Deny: 2}
	var best policy.Match
	bestSize := -1
	for _, rule := range rules {
		size := -1
		if body, wild := strings.CutSuffix(rule.Action, ".*"); wild && action != "" && (action == body || strings.HasPrefix(action, body+".")) {
			size = len(body)
		} else if !wild && rule.Action == action {
			size = 1 << 20
		}
		if size > bestSize || size == bestSize && size >= 0 && order[rule.Decision] > order[best.Word] {
			best, bestSize = policy.Match{Word: rule.Decision, Rule: rule.Action, Found: true}, size
		}
	}
	return best
}
