package policy_test

import (
	"strings"
	"testing"

	"mcprelay/shared/policy"
)

func TestResourcesAndPromptsAreOfferedByTheirOwnRules(t *testing.T) {
	resource := func(uri string) policy.Target {
		return policy.Target{Server: "docs", ReversedHost: "com.example", Resource: uri}
	}
	prompt := func(name string) policy.Target {
		return policy.Target{Server: "docs", ReversedHost: "com.example", Prompt: name}
	}
	reach := policy.Rule{Action: "mcp.docs.host.*", Decision: policy.Allow}
	for _, c := range []struct {
		name   string
		rules  []policy.Rule
		target policy.Target
		want   bool
	}{
		{"no rule", nil, resource("file:///a.txt"), false},
		{"another server's rule", []policy.Rule{{Action: "mcp.wiki.resource.*", Decision: policy.Allow}}, resource("file:///a.txt"), false},
		{"a tool rule", []policy.Rule{{Action: "mcp.docs.tool.*", Decision: policy.Allow}}, resource("file:///a.txt"), false},
		{"a prompt rule for a resource", []policy.Rule{{Action: "mcp.docs.prompt.*", Decision: policy.Allow}}, resource("a"), false},
		{"a resource rule for a prompt", []policy.Rule{{Action: "mcp.docs.resource.*", Decision: policy.Allow}}, prompt("a"), false},
		{"every resource", []policy.Rule{{Action: "mcp.docs.resource.*", Decision: policy.Allow}}, resource("file:///a.txt"), true},
		{"the exact resource", []policy.Rule{{Action: "mcp.docs.resource.file:///a.txt", Decision: policy.Allow}}, resource("file:///a.txt"), true},
		{"another resource", []policy.Rule{{Action: "mcp.docs.resource.file:///a.txt", Decision: policy.Allow}}, resource("file:///b.txt"), false},
		{"what only begins alike", []policy.Rule{{Action: "mcp.docs.resource.file:///a.*", Decision: policy.Allow}}, resource("file:///ab.txt"), false},
		{"up to a dot", []policy.Rule{{Action: "mcp.docs.resource.file:///a.*", Decision: policy.Allow}}, resource("file:///a.txt"), true},
		{"a denied resource", []policy.Rule{{Action: "mcp.docs.resource.*", Decision: policy.Allow}, {Action: "mcp.docs.resource.file:///a.txt", Decision: policy.Deny}}, resource("file:///a.txt"), false},
		{"a resource that asks", []policy.Rule{{Action: "mcp.docs.resource.*", Decision: policy.Ask}}, resource("file:///a.txt"), false},
		{"a template", []policy.Rule{{Action: "mcp.docs.resource.db:///{table}", Decision: policy.Allow}}, resource("db:///{table}"), true},
		{"a template is no wildcard", []policy.Rule{{Action: "mcp.docs.resource.db:///{table}", Decision: policy.Allow}}, resource("db:///users"), false},
		{"a star in a URI", []policy.Rule{{Action: "mcp.docs.resource.a.b", Decision: policy.Allow}}, resource("a.*"), false},
		{"every prompt", []policy.Rule{{Action: "mcp.docs.prompt.*", Decision: policy.Allow}}, prompt("sum up"), true},
		{"the exact prompt", []policy.Rule{{Action: "mcp.docs.prompt.sum up", Decision: policy.Allow}}, prompt("sum up"), true},
		{"a prompt in another case", []policy.Rule{{Action: "mcp.docs.prompt.sum", Decision: policy.Allow}}, prompt("Sum"), false},
		{"all of the server", []policy.Rule{{Action: "mcp.docs.*", Decision: policy.Allow}}, prompt("sum"), true},
	} {
		if got := policy.Offers(compile(t, append([]policy.Rule{reach}, c.rules...)), c.target); got != c.want {
			t.Errorf("%s: offered %v, want %v", c.name, got, c.want)
		}
		if len(c.rules) > 0 && c.rules[0].Action != "mcp.docs.*" && policy.Offers(compile(t, c.rules), c.target) {
			t.Errorf("%s: offered though the server may not be reached", c.name)
		}
	}
}

// What is offered must be usable, so its secrets count as well.
func TestNothingIsOfferedWithoutItsSecrets(t *testing.T) {
	rules := []policy.Rule{{Action: "mcp.*", Decision: policy.Allow}, {Action: "secret.use.known", Decision: policy.Allow}}
	for ref, want := range map[string]bool{"known": true, "other": false} {
		for name, target := range map[string]policy.Target{"tool": {Tool: "a"}, "resource": {Resource: "a"}, "prompt": {Prompt: "a"}, "process": {Tool: "a", Process: true}} {
			target.Server, target.References = "docs", []policy.Reference{{Name: ref}}
			if !target.Process {
				target.ReversedHost = "com"
			}
			if got := policy.Offers(compile(t, rules), target); got != want {
				t.Errorf("%s with %s: offered %v, want %v", name, ref, got, want)
			}
		}
	}
}

// A server may name a resource as it likes, at any length.
func TestLongNamesMatchTheRulesThatTheyCanMatch(t *testing.T) {
	long := strings.Repeat("a.", 4000)
	for name, c := range map[string]struct {
		rule string
		want bool
	}{
		"every resource":          {"mcp.docs.resource.*", true},
		"the first words":         {"mcp.docs.resource." + strings.Repeat("a.", 240) + "*", true},
		"the longest rule":        {"mcp.docs.resource." + strings.Repeat("a.", 246) + "*", true},
		"other words":             {"mcp.docs.resource." + strings.Repeat("a.", 200) + "b.*", false},
		"the beginning of a word": {"mcp.docs.resource." + strings.Repeat("a.", 200) + "aa.*", false},
		"its first words exactly": {"mcp.docs.resource." + strings.Repeat("a.", 200) + "a", false},
	} {
		r := compile(t, []policy.Rule{{Action: "mcp.docs.host.*", Decision: policy.Allow}, {Action: c.rule, Decision: policy.Allow}})
		if got := policy.Offers(r, policy.Target{Server: "docs", ReversedHost: "com.example", Resource: long}); got != c.want {
			t.Errorf("%s: offered %v, want %v", name, got, c.want)
		}
	}
}
