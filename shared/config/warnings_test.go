package config_test

import (
	"strings"
	"testing"

	"mcprelay/shared/config"

	"github.com/google/go-cmp/cmp"
)

// warned is a file of three servers with what a test adds: docs has exact tools
// and shares a token with wiki, work is a child process.
func warned(changes ...any) object {
	docs := with(tools("auth", object{"type": "bearer", "token_ref": "shared"}, "bindings", object{"get": "fetch"}, "budget_classes", object{"get": "data.get"}), "secrets", object{"shared": "SHARED", "unused": "UNUSED"})
	wiki := with(entry("wiki", "endpoint", "https://wiki.example.com/mcp", "auth", object{"type": "bearer", "token_ref": "shared"}, "bindings", object{"find": "search"}), "secrets", object{"shared": "SHARED"})
	work := with(child("work", "env", object{"TOKEN": "work.key"}), "secrets", object{"work.key": "WORK"})
	return file([]any{docs, wiki, work}, append([]any{"budgets", object{"data.get": object{"per_day": 1}}}, changes...)...)
}

// warnings are those of a usable file, without its name.
func warnings(t *testing.T, f object) []string {
	t.Helper()
	var lines []string
	for _, line := range read(t, f, config.Options{Processes: true}).Warnings {
		rest, ok := strings.CutPrefix(line, "relay.json: ")
		if !ok {
			t.Errorf("%q does not begin with the file", line)
		}
		lines = append(lines, rest)
	}
	return lines
}

func TestRulesThatNeverDecideAreWarnedOf(t *testing.T) {
	const nothing = "it matches nothing: "
	for action, want := range map[string]string{
		"mcp.*": "", "mcp.docs.*": "", "mcp.docs.host.*": "", "mcp.docs.host.com.example.mcp": "", "mcp.docs.host.com.*": "", "mcp.docs.tool.*": "", "mcp.docs.tool.get": "",
		"mcp.wiki.tool.anything": "", "mcp.wiki.tool.any.*": "", "mcp.docs.resource.x": "", "mcp.docs.prompt.x": "", "mcp.work.process": "", "mcp.work.process.*": "",
		"secret.*": "", "secret.use.*": "", "secret.use.work.key": "", "secret.use.work.*": "",
		"mcp.dosc.*":                nothing + "no server has this name",
		"mcp.dosc.tool.get":         nothing + "no server has this name",
		"mcp.docs.host.com.example": nothing + "the server is reached by mcp.docs.host.com.example.mcp",
		"mcp.docs.host.mcp.*":       nothing + "the server is reached by mcp.docs.host.com.example.mcp",
		"mcp.docs.process":          nothing + "the server is reached by mcp.docs.host.com.example.mcp",
		"mcp.work.host.com.example": nothing + "the server is reached by mcp.work.process",
		"mcp.docs.tool.del":         nothing + "allowed_tools has no such tool",
		"mcp.docs.tool.get.*":       "",
		"mcp.docs.tool.ge.*":        nothing + "allowed_tools has no such tool",
		"mcp.docs.tool.fetch":       "it is the name that the tool is offered under: rules use the server's own name of it",
		"mcp.wiki.tool.search":      "it is the name that the tool is offered under: rules use the server's own name of it",
		"secret.use.unused":         nothing + "no server refers to this secret",
		"secret.use.other":          nothing + "no server refers to this secret",
		"secret.use.shared":         `it allows nothing: several servers have this secret, which needs "to"`,
		"secret.use.work":           nothing + "no server refers to this secret",
	} {
		got := warnings(t, warned("rules", []any{object{"action": "mcp.docs.*", "decision": "ask"}, object{"action": action, "decision": "allow"}}))
		var all []string
		if want != "" {
			all = []string{"rules[1].action: " + want}
		}
		if action == "mcp.docs.*" {
			all = []string{"rules[1].action: it never decides: a rule of the same action goes before it"}
		}
		if diff := cmp.Diff(all, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", action, diff)
		}
	}
}

