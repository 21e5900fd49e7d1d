package policy_test

import (
	"bufio"
	"os"
	"slices"
	"strings"
	"testing"

	"mcprelay/shared/call"
	"mcprelay/shared/policy"
)

// question is one line of testdata/decisions.txt that begins with "?".
type question struct {
	table  string
	rules  []policy.Rule
	text   string
	op     call.Operation
	target policy.Target
	want   string
	rule   string
}

func questions(t *testing.T) []question {
	t.Helper()
	f, err := os.Open("testdata/decisions.txt")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var all []question
	var table string
	var rules []policy.Rule
	for lines := bufio.NewScanner(f); lines.Scan(); {
		line := lines.Text()
		switch {
		case strings.HasPrefix(line, "## "):
			table, rules = line[3:], nil
		case line == "" || strings.HasPrefix(line, "#"):
		case strings.HasPrefix(line, "? "):
			q := parseQuestion(t, line)
			q.table, q.rules = table, rules
			all = append(all, q)
		default:
			rules = append(rules, parseRule(t, line))
		}
	}
	return all
}

func parseRule(t *testing.T, line string) policy.Rule {
	t.Helper()
	words := strings.Fields(line)
	if len(words) < 2 || len(words) == 3 || len(words) > 3 && words[2] != "to" {
		t.Fatalf("unreadable rule %q", line)
	}
	rule := policy.Rule{Decision: policy.Word(words[0]), Action: words[1]}
	if len(words) > 3 {
		rule.To = words[3:]
	}
	return rule
}

func parseQuestion(t *testing.T, line string) question {
	t.Helper()
	asked, answer, ok := strings.Cut(line, " = ")
	want, rule, ok2 := strings.Cut(answer, " ")
	words := strings.Fields(asked)[1:]
	if !ok || !ok2 || len(words) < 3 {
		t.Fatalf("unreadable question %q", line)
	}
	q := question{text: asked[2:], want: want, rule: strings.TrimPrefix(rule, "-")}
	q.op = map[string]call.Operation{"call": call.OperationToolsCall, "discover": call.OperationDiscover, "close": call.OperationClose, "other": "resources/read"}[words[0]]
	q.target = policy.Target{Server: words[1], ReversedHost: words[2], Effect: call.EffectRead}
	if words[2] == "process" {
		q.target.ReversedHost, q.target.Process = "", true
	}
	words = words[3:]
	if len(words) > 0 && words[0] != "with" {
		q.target.Tool, words = words[0], words[1:]
	}
	for _, name := range words {
		if name != "with" {
			bare, shared := strings.CutSuffix(name, "+")
			q.target.References = append(q.target.References, policy.Reference{Name: bare, Shared: shared})
		}
	}
	return q
}

