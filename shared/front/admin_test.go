package front_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"mcprelay/shared/call"
	"mcprelay/shared/relay"
)

const simulatePath = "/v1/admin/simulate"

func TestASimulationIsForOperatorsOnly(t *testing.T) {
	f, k := newFront(t, false)
	const question = `{"subject":"ci","server":"up","tool":"look"}`
	for _, test := range []struct {
		authorization string
		status        int
		challenge     string
	}{
		{"Bearer reader", 200, ""},
		{"Bearer good", 403, `scope="admin:read"`},
		{"Bearer other", 401, `scope="admin:read"`},
		{"", 401, `scope="admin:read"`},
	} {
		w := ask(f, "POST", simulatePath, question, "Authorization", test.authorization)
		if w.Code != test.status || !strings.Contains(w.Header().Get("WWW-Authenticate"), test.challenge) {
			t.Errorf("%s: got %d, %s", test.authorization, w.Code, w.Header().Get("WWW-Authenticate"))
		}
		if test.status != 200 && strings.Contains(w.Body.String(), "explanation") {
			t.Errorf("%s: %s", test.authorization, w.Body)
		}
	}
	w := ask(f, "GET", simulatePath, "", "Authorization", "Bearer reader")
	if w.Code != 405 || w.Header().Get("Allow") != "POST" {
		t.Errorf("GET: %d, Allow %s", w.Code, w.Header().Get("Allow"))
	}
	if k.Requests.Load() != 0 {
		t.Error("the upstream was reached")
	}
}

func TestASimulationIsAnsweredWhole(t *testing.T) {
	f, k := newFront(t, false)
	w := ask(f, "POST", simulatePath, `{"subject":"somebody","server":"up","tool":"edit","arguments":{"n":1.0}}`, "Authorization", "Bearer reader")
	var got struct {
		CallID string `json:"call_id"`
		relay.Simulation
	}
	if err := json.Unmarshal(w.Body.Bytes(), &got); err != nil || w.Code != 200 {
		t.Fatalf("%d, %v: %s", w.Code, err, w.Body)
	}
	if got.CallID == "" || got.Decision != call.Allow || got.Effect != call.EffectWrite || got.Rule != "mcp.up.tool.*" ||
		!strings.Contains(string(got.Input), `"upstream_tool":"change"`) || !strings.Contains(string(got.Input), `{"n":1.0}`) {
		t.Errorf("got %s", w.Body)
	}
	for _, member := range []string{`"enforced":[]`, `"audited":[]`, `"turn_required":false`, `"policy":"not_run"`, `"warnings":["what server up offers`} {
		if !strings.Contains(w.Body.String(), member) {
			t.Errorf("%s is not in %s", member, w.Body)
		}
	}
	if intents, finals := k.Recorder.Written(); intents+finals != 0 {
		t.Errorf("%d intents and %d finals", intents, finals)
	}
}

func TestAnOperatorIsToldWhatIsWrongWithAQuestion(t *testing.T) {
	f, k := newFront(t, false)
	for _, test := range []struct{ body, want string }{
		{`{"subject":"ci","server":"up"}`, "one of tool, resource and prompt is needed"},
		{`{"subject":"ci","server":"up","tool":"look","sever":"x"}`, `there is no member \"sever\" here`},
		{`{"subject":"ci","server":"up","tool":"look","policies":[{"name":"p","source":"package mcprelay.policy\ndeny contains"}]}`, "policy p:2:"},
	} {
		w := ask(f, "POST", simulatePath, test.body, "Authorization", "Bearer reader")
		if w.Code != 400 || !strings.Contains(w.Body.String(), `"explanation":"`) || !strings.Contains(w.Body.String(), test.want) {
			t.Errorf("%s: %d %s", test.body, w.Code, w.Body)
		}
	}
	if w := ask(f, "POST", simulatePath, `{`, "Authorization", "Bearer reader"); w.Code != 400 {
		t.Errorf("no JSON: %d", w.Code)
	}
	k.Registry.Registration, k.Registry.Err = nil, errors.New("the store is down")
	if w := ask(f, "POST", simulatePath, `{"subject":"ci","server":"up","tool":"look"}`, "Authorization", "Bearer reader"); w.Code != 503 {
		t.Errorf("without a registration: %d %s", w.Code, w.Body)
	}
}
