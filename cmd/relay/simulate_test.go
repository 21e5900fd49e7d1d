package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"mcprelay/shared/call"
	"mcprelay/shared/relay"
)

// desk is a folder with a config file: one server with one tool, one rule that
// lacks, and one policy that is off.
type desk struct{ dir string }

func newDesk(t *testing.T) desk {
	t.Helper()
	d := desk{t.TempDir()}
	d.write(t, "relay.json", `{"tenant":"acme","servers":[{"name":"up","config":{"endpoint":"https://up.example.com/mcp","allowed_tools":["look"],"effects":{"look":"read"}}}],
		"rules":[{"action":"mcp.up.host.com.example.up","decision":"allow"},{"action":"mcp.up.tool.*","decision":"allow"}],
		"policies":[{"name":"people","enabled":false,"mode":"audit","source":"package mcprelay.policy\ndeny[msg] { input.auth.kind != \"user\"; msg := \"people only\" }"}]}`)
	return d
}

func (d desk) write(t *testing.T, name, text string) string {
	t.Helper()
	path := filepath.Join(d.dir, name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func (d desk) run(args ...string) (string, bool) {
	return said(append(args, "--config", filepath.Join(d.dir, "relay.json"), "--data", filepath.Join(d.dir, "data"))...)
}

// ask simulates and reads the answer.
func (d desk) ask(t *testing.T, args ...string) (s relay.Simulation) {
	t.Helper()
	out, failed := d.run(append([]string{"simulate", "--json", "--subject", "ci", "--server", "up"}, args...)...)
	if err := json.Unmarshal([]byte(out), &s); err != nil || failed {
		t.Fatalf("%v: %s", err, out)
	}
	return s
}

func TestSimulateSaysWhatEveryFlagComesTo(t *testing.T) {
	d := newDesk(t)
	people := d.write(t, "people.rego", "package mcprelay.policy\n\ndeny contains sprintf(\"%v %v %v\", [input.auth.kind, input.auth.scopes, input.relay.run]) if input.auth.kind != \"user\"\n")
	for _, test := range []struct {
		args     []string
		decision call.Verdict
		reason   call.Reason
		enforced string
	}{
		{[]string{"--tool", "look"}, call.Allow, "", ""},
		{[]string{"--prompt", "greet"}, call.Deny, call.NoRule, ""},
		{[]string{"--resource", "file:///a"}, call.Deny, call.NoRule, ""},
		{[]string{"--tool", "look", "--policy", people}, call.Deny, call.DeniedByPolicy, `service_token ["call"] `},
		{[]string{"--tool", "look", "--policy", people, "--kind", "other", "--scopes", "call,admin:read", "--run", "r1"}, call.Deny, call.DeniedByPolicy, `other ["call", "admin:read"] r1`},
		{[]string{"--tool", "look", "--policy", people, "--scopes", ""}, call.Deny, call.InsufficientScope, ""},
		{[]string{"--tool", "look", "--policy", people, "--kind", "user"}, call.Allow, "", ""},
	} {
		s := d.ask(t, test.args...)
		if s.Decision != test.decision || s.Reason != test.reason || strings.Join(s.Enforced, "|") != test.enforced {
			t.Errorf("%v: %s, %s, %q", test.args, s.Decision, s.Reason, s.Enforced)
		}
	}
	if s := d.ask(t, "--tool", "look", "--arguments", `{"n":1.0}`); !strings.Contains(string(s.Input), `"arguments":{"n":1.0}`) {
		t.Errorf("input %s", s.Input)
	}
	if s := d.ask(t, "--prompt", "greet"); s.Missing != "mcp.up.prompt.greet" || s.Rule != "" {
		t.Errorf("rule %q, missing %q", s.Rule, s.Missing)
	}
	if trail, _ := d.run("audit", "--json"); strings.Contains(trail, "call_id") {
		t.Errorf("simulations were recorded: %s", trail)
	}
}

func TestAQuestionThatMakesNoSenseIsAUsageError(t *testing.T) {
	d := newDesk(t)
	odd := d.write(t, "odd.rego", "package mcprelay.policy\n\ndeny contains")
	large := d.write(t, "large.rego", strings.Repeat("#", 257<<10))
	for _, test := range []struct {
		want string
		args []string
	}{
		{"subject", []string{"--server", "up", "--tool", "look"}},
		{"server", []string{"--subject", "ci", "--tool", "look"}},
		{"one of tool, resource and prompt", []string{"--subject", "ci", "--server", "up"}},
		{"one of tool, resource and prompt", []string{"--subject", "ci", "--server", "up", "--tool", "look", "--prompt", "greet"}},
		{"kind", []string{"--subject", "ci", "--server", "up", "--tool", "look", "--kind", "root"}},
		{"scope", []string{"--subject", "ci", "--server", "up", "--tool", "look", "--scopes", "all"}},
		{"arguments", []string{"--subject", "ci", "--server", "up", "--tool", "look", "--arguments", "{"}},
		{"policy odd:3:", []string{"--subject", "ci", "--server", "up", "--tool", "look", "--policy", odd}},
		{"larger than", []string{"--subject", "ci", "--server", "up", "--tool", "look", "--policy", large}},
		{"no such file", []string{"--subject", "ci", "--server", "up", "--tool", "look", "--policy", odd + ".not"}},
	} {
		if out, failed := d.run(append([]string{"simulate"}, test.args...)...); !failed || !strings.Contains(out, test.want) {
			t.Errorf("%v: failed %t, %s, want %s", test.args, failed, out, test.want)
		}
	}
}

func TestPoliciesAreListedWithWhatIsDoubtful(t *testing.T) {
	d := newDesk(t)
	out, failed := d.run("policies", "list")
	if failed || !strings.Contains(out, "people  false    audit  2      ") || !strings.Contains(out, "warning: ") || !strings.Contains(out, "Rego v0") {
		t.Errorf("failed %t: %s", failed, out)
	}
	out, _ = d.run("policies", "list", "--json")
	var line policyLine
	if err := json.Unmarshal([]byte(out), &line); err != nil || line.Name != "people" || line.Enabled || line.Mode != "audit" || line.Lines != 2 {
		t.Errorf("%v: %s", err, out)
	}
}

func TestCasesThatDifferAreATableAndAFailure(t *testing.T) {
	d := newDesk(t)
	const question = `"question":{"subject":"ci","kind":"user","server":"up","tool":"look"}`
	for _, test := range []struct {
		want    string
		differs string // what the table says of it; empty where nothing differs
	}{
		{`{"decision":"allow"}`, ""},
		{`{"decision":"allow","policy":"not_run","reason":"","rule":"mcp.up.tool.*","missing_rule":"","enforced":[],"audited":[],"turn_required":false}`, ""},
		{`{"decision":"deny"}`, "decision deny allow"},
		{`{"decision":"allow","policy":"allow"}`, "policy allow not_run"},
		{`{"decision":"allow","reason":"no_rule"}`, "reason no_rule -"},
		{`{"decision":"allow","rule":""}`, "rule - mcp.up.tool.*"},
		{`{"decision":"allow","missing_rule":"a.b"}`, "missing_rule a.b -"},
		{`{"decision":"allow","enforced":["b","a"]}`, `enforced ["a" "b"] -`},
		{`{"decision":"allow","audited":["a"]}`, `audited ["a"] -`},
		{`{"decision":"allow","turn_required":true}`, "turn_required true false"},
	} {
		cases := d.write(t, "cases.json", fmt.Sprintf(`{"cases":[{"name":"first",%s,"want":{"decision":"allow"}},{"name":"second",%s,"want":%s}]}`, question, question, test.want))
		out, failed := d.run("policies", "test", cases)
		out = strings.Join(strings.Fields(out), " ")
		want := "relay: 2 cases, all as expected"
		if test.differs != "" {
			want = "CASE MEMBER WANT GOT second " + test.differs + " relay: 1 of 2 cases differ"
		}
		if out != want || failed != (test.differs != "") {
			t.Errorf("%s: failed %t\n got %s\nwant %s", test.want, failed, out, want)
		}
	}
}

func TestAFileOfCasesIsReadStrictly(t *testing.T) {
	d := newDesk(t)
	const question = `"question":{"subject":"ci","server":"up","tool":"look"}`
	for _, text := range []string{
		``, `[]`, `{}`, `{"cases":[]}`, `{"cases":{}}`, `{"cases":[7]}`, `{"cases":[{` + question + `}]}`, `{"cases":[{"want":{"decision":"allow"}}]}`,
		`{"cases":[{` + question + `,"want":{}}]}`, `{"cases":[{` + question + `,"want":{"decision":"maybe"}}]}`,
		`{"cases":[{` + question + `,"want":{"decision":"allow","resaon":""}}]}`, `{"cases":[{` + question + `,"wants":{"decision":"allow"}}]}`,
		`{"cases":[{` + question + `,"want":{"decision":"allow"}}],"more":1}`,
		`{"cases":[{"question":{"subject":"ci","server":"up","tool":"look","turn":"trn_x"},"want":{"decision":"allow"}}]}`,
		`{"cases":[{"question":{"subject":"ci","server":"up","tool":"look","policies":[{"name":"p","source":"nothing"}]},"want":{"decision":"allow"}}]}`,
	} {
		if out, failed := d.run("policies", "test", d.write(t, "cases.json", text)); !failed {
			t.Errorf("%s passed: %s", text, out)
		}
	}
	if _, failed := d.run("policies", "test", filepath.Join(d.dir, "none.json")); !failed {
		t.Error("a file that is not there passed")
	}
}
