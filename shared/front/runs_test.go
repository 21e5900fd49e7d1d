package front_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"mcprelay/test/kit"
)

func TestARunIsClosedByItsOwner(t *testing.T) {
	f, k := newFront(t, false)
	k.Legacy, k.Sessions.Keep = true, true
	ended := ""
	k.Deletes = func(_ http.ResponseWriter, r *http.Request) { ended = r.Header.Get("Mcp-Session-Id") }
	k.Answer = func(w http.ResponseWriter, _ *http.Request, body map[string]json.RawMessage) {
		w.Header().Set("Mcp-Session-Id", "the-session")
		kit.Result(w, body, `{"protocolVersion":"2025-11-25","capabilities":{},"serverInfo":{"name":"s","version":"1"},"content":[]}`)
	}
	if w := ask(f, "POST", "/v1/servers/up/tools/look", `{"arguments":{}}`, "X-Relay-Run", "run/1"); w.Code != 200 {
		t.Fatalf("the call: %d %s", w.Code, w.Body)
	}
	w := ask(f, "DELETE", "/v1/runs/run%2F1", "")
	if w.Code != 200 || strings.TrimSpace(w.Body.String()) != `{"closed":1,"failed":0,"run":"run/1"}` || ended != "the-session" {
		t.Errorf("got %d %s, ended %q", w.Code, w.Body, ended)
	}
	if w := ask(f, "DELETE", "/v1/runs/run%2F1", ""); w.Code != 200 || !strings.Contains(w.Body.String(), `"closed":0`) {
		t.Errorf("the second time: %d %s", w.Code, w.Body)
	}
}

func TestARunIsClosedByNobodyElse(t *testing.T) {
	f, k := newFront(t, false)
	for _, test := range []struct {
		name, method, path string
		headers            []string
		status             int
	}{
		{"no credential", "DELETE", "/v1/runs/one", []string{"Authorization", ""}, 401},
		{"no scope", "DELETE", "/v1/runs/one", []string{"Authorization", "Bearer reader"}, 403},
		{"another method", "POST", "/v1/runs/one", nil, 405},
		{"a foreign origin", "DELETE", "/v1/runs/one", []string{"Origin", "https://evil.example"}, 403},
		{"a circle", "DELETE", "/v1/runs/one", []string{"Via", "1.1 mcprelay"}, 508},
		{"a name too long", "DELETE", "/v1/runs/" + strings.Repeat("x", 129), nil, 400},
		{"a name with a line break", "DELETE", "/v1/runs/a%0Ab", nil, 400},
	} {
		w := ask(f, test.method, test.path, "", test.headers...)
		if w.Code != test.status || !strings.Contains(w.Body.String(), `"reason"`) {
			t.Errorf("%s: got %d %s, want %d", test.name, w.Code, w.Body, test.status)
		}
	}
	if w := ask(f, "POST", "/v1/runs/one", ""); w.Header().Get("Allow") != "DELETE" {
		t.Errorf("Allow %q, want DELETE", w.Header().Get("Allow"))
	}
	k.Sessions.Fail = true
	if w := ask(f, "DELETE", "/v1/runs/one", ""); w.Code != 503 || !strings.Contains(w.Body.String(), "sessions_unavailable") {
		t.Errorf("without a store: %d %s", w.Code, w.Body)
	}
	if k.Requests.Load() != 0 {
		t.Errorf("the upstream saw %d requests", k.Requests.Load())
	}
}

func TestListsOfAServerAreShownAsTheRulesSay(t *testing.T) {
	f, k := newFront(t, false)
	k.Lists = func(w http.ResponseWriter, _ *http.Request, body map[string]json.RawMessage) {
		kit.Result(w, body, `{"resultType":"complete","tools":[{"name":"look","inputSchema":{"n":1.0}},{"name":"never","inputSchema":{}},{"inputSchema":{}, "name":"change"}]}`)
	}
	w := ask(f, "GET", "/v1/servers/up/tools", "", "Content-Type", "")
	if want := `"tools":[{"inputSchema":{}, "name":"edit"},{"name":"look","inputSchema":{"n":1.0}}]}`; w.Code != 200 || !strings.HasSuffix(w.Body.String(), want) {
		t.Errorf("got %d %s, want %s", w.Code, w.Body, want)
	}
	for path, status := range map[string]int{"/v1/servers/other/tools": 404, "/v1/servers/up/files": 404} {
		if w := ask(f, "GET", path, ""); w.Code != status {
			t.Errorf("%s: %d, want %d", path, w.Code, status)
		}
	}
	if w := ask(f, "GET", "/v1/servers/up/tools", "", "Authorization", ""); w.Code != 401 {
		t.Errorf("without a credential: %d, want 401", w.Code)
	}
}

func TestResourcesAndPromptsNeedTheirOwnRules(t *testing.T) {
	f, k := newFront(t, false)
	k.Answer = func(w http.ResponseWriter, _ *http.Request, body map[string]json.RawMessage) {
		switch string(body["method"]) {
		case `"resources/list"`:
			kit.Result(w, body, `{"resultType":"complete","resources":[{"uri":"file:///a","name":"a"}]}`)
		case `"resources/templates/list"`:
			kit.Result(w, body, `{"resultType":"complete","resourceTemplates":[{"uriTemplate":"file:///{x}","name":"x"}]}`)
		default:
			kit.Result(w, body, `{"resultType":"complete","prompts":[{"name":"p"}]}`)
		}
	}
	for path, want := range map[string]string{
		"/v1/servers/up/resources": `"resources":[],"resource_templates":[]}`,
		"/v1/servers/up/prompts":   `"prompts":[]}`,
	} {
		if w := ask(f, "GET", path, ""); w.Code != 200 || !strings.HasSuffix(w.Body.String(), want) {
			t.Errorf("%s: got %d %s, want %s", path, w.Code, w.Body, want)
		}
	}
}
