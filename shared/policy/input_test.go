package policy_test

import (
	"encoding/json"
	"strings"
	"testing"
	"testing/synctest"

	"mcprelay/shared/call"
	"mcprelay/shared/policy"
)

func TestTheInputDocument(t *testing.T) {
	full := policy.Input{
		Subject: "agent-7", Kind: "service_token", Scopes: []string{"call", "audit:read"}, Backend: "docs", Tool: "search", Method: "tools/call",
		Params: json.RawMessage(`{"name":"docs__search","arguments":{"q":"a<b","big":9007199254740993,"exact":1.10,"e":1E3}}`),
		Tenant: "acme", Run: "run-1", Turn: "trn_1", Effect: call.EffectRead, Metadata: json.RawMessage(`{"owner":"team"}`), BudgetClass: "cheap",
	}
	for want, in := range map[string]policy.Input{
		`{"auth":{"subject":"agent-7","issuer":"","kind":"service_token","scopes":["call","audit:read"]},` +
			`"gateway":{"backend":"docs","upstream_tool":"search","upstream_uri":"","upstream_prompt":""},` +
			`"request":{"method":"tools/call","params":{"name":"docs__search","arguments":{"q":"a<b","big":9007199254740993,"exact":1.10,"e":1E3}}},` +
			`"schema_version":1,` +
			`"relay":{"tenant":"acme","run":"run-1","turn":"trn_1","effect":"read","metadata":{"owner":"team"},"budget_class":"cheap"}}`: full,
		`{"auth":{"subject":"","issuer":"","kind":"","scopes":[]},"gateway":{"backend":"","upstream_tool":"","upstream_uri":"","upstream_prompt":""},` +
			`"request":{"method":"","params":{}},"schema_version":1,` +
			`"relay":{"tenant":"","run":"","turn":"","effect":"write","metadata":{},"budget_class":""}}`: {},
	} {
		got, err := in.Document()
		if err != nil || string(got) != want {
			t.Errorf("got  %s (%v)\nwant %s", got, err, want)
		}
	}
	if _, err := (policy.Input{Params: json.RawMessage("{")}).Document(); err == nil {
		t.Error("params that are not JSON are accepted")
	}
}

// What a policy compares is what the agent wrote.
func TestNumbersAreExact(t *testing.T) {
	for condition, holds := range map[string]bool{
		"n == 9007199254740993": true, "n == 9007199254740992": false, "n > 9007199254740992": true,
		"m == 0.1": true, "m == 0.10000000000000001": false, "h == 1000": true,
		`sprintf("%v", [[m]]) == "[0.10]"`: true,
	} {
		e := engine(t, policy.Source{Name: "p", Text: "package chalk.policy\nn := input.request.params.n\nm := input.request.params.m\nh := input.request.params.h\ndeny contains \"x\" if " + condition})
		synctest.Test(t, func(t *testing.T) {
			o := e.Evaluate(t.Context(), policy.Input{Params: json.RawMessage(`{"n":9007199254740993,"m":0.10,"h":1e3}`)})
			if got := o.Verdict == call.PolicyDeny; got != holds || o.Err != nil {
				t.Errorf("%s: got %v (%v), want %v", condition, got, o.Err, holds)
			}
		})
	}
}

// The scopes of the caller are not the document's to change.
func TestTheDocumentIsACopy(t *testing.T) {
	in := policy.Input{Scopes: []string{"call"}, Params: json.RawMessage(`{"a":1}`)}
	doc, err := in.Document()
	if err != nil {
		t.Fatal(err)
	}
	copy(doc, strings.Repeat("x", len(doc)))
	if in.Scopes[0] != "call" || string(in.Params) != `{"a":1}` {
		t.Errorf("got %v", in)
	}
}
