package front_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"mcprelay/shared/front"
	"mcprelay/test/kit"
)

// eightLevels are those of log messages, the least severe first.
var eightLevels = []string{"debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"}

// chatty makes a server log at each level, and once without one, before it answers.
func chatty(k *kit.Relay) {
	k.Capabilities = `"tools":{},"logging":{}`
	k.Answer = func(w http.ResponseWriter, _ *http.Request, body map[string]json.RawMessage) {
		w.Header().Set("Content-Type", "text/event-stream")
		for _, level := range append(eightLevels, "loud") {
			fmt.Fprintf(w, "data: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/message\",\"params\":{\"level\":%q,\"data\":1}}\n\n", level)
		}
		fmt.Fprintf(w, "data: {\"jsonrpc\":\"2.0\",\"id\":%s,\"result\":{\"resultType\":\"complete\"}}\n\n", body["id"])
	}
}

// heard are the levels of the log messages in a reply.
func heard(reply string) (levels []string) {
	for _, part := range strings.Split(reply, `"level":"`)[1:] {
		level, _, _ := strings.Cut(part, `"`)
		levels = append(levels, level)
	}
	return levels
}

// from are the levels that reach one; what has no level counts as info.
func from(least string) []string {
	at := slices.Index(eightLevels, least)
	levels := slices.Clone(eightLevels[at:])
	if at <= 1 {
		levels = append(levels, "loud")
	}
	return levels
}

