package front_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"mcprelay/shared/policy"
	"mcprelay/shared/secret"
	"mcprelay/test/kit"
)

// listing answers an upstream of 2025-11-25 by method; no result is an error.
func listing(results map[string]string) kit.Answer {
	return func(w http.ResponseWriter, _ *http.Request, body map[string]json.RawMessage) {
		if body["id"] == nil {
			w.WriteHeader(http.StatusAccepted)
			return
		}
		result := results[strings.Trim(string(body["method"]), `"`)]
		if result == "" {
			http.Error(w, "down", http.StatusInternalServerError)
			return
		}
		kit.Result(w, body, result)
	}
}

func whole() map[string]string {
	return map[string]string{
		"initialize":               `{"protocolVersion":"2025-11-25","serverInfo":{"name":"up","version":"1"},"capabilities":{"tools":{},"resources":{},"prompts":{}}}`,
		"tools/list":               `{"tools":[{"name":"never","inputSchema":{}},{"name":"look","inputSchema":{"n":1.0}}]}`,
		"resources/list":           `{"resources":[{"uri":"file:///b","name":"b"},{"uri":"file:///a","name":"a"}]}`,
		"resources/templates/list": `{"resourceTemplates":[{"uriTemplate":"file:///{x}","name":"x"}]}`,
		"prompts/list":             `{"prompts":[{"name":"p"}]}`,
	}
}

// offering makes an upstream answer its lists, and rules offer all of them.
func offering(t *testing.T, k *kit.Relay, results map[string]string) {
	t.Helper()
	k.Legacy, k.Answer, k.Lists = true, listing(results), listing(results)
	rules := k.Registry.Registration.Rules.Table()
	for _, action := range []string{"mcp.up.resource.*", "mcp.up.prompt.*"} {
		rules = append(rules, policy.Rule{Action: action, Decision: policy.Allow})
	}
	compiled, err := policy.Compile(rules)
	if err != nil {
		t.Fatal(err)
	}
	k.Registry.Registration.Rules = compiled
}

// another registers the upstream once more, without its credential.
func another(k *kit.Relay, name string) {
	server := *k.Registry.Registration.Servers["up"]
	server.Name, server.Auth, server.Secrets = name, secret.Auth{Type: secret.TypeNone}, nil
	k.Registry.Registration.Servers[name] = &server
}

func TestEveryListOfAServerIsInTheOrderOfItsNames(t *testing.T) {
	f, k := newFront(t, false)
	offering(t, k, whole())
	for path, want := range map[string]string{
		"tools":     `"tools":[{"name":"look","inputSchema":{"n":1.0}}]}`,
		"resources": `"resources":[{"uri":"file:///a","name":"a"},{"uri":"file:///b","name":"b"}],"resource_templates":[{"uriTemplate":"file:///{x}","name":"x"}]}`,
		"prompts":   `"prompts":[{"name":"p"}]}`,
	} {
		w := ask(f, "GET", "/v1/servers/up/"+path, "")
		if want = `{"call_id":"01JDXAMPLE0000000000000000",` + want; w.Code != 200 || w.Body.String() != want {
			t.Errorf("%s: got %d %s, want %s", path, w.Code, w.Body, want)
		}
	}
	before := k.Requests.Load()
	for _, path := range []string{"tools", "resources", "prompts"} {
		ask(f, "GET", "/v1/servers/up/"+path, "")
	}
	if got := k.Requests.Load() - before; got != 0 {
		t.Errorf("what is fresh was asked for with %d requests", got)
	}
}

func TestAListThatCouldNotBeReadIsNotAnEmptyOne(t *testing.T) {
	f, k := newFront(t, false)
	results := whole()
	delete(results, "prompts/list")
	offering(t, k, results)
	if w := ask(f, "GET", "/v1/servers/up/prompts", ""); w.Code != 502 || !strings.Contains(w.Body.String(), `"stage":"list"`) {
		t.Errorf("prompts: got %d %s", w.Code, w.Body)
	}
	if w := ask(f, "GET", "/v1/servers/up/tools", ""); w.Code != 200 {
		t.Errorf("tools: got %d %s", w.Code, w.Body)
	}
}

