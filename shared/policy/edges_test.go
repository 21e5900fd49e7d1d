package policy_test

import (
	"strings"
	"testing"

	"mcprelay/shared/call"
	"mcprelay/shared/policy"
)

// A bound is kept at its very edge.
func TestBoundsOfSourcesAtTheirEdges(t *testing.T) {
	fill := policy.MaxSource - len(head)
	steps := func(n int) string { return head + "r if {\n" + strings.Repeat("input.a\n", n) + "}" }
	for name, c := range map[string]struct {
		text string
		fits bool
	}{
		"bytes":      {head + strings.Repeat(" ", fill), true},
		"bytes more": {head + strings.Repeat(" ", fill+1), false},
		"steps":      {steps(policy.MaxSteps), true},
		"steps more": {steps(policy.MaxSteps + 1), false},
	} {
		if _, _, err := policy.NewEngine([]policy.Source{{Name: "p", Text: c.text}}); (err == nil) != c.fits {
			t.Errorf("%s: %.200v", name, err)
		}
	}
}

// An operation is allowed by the rule of what it is about, and by no other.
func TestAnOperationNeedsWhatItIsAbout(t *testing.T) {
	rules, err := policy.Compile([]policy.Rule{{Action: "mcp.*", Decision: policy.Allow}})
	if err != nil {
		t.Fatal(err)
	}
	server := policy.Target{Server: "docs", ReversedHost: "com.example"}
	tool, resource, prompt := server, server, server
	tool.Tool, resource.Resource, prompt.Prompt = "find", "file:///a", "sum"
	for _, c := range []struct {
		op   call.Operation
		fits []policy.Target
	}{
		{call.OperationToolsCall, []policy.Target{tool}}, {call.OperationResourcesRead, []policy.Target{resource}},
		{call.OperationPromptsGet, []policy.Target{prompt}}, {call.OperationComplete, []policy.Target{resource, prompt}},
	} {
		for _, target := range []policy.Target{server, tool, resource, prompt} {
			want := false
			for _, one := range c.fits {
				want = want || one.Tool == target.Tool && one.Resource == target.Resource && one.Prompt == target.Prompt
			}
			if _, refusal := policy.Decide(rules, c.op, target); (refusal == nil) != want {
				t.Errorf("%s about %+v: got %v", c.op, target, refusal)
			}
		}
	}
}

// A sprintf is held to its bounds wherever it stands.
func TestFormatsWithinOtherTermsAreWrittenOut(t *testing.T) {
	for _, use := range []string{`x := [sprintf("%1000000d", [1])]`, `x := {"a": sprintf("%*d", [9, 1])}`, `count(sprintf("%1000000d", [1])) > 0`, `x := {y | y := sprintf("%[1]s", [1])}`} {
		if _, _, err := policy.NewEngine([]policy.Source{{Name: "p", Text: head + "r if { " + use + " }"}}); err == nil || !strings.Contains(err.Error(), "sprintf") {
			t.Errorf("%s: got %v", use, err)
		}
	}
}