func TestRulesOfOneActionAreWarnedOf(t *testing.T) {
	rule := func(action, decision string, to ...any) object {
		r := object{"action": action, "decision": decision}
		if to != nil {
			r["to"] = to
		}
		return r
	}
	const stricter, before = ".action: it never decides: a stricter rule has the same action", ".action: it never decides: a rule of the same action goes before it"
	for name, c := range map[string]struct {
		rules, want []string
	}{
		"deny after allow": {[]string{"allow", "deny"}, []string{"rules[0]" + stricter}},
		"allow after deny": {[]string{"deny", "allow"}, []string{"rules[1]" + before}},
		"twice":            {[]string{"ask", "ask"}, []string{"rules[1]" + before}},
		"all three":        {[]string{"ask", "allow", "deny"}, []string{"rules[1]" + before, "rules[0]" + stricter}},
	} {
		var rules []any
		for _, decision := range c.rules {
			rules = append(rules, rule("mcp.docs.tool.get", decision))
		}
		if diff := cmp.Diff(c.want, warnings(t, warned("rules", rules))); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
	limited := []any{rule("secret.use.shared", "allow", "mcp.docs.*"), rule("secret.use.shared", "deny", "mcp.wiki.*"), rule("secret.use.shared", "allow", "mcp.docs.*", "mcp.dosc.*")}
	if diff := cmp.Diff([]string{"rules[2].to[1]: no server has this name"}, warnings(t, warned("rules", limited))); diff != "" {
		t.Errorf("rules of different servers (-want +got):\n%s", diff)
	}
}

func TestUnknownNamesAreWarnedOf(t *testing.T) {
	for name, c := range map[string]struct {
		file object
		want []string
	}{
		"nothing":                              {warned(), nil},
		"an agent's server":                    {warned("agents", []any{object{"subject": "ci", "servers": []any{"docs", "wkii"}}}), []string{"agents[0].servers[1]: no server has this name"}},
		"a budget of no tool":                  {warned("budgets", object{"data.get": object{"per_day": 1}, "x": object{"per_day": 1}}), []string{"budgets.x: no tool has this budget class"}},
		"a tool of no budget":                  {warned("budgets", object{}), []string{"servers[0].config.budget_classes.get: there are no budgets: the calls of this class are not counted"}},
		"an issuer's subject for the tenant's": {warned("agents", []any{object{"subject": "ci", "issuer": "https://login.example.com"}}, "issuers", []any{issuer("subjects", object{"a": "ci"})}), []string{"issuers[0].subjects.a: agents has no entry for this subject, so nothing narrows it"}},
		"callers that nothing narrows":         {warned("agents", []any{object{"subject": "ci"}}, "issuers", []any{issuer()}), []string{"issuers[0].issuer: agents has no entry with this issuer, so nothing narrows its callers"}},
		"callers of whom one is narrowed":      {warned("agents", []any{object{"subject": "ci", "issuer": "https://login.example.com"}}, "issuers", []any{issuer()}), nil},
		"callers where nobody is narrowed":     {warned("issuers", []any{issuer()}), nil},
		"a subject of nobody":                  {warned("agents", []any{object{"subject": "ci"}}, "issuers", []any{issuer("subjects", object{"a": "ci", "b": "cl"})}), []string{"issuers[0].subjects.b: agents has no entry for this subject, so nothing narrows it"}},
		"subjects, no agents":                  {warned("issuers", []any{issuer("subjects", object{"a": "ci"})}), nil},
		"a policy of the past":                 {warned("policies", []any{rego("p", "package chalk.policy\n\ndeny[msg] {\n\tinput.relay.run == \"\"\n\tmsg := \"no run\"\n}\n")}), []string{"policies[0].source: it is written in Rego v0: write it in v1, for instance with opa fmt --v0-v1"}},
	} {
		if diff := cmp.Diff(c.want, warnings(t, c.file)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

// A file that has everything is one that nobody is warned of.
func TestTheWholeShapeHasNoWarnings(t *testing.T) {
	c, err := config.Load("testdata/relay.json", config.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if len(c.Warnings) != 0 {
		t.Errorf("warnings:\n%s", strings.Join(c.Warnings, "\n"))
	}
}

func TestWarningsAreBounded(t *testing.T) {
	var agents []any
	for i := range 100 {
		agents = append(agents, object{"subject": strings.Repeat("a", i+1), "servers": []any{"none"}})
	}
	if got := warnings(t, file([]any{}, "agents", agents)); len(got) != 20 {
		t.Errorf("%d warnings, want 20", len(got))
	}
}