// told is the reply of GET /v1/servers.
type told struct {
	Servers []map[string]any
}

func servers(t *testing.T, f http.Handler) []map[string]any {
	t.Helper()
	w := ask(f, "GET", "/v1/servers", "")
	var reply told
	if err := json.Unmarshal(w.Body.Bytes(), &reply); err != nil || w.Code != 200 {
		t.Fatalf("got %d %s", w.Code, w.Body)
	}
	for _, server := range reply.Servers {
		if at, ok := server["acquired"].(string); ok {
			when, err := time.Parse(time.RFC3339, at)
			if err != nil || time.Since(when) > time.Minute {
				t.Errorf("acquired %s: %v", at, err)
			}
			server["acquired"] = "now"
		}
	}
	return reply.Servers
}

func TestServersAreShownWithWhatWasFoundThere(t *testing.T) {
	f, k := newFront(t, false)
	offering(t, k, whole())
	k.Registry.Registration.Servers["up"].Description = "Looks things up."
	another(k, "unreachable") // no rule lets the relay reach it
	want := []map[string]any{{
		"name": "up", "description": "Looks things up.", "status": "ok", "acquired": "now",
		"tools": 1.0, "resources": 2.0, "resource_templates": 1.0, "prompts": 1.0,
	}}
	if diff := cmp.Diff(want, servers(t, f)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	before := k.Requests.Load()
	servers(t, f)
	if got := k.Requests.Load() - before; got != 0 {
		t.Errorf("what is fresh was asked for with %d requests", got)
	}
}

func TestAServerThatFailsSaysWhyAndHidesNoOther(t *testing.T) {
	f, k := newFront(t, false)
	results := whole()
	delete(results, "tools/list")
	offering(t, k, results)
	got := servers(t, f)
	if len(got) != 1 || got[0]["status"] != "failed" || got[0]["tools"] != 0.0 || got[0]["acquired"] != nil {
		t.Fatalf("got %v", got)
	}
	failure, _ := got[0]["failure"].(map[string]any)
	if failure["stage"] != "list" || failure["reason"] != "list_failed" || failure["sentence"] != "the server's list could not be read" || len(failure) != 3 {
		t.Errorf("failure %v", failure)
	}
}

func TestAListThatFailsBesideGoodOnesIsNamed(t *testing.T) {
	f, k := newFront(t, false)
	results := whole()
	delete(results, "prompts/list")
	offering(t, k, results)
	got := servers(t, f)
	if len(got) != 1 || got[0]["status"] != "ok" || got[0]["tools"] != 1.0 {
		t.Fatalf("got %v", got)
	}
	if text := fmt.Sprint(got[0]["list_failures"]); !strings.HasPrefix(text, "map[prompts:map[") || strings.Count(text, "sentence:") != 1 {
		t.Errorf("failures %s", text)
	}
}

func TestServersAreForKnownCallersOnly(t *testing.T) {
	f, k := newFront(t, false)
	for _, test := range []struct {
		method  string
		headers []string
		status  int
	}{
		{"GET", []string{"Authorization", ""}, 401}, {"GET", []string{"Authorization", "Bearer reader"}, 403},
		{"GET", []string{"X-Relay-Run", "a\x01"}, 400}, {"GET", []string{"Via", "1.1 mcprelay"}, 508},
		{"POST", nil, 405}, {"DELETE", nil, 405}, {"HEAD", nil, 405},
	} {
		w := ask(f, test.method, "/v1/servers", "", test.headers...)
		if w.Code != test.status || test.status == 405 && w.Header().Get("Allow") != "GET" {
			t.Errorf("%s with %v: got %d %s, want %d", test.method, test.headers, w.Code, w.Body, test.status)
		}
	}
	if k.Requests.Load() != 0 {
		t.Error("the upstream was reached")
	}
}
