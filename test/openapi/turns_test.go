package openapi_test

import (
	"encoding/base64"
	"strings"
	"testing"
	"time"

	"mcprelay/shared/budget"
	"mcprelay/shared/call"
	"mcprelay/shared/turn"
	"mcprelay/test/kit"
)

// turnID is an id of the turn of a user's calls without a run: a digest that
// says whose it is, then what in a real one is random.
func turnID(subject string) string {
	key := string(turn.KeyOf("acme", string(call.KindUser), subject, ""))
	return "trn_" + key[len("N#"):] + strings.Repeat("A", base64.RawURLEncoding.EncodedLen(48)-len(key)+len("N#"))
}

// opened lets a user have that turn, which offers one tool.
func opened(subject string) func(*testing.T, *kit.Relay) {
	return func(t *testing.T, k *kit.Relay) {
		t.Helper()
		present := turn.Turn{
			ID: turnID(subject), Tenant: "acme", Kind: string(call.KindUser), Subject: subject, Mode: turn.Ask,
			Offers: []turn.Offer{{Server: "up", Tool: "look"}}, Opened: time.Now(), Expires: time.Now().Add(time.Minute),
		}
		if _, err := k.Turns.PutTurn(t.Context(), present.Key(), present); err != nil {
			t.Fatal(err)
		}
	}
}

// seen lets the relay have read what the upstream offers.
func seen(t *testing.T, k *kit.Relay) {
	t.Helper()
	asks := call.Call{Operation: call.OperationDiscover, Server: "up", Face: call.FacePlain, Principal: call.Principal{
		Tenant: "acme", Subject: "ci", Kind: call.KindUser, Scopes: []call.Scope{call.ScopeCall},
	}}
	if _, refusal := k.View(t.Context(), asks); refusal != nil {
		t.Fatal(refusal)
	}
}

// turns is what the paths of turns answer beside, and calls that name one.
func turns() []scenario {
	open, end, tool := requests()["openTurn"], requests()["endTurn"], requests()["callTool"]
	all := []scenario{
		{name: "all tools", operation: "openTurn", status: 201, request: open, arrange: seen},
		{name: "one tool, once", operation: "openTurn", status: 201, arrange: seen,
			request: open.saying(`{"mode":"build","tools":[{"server":"up","tool":"look"}],"single_use":true,"lifetime_ms":1000}`)},
		{name: "a tool that is not shown", operation: "openTurn", status: 403, arrange: seen, request: open.saying(`{"mode":"ask","tools":[{"server":"up","tool":"never"}]}`)},
		{name: "a large body", operation: "openTurn", status: 413, request: open.saying(strings.Repeat(" ", 1<<20+1))},
		{name: "another type", operation: "openTurn", status: 415, request: open.with("Content-Type", "text/plain")},
		{name: "no store", operation: "openTurn", status: 503, request: open, arrange: noTurns},
		{name: "nobody's turn", operation: "endTurn", status: 403, request: end},
		{name: "another caller's turn", operation: "endTurn", status: 403, request: end.at("/v1/turns/" + turnID("other")), arrange: opened("other")},
		{name: "no store", operation: "endTurn", status: 503, request: end, arrange: noTurns},
		{name: "a call of its turn", operation: "callTool", status: 200, request: tool.with("X-Relay-Turn", turnID("ci")), arrange: opened("ci")},
		{name: "a call of another caller's turn", operation: "callTool", status: 403, request: tool.with("X-Relay-Turn", turnID("other")), arrange: opened("other")},
		{name: "no store of turns", operation: "callTool", status: 503, request: tool.with("X-Relay-Turn", turnID("ci")), arrange: noTurns},
		{name: "no turn where one is needed", operation: "callTool", status: 403, request: tool, server: `,"require_turn":"all"`},
	}
	for _, body := range []string{`{`, `[]`, `{}`, `{"mode":"Ask"}`, `{"mode":"ask","more":1}`, `{"mode":"ask","lifetime_ms":3600001}`, `{"mode":"ask","mode":"build"}`} {
		all = append(all, scenario{name: body, operation: "openTurn", status: 400, request: open.saying(body)})
	}
	return all
}

func noTurns(_ *testing.T, k *kit.Relay) { k.Turns.Fail = true }

// limited is what a call is told that is over a limit of its tool, or of its
// class of calls.
func limited() []scenario {
	const classes = `,"budget_classes":{"look":"searches"}`
	tool := requests()["callTool"]
	return []scenario{
		{name: "arguments over the tool's limit", operation: "callTool", status: 413, request: tool, server: `,"limits":{"look":{"max_arguments_bytes":8}}`},
		{name: "a tool's rate", operation: "callTool", status: 429, request: tool, server: `,"limits":{"look":{"per_minute":1}}`,
			arrange: spent(budget.OfTool("acme", "up", "look"), budget.Minute)},
		{name: "a spent budget", operation: "callTool", status: 429, request: tool, server: classes, file: `,"budgets":{"searches":{"per_day":1}}`,
			arrange: spent(budget.Of("acme", "searches"), budget.Day)},
		{name: "no store of counts", operation: "callTool", status: 503, request: tool, server: classes, file: `,"budgets":{"searches":{"per_day":1}}`,
			arrange: func(_ *testing.T, k *kit.Relay) { k.Counters.Fail = true }},
	}
}

// spent takes the one call of a window, and that of the next one, which may have
// begun when the request is made.
func spent(name string, window time.Duration) func(*testing.T, *kit.Relay) {
	return func(t *testing.T, k *kit.Relay) {
		t.Helper()
		for _, at := range []time.Time{time.Now(), time.Now().Add(window)} {
			if _, refusal, err := budget.Take(t.Context(), &k.Counters, name, []budget.Limit{{Window: window, Max: 1}}, at); refusal != nil || err != nil {
				t.Fatal(refusal, err)
			}
		}
	}
}