const lookCall = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"look"}}`

func setLevel(f http.Handler, path, params string, headers ...string) string {
	return ask(f, "POST", path, `{"jsonrpc":"2.0","id":1,"method":"logging/setLevel","params":`+params+`}`, headers...).Body.String()
}

func TestAModernAgentHearsWhatItAskedForAndNothingBelow(t *testing.T) {
	f, k := newFront(t, false)
	chatty(k)
	for _, least := range append(eightLevels, "") {
		meta, want := meta, []string(nil)
		if least != "" {
			meta = strings.Replace(meta, `{`, `{"io.modelcontextprotocol/logLevel":"`+least+`",`, 1)
			want = from(least)
		}
		w := modern(f, "tools/call", `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"look",`+meta+`}}`, "Mcp-Name", "look", "Accept", bothTypes)
		if got := heard(w.Body.String()); !slices.Equal(got, want) || !strings.Contains(w.Body.String(), `"result"`) {
			t.Errorf("asked for %q: heard %v, want %v in %s", least, got, want, w.Body)
		}
	}
	w := modern(f, "tools/call", `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"look",`+strings.Replace(meta, `{`, `{"io.modelcontextprotocol/logLevel":"loud",`, 1)+`}}`, "Mcp-Name", "look")
	if !strings.Contains(w.Body.String(), `"code":-32602`) {
		t.Errorf("a word that is no level: %d %s", w.Code, w.Body)
	}
}

func TestAnOlderAgentHearsFromTheLevelOnThatItSetLast(t *testing.T) {
	f, k := newFront(t, false)
	chatty(k)
	hears := func(f http.Handler, want string, headers ...string) {
		t.Helper()
		reply := ask(f, "POST", mcpPath, lookCall, append(headers, "Accept", bothTypes)...).Body.String()
		if got := heard(reply); !slices.Equal(got, from(want)) {
			t.Errorf("%v: heard %v, want those from %s on", headers, got, want)
		}
	}
	hears(f, "info")
	for _, level := range append(eightLevels, "debug") {
		if got := setLevel(f, mcpPath, `{"level":"`+level+`"}`); got != done {
			t.Errorf("%s: got %s", level, got)
		}
		hears(f, level)
	}
	hears(f, "info", "X-Relay-Run", "another")
	setLevel(f, allPath, `{"level":"alert"}`, "X-Relay-Run", "another")
	hears(f, "alert", "X-Relay-Run", "another")
	hears(f, "debug")
	hears(frontOf(k, false), "info") // another process
}

func TestALevelThatIsNoneIsRefused(t *testing.T) {
	f, k := newFront(t, false)
	for _, params := range []string{`{}`, `null`, `{"level":null}`, `{"level":"loud"}`, `{"level":3}`, `{"Level":"debug"}`} {
		if got := setLevel(f, mcpPath, params); !strings.Contains(got, `"code":-32602`) {
			t.Errorf("%s: got %s", params, got)
		}
	}
	if got := setLevel(f, mcpPath, `{"level":"debug"}`); got != done || k.Requests.Load() != 0 {
		t.Errorf("got %s, %d requests", got, k.Requests.Load())
	}
}

func TestALevelIsNoMethodWhereNothingLogs(t *testing.T) {
	f, up, docs := newAll(t)
	up.Capabilities = `"tools":{}`
	if got := setLevel(f, mcpPath, `{"level":"debug"}`); got != done {
		t.Errorf("before anything is known: %s", got)
	}
	legacy(f, allPath, "tools/list", `{}`)
	for path, want := range map[string]string{mcpPath: `"code":-32601`, allPath: done, "/v1/servers/docs/mcp": done, "/v1/servers/nobody/mcp": done} {
		if got := setLevel(f, path, `{"level":"debug"}`); !strings.Contains(got, want) {
			t.Errorf("%s: got %s, want %s", path, got, want)
		}
	}
	if got := docs.params("logging/setLevel"); got != "" {
		t.Errorf("a modern server was told %s", got)
	}
	w := modern(f, "logging/setLevel", `{"jsonrpc":"2.0","id":1,"method":"logging/setLevel","params":{"level":"debug",`+meta+`}}`)
	if w.Code != 404 || !strings.Contains(w.Body.String(), `"code":-32601`) {
		t.Errorf("a modern agent: %d %s", w.Code, w.Body)
	}
}

// TestAModernServerIsAskedForTheLevelOfItsAgent: neither for more than the agent
// set, nor for less.
func TestAModernServerIsAskedForTheLevelOfItsAgent(t *testing.T) {
	f, up, _ := newAll(t)
	for _, level := range []string{"debug", "emergency", "info"} {
		setLevel(f, mcpPath, `{"level":"`+level+`"}`)
		ask(f, "POST", mcpPath, lookCall, "Accept", bothTypes)
		if got := up.params("tools/call"); !strings.Contains(got, `"io.modelcontextprotocol/logLevel":"`+level+`"`) {
			t.Errorf("%s: the server was asked %s", level, got)
		}
	}
}

func TestTheLevelsThatAreRememberedAreBounded(t *testing.T) {
	f, k := newFront(t, false)
	chatty(k)
	for i := range front.MaxLevels + 10 {
		setLevel(f, mcpPath, `{"level":"emergency"}`, "X-Relay-Run", fmt.Sprint(i))
	}
	if got := front.Levels(f); got != front.MaxLevels {
		t.Errorf("%d levels are remembered, want %d", got, front.MaxLevels)
	}
	last := fmt.Sprint(front.MaxLevels + 9)
	if got := heard(ask(f, "POST", mcpPath, lookCall, "Accept", bothTypes, "X-Relay-Run", last).Body.String()); !slices.Equal(got, from("emergency")) {
		t.Errorf("the last one heard %v", got)
	}
}

// TestAModernServerIsAskedForTheLogsOfOlderAgents: they have no member for it,
// so that nothing would come. Agents that take no stream get none, modern ones
// ask for themselves.
func TestAModernServerIsAskedForTheLogsOfOlderAgents(t *testing.T) {
	const both, info = "application/json, text/event-stream", `"io.modelcontextprotocol/logLevel":"info"`
	f, up, _ := newAll(t)
	for _, test := range []struct {
		name, accept, params string
		want                 string // of _meta; empty for no level
	}{
		{"with a stream", both, `{"name":"look"}`, info},
		{"with a member of its own", both, `{"name":"look","_meta":{"progressToken":7, "x":1.0}}`, `"progressToken":7,"x":1.0,` + info},
		{"with a level", both, `{"name":"look","_meta":{"io.modelcontextprotocol/logLevel":"error"}}`, `"io.modelcontextprotocol/logLevel":"error"`},
		{"without a stream", "application/json", `{"name":"look"}`, ""},
	} {
		w := ask(f, "POST", mcpPath, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":`+test.params+`}`, "Accept", test.accept)
		got := up.params("tools/call")
		if w.Code != 200 || !strings.Contains(got, test.want) || strings.Contains(got, "logLevel") != (test.want != "") || strings.Count(got, "logLevel") > 1 {
			t.Errorf("%s: %d, the server was asked %s, want %s", test.name, w.Code, got, test.want)
		}
	}
	w := modern(f, "tools/call", `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"look",`+meta+`}}`, "Mcp-Name", "look", "Accept", both)
	if got := up.params("tools/call"); w.Code != 200 || strings.Contains(got, "logLevel") {
		t.Errorf("a modern agent: %d %s, the server was asked %s", w.Code, w.Body, got)
	}
}