func compile(t *testing.T, rules []policy.Rule) policy.Rules {
	t.Helper()
	r, err := policy.Compile(rules)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestDecisionTable(t *testing.T) {
	all := questions(t)
	if len(all) < 80 {
		t.Fatalf("only %d questions were read", len(all))
	}
	for _, q := range all {
		d, refusal := policy.Decide(compile(t, q.rules), q.op, q.target)
		got := "allow"
		if refusal != nil {
			got = string(refusal.Reason)
		}
		if got != q.want || d.Rule != q.rule {
			t.Errorf("%s: %s: got %s by %s, want %s by %s", q.table, q.text, got, d.Rule, q.want, q.rule)
		}
		if allowed := refusal == nil; allowed != (d.Verdict == call.Allow) {
			t.Errorf("%s: %s: verdict %s with refusal %v", q.table, q.text, d.Verdict, refusal)
		}
		if d.Effect != q.target.Effect || d.Policy != call.PolicyNotRun {
			t.Errorf("%s: %s: effect %q, policy %q", q.table, q.text, d.Effect, d.Policy)
		}
	}
}

func TestRefusalsNameTheRule(t *testing.T) {
	for _, q := range questions(t) {
		d, refusal := policy.Decide(compile(t, q.rules), q.op, q.target)
		if refusal == nil {
			continue
		}
		if !strings.Contains(refusal.Detail, q.rule) {
			t.Errorf("%s: %s: the detail %q does not name %s", q.table, q.text, refusal.Detail, q.rule)
		}
		if !slices.Equal(d.Reasons, []string{refusal.Detail}) {
			t.Errorf("%s: %s: reasons %q, want the detail", q.table, q.text, d.Reasons)
		}
		if refusal.Row().Stage != call.StagePolicy {
			t.Errorf("%s: %s: stage %s", q.table, q.text, refusal.Row().Stage)
		}
	}
}

// A rule that denies, or asks, only ever takes away: whatever table it is
// added to, no question is allowed that was refused before.
func TestAddingADenyNeverAllowsMore(t *testing.T) {
	all := questions(t)
	var added []policy.Rule
	for _, q := range all {
		added = append(added, q.rules...)
		if !q.target.Process {
			added = append(added, policy.Rule{Action: "mcp." + q.target.Server + ".host." + q.target.ReversedHost})
		}
		added = append(added, policy.Rule{Action: "mcp." + q.target.Server + ".process"})
		for _, ref := range q.target.References {
			added = append(added, policy.Rule{Action: "secret.use." + ref.Name}, policy.Rule{Action: "secret.use." + ref.Name, To: []string{"mcp.wiki.*"}})
		}
	}
	added = distinct(added)
	checked := 0
	for _, q := range all {
		_, before := policy.Decide(compile(t, q.rules), q.op, q.target)
		for _, rule := range added {
			for _, word := range []policy.Word{policy.Deny, policy.Ask} {
				rule.Decision = word
				_, after := policy.Decide(compile(t, append(slices.Clone(q.rules), rule)), q.op, q.target)
				if checked++; before != nil && after == nil {
					t.Fatalf("%s: %s: adding %+v allows it", q.table, q.text, rule)
				}
			}
		}
	}
	if checked < 10_000 {
		t.Errorf("only %d additions were tried", checked)
	}
}

func distinct(rules []policy.Rule) []policy.Rule {
	seen := make(map[string]bool)
	return slices.DeleteFunc(rules, func(r policy.Rule) bool {
		key := r.Action + "\n" + strings.Join(r.To, " ")
		known := seen[key]
		seen[key] = true
		return known
	})
}

func TestTheOrderOfRulesDoesNotMatter(t *testing.T) {
	for _, q := range questions(t) {
		reversed := slices.Clone(q.rules)
		slices.Reverse(reversed)
		a, _ := policy.Decide(compile(t, q.rules), q.op, q.target)
		b, _ := policy.Decide(compile(t, reversed), q.op, q.target)
		if a.Verdict != b.Verdict || a.Rule != b.Rule {
			t.Errorf("%s: %s: %s by %s, reversed %s by %s", q.table, q.text, a.Verdict, a.Rule, b.Verdict, b.Rule)
		}
	}
}

func TestOnlyCallableToolsAreOffered(t *testing.T) {
	for _, q := range questions(t) {
		if q.op != call.OperationToolsCall {
			continue
		}
		if got, want := policy.Offers(compile(t, q.rules), q.target), q.want == "allow"; got != want {
			t.Errorf("%s: %s: offered %v, want %v", q.table, q.text, got, want)
		}
	}
}

func TestZeroValuesRefuse(t *testing.T) {
	whole := policy.Target{Server: "docs", ReversedHost: "com.example", Tool: "search"}
	for name, target := range map[string]policy.Target{
		"zero rules": whole, "zero target": {}, "no host": {Server: "docs", Tool: "t"}, "no server": {ReversedHost: "com", Tool: "t"},
		"a process": {Server: "docs", Process: true, Tool: "t"}, "a resource": {Server: "docs", ReversedHost: "com", Resource: "r"},
	} {
		d, refusal := policy.Decide(policy.Rules{}, call.OperationToolsCall, target)
		if refusal == nil || d.Verdict == call.Allow || policy.Offers(policy.Rules{}, target) {
			t.Errorf("%s is allowed", name)
		}
	}
	everything := compile(t, []policy.Rule{{Action: "mcp.*", Decision: policy.Allow}})
	if _, refusal := policy.Decide(everything, "", whole); refusal == nil {
		t.Error("the zero operation is allowed")
	}
	for name, target := range map[string]policy.Target{"no host": {Server: "docs"}, "no server": {ReversedHost: "com"}, "a host and a process": {Server: "docs", ReversedHost: "com", Process: true}} {
		for _, op := range []call.Operation{call.OperationDiscover, call.OperationClose, call.OperationSetLevel} {
			if _, refusal := policy.Decide(everything, op, target); refusal == nil {
				t.Errorf("%s of %s is allowed by mcp.*", op, name)
			}
		}
	}
	for name, target := range map[string]policy.Target{
		"nothing": {}, "a tool and a prompt": {Tool: "a", Prompt: "a"}, "a tool and a resource": {Tool: "a", Resource: "a"}, "a resource and a prompt": {Resource: "a", Prompt: "a"},
	} {
		target.Server, target.ReversedHost = "docs", "com"
		if policy.Offers(everything, target) {
			t.Errorf("%s is offered by mcp.*", name)
		}
		if _, refusal := policy.Decide(everything, call.OperationToolsCall, target); refusal == nil {
			t.Errorf("calling %s is allowed by mcp.*", name)
		}
	}
}

func TestAskSaysWhatWouldPermitIt(t *testing.T) {
	r := compile(t, []policy.Rule{{Action: "mcp.docs.host.*", Decision: policy.Ask}, {Action: "mcp.docs.process", Decision: policy.Ask}})
	_, refusal := policy.Decide(r, call.OperationDiscover, policy.Target{Server: "docs", ReversedHost: "com.example"})
	if want := "the rule mcp.docs.host.* asks before reaching the server; allow mcp.docs.host.com.example would permit it"; refusal == nil || refusal.Detail != want {
		t.Errorf("got %v, want %s", refusal, want)
	}
	_, refusal = policy.Decide(r, call.OperationDiscover, policy.Target{Server: "docs", Process: true})
	if want := "the rule mcp.docs.process asks before running the server; allow mcp.docs.process would permit it"; refusal == nil || refusal.Detail != want {
		t.Errorf("got %v, want %s", refusal, want)
	}
}

func TestAMissingSharedReferenceSaysWhatTheRuleNeeds(t *testing.T) {
	r := compile(t, []policy.Rule{{Action: "mcp.*", Decision: policy.Allow}})
	target := policy.Target{Server: "docs", ReversedHost: "com.example", References: []policy.Reference{{Name: "key", Shared: true}}}
	_, refusal := policy.Decide(r, call.OperationDiscover, target)
	if want := `no rule allows secret.use.key with "to": ["mcp.docs.*"], which a secret of several servers needs`; refusal == nil || refusal.Detail != want {
		t.Errorf("got %v, want %s", refusal, want)
	}
}

func BenchmarkDecide(b *testing.B) {
	rules := []policy.Rule{{Action: "mcp.docs.host.com.example.mcp", Decision: policy.Allow}, {Action: "mcp.docs.tool.*", Decision: policy.Allow}, {Action: "secret.use.docs-access", Decision: policy.Allow}}
	r, err := policy.Compile(rules)
	if err != nil {
		b.Fatal(err)
	}
	target := policy.Target{Server: "docs", ReversedHost: "com.example.mcp", Tool: "search", References: []policy.Reference{{Name: "docs-access"}}}
	b.ReportAllocs()
	for b.Loop() {
		if _, refusal := policy.Decide(r, call.OperationToolsCall, target); refusal != nil {
			b.Fatal(refusal)
		}
	}
}
