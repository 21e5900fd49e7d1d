package front_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"mcprelay/shared/front"
	"mcprelay/test/kit"
)

const allPath = "/v1/mcp"

// everything is an upstream with one of each: what it was asked last is kept.
type everything struct {
	*kit.Relay
	mu    sync.Mutex
	asked map[string]string // params by method
}

func (e *everything) params(method string) string {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.asked[method]
}

func newEverything(t *testing.T, k *kit.Relay) *everything {
	t.Helper()
	e := &everything{Relay: k, asked: map[string]string{}}
	k.Capabilities = `"tools":{"listChanged":true},"resources":{"subscribe":true,"listChanged":true},"prompts":{},"completions":{},"logging":{}`
	k.Lists = func(w http.ResponseWriter, _ *http.Request, body map[string]json.RawMessage) {
		kit.Result(w, body, `{"resultType":"complete","tools":[{"name":"look","inputSchema":{"type":"object","n":9007199254740993}},{"name":"a.b/c d","inputSchema":{}},{"name":"edit_me","inputSchema":{}}]}`)
	}
	results := map[string]string{
		"resources/list":           `{"resources":[{"uri":"file:///a b.txt","name":"a"}]}`,
		"resources/templates/list": `{"resourceTemplates":[{"uriTemplate":"test://{id}/data","name":"t"}]}`,
		"prompts/list":             `{"prompts":[{"name":"review"}]}`,
		"tools/call":               `{"content":[{"type":"resource_link","uri":"file:///a b.txt","name":"a"},{"type":"text","text":"file:///a b.txt"},{"type":"resource","resource":{"uri":"test://1/data","text":"x"}}],"structuredContent":{"uri":"file:///a b.txt","n":1.0}}`,
		"resources/read":           `{"contents":[{"uri":"file:///a b.txt","text":"x"}]}`,
		"prompts/get":              `{"messages":[{"role":"user","content":{"type":"resource","resource":{"uri":"file:///a b.txt","text":"x"}}}]}`,
		"completion/complete":      `{"completion":{"values":["x"]}}`,
	}
	k.Answer = func(w http.ResponseWriter, _ *http.Request, body map[string]json.RawMessage) {
		var method string
		_ = json.Unmarshal(body["method"], &method)
		e.mu.Lock()
		e.asked[method] = string(body["params"])
		e.mu.Unlock()
		kit.Result(w, body, `{"resultType":"complete",`+results[method][1:])
	}
	return e
}

// newAll is a front before two upstreams that have everything, up and docs.
func newAll(t *testing.T) (f *front.Front, up, docs *everything) {
	t.Helper()
	f, k := newFront(t, false)
	other := kit.New(t, "", "")
	k.Beside(t, other, "docs")
	k.Allow(t, "mcp.up.*")
	return f, newEverything(t, k), newEverything(t, other)
}

func legacy(f http.Handler, path, method, params string) string {
	return ask(f, "POST", path, fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":%q,"params":%s}`, method, params)).Body.String()
}

func names(t *testing.T, reply, list, member string) (all []string) {
	t.Helper()
	var r struct {
		Result map[string]json.RawMessage
	}
	var items []map[string]any
	if err := json.Unmarshal([]byte(reply), &r); err != nil {
		t.Fatalf("%s: %v", reply, err)
	}
	if err := json.Unmarshal(r.Result[list], &items); err != nil {
		t.Fatalf("%s: %v", reply, err)
	}
	for _, item := range items {
		all = append(all, item[member].(string))
	}
	return all
}

func TestAllServersAreOneServer(t *testing.T) {
	f, _, docs := newAll(t)
	for _, test := range []struct {
		method, list, member string
		want                 []string
	}{
		{"tools/list", "tools", "name", []string{"docs__a_b_c_d_vkb4auhqzh", "docs__edit_me", "docs__look", "up__a_b_c_d_vkb4auhqzh", "up__edit_me", "up__look"}},
		{"resources/list", "resources", "uri", []string{"mcprelay://resource/v1/docs/file%3A%2F%2F%2Fa%20b.txt", "mcprelay://resource/v1/up/file%3A%2F%2F%2Fa%20b.txt"}},
		{"resources/templates/list", "resourceTemplates", "uriTemplate", []string{"mcprelay://resource/v1/docs/test%3A%2F%2F{id}%2Fdata", "mcprelay://resource/v1/up/test%3A%2F%2F{id}%2Fdata"}},
		{"prompts/list", "prompts", "name", []string{"docs__review", "up__review"}},
	} {
		got := names(t, legacy(f, allPath, test.method, `{}`), test.list, test.member)
		for i, name := range got {
			if at := strings.Index(name, "__a_b_c_d_"); at >= 0 { // its digest is tested where it is made
				got[i] = name[:at] + "__a_b_c_d_vkb4auhqzh"
			}
		}
		if diff := cmp.Diff(test.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", test.method, diff)
		}
	}
	before := docs.Requests.Load()
	for _, test := range []struct{ name, method, params, asked, answer string }{
		{"a tool", "tools/call", `{"name":"docs__look","arguments":{"n":9007199254740993}}`, `"name":"look","arguments":{"n":9007199254740993}`,
			`"content":[{"type":"resource_link","uri":"mcprelay://resource/v1/docs/file%3A%2F%2F%2Fa%20b.txt","name":"a"},{"type":"text","text":"file:///a b.txt"},{"type":"resource","resource":{"uri":"mcprelay://resource/v1/docs/test%3A%2F%2F1%2Fdata","text":"x"}}],"structuredContent":{"uri":"file:///a b.txt","n":1.0}`},
		{"a resource", "resources/read", `{"uri":"mcprelay://resource/v1/docs/file%3A%2F%2F%2Fa%20b.txt"}`, `"uri":"file:///a b.txt"`, `"contents":[{"uri":"mcprelay://resource/v1/docs/file%3A%2F%2F%2Fa%20b.txt","text":"x"}]`},
		{"an expanded template", "resources/read", `{"uri":"mcprelay://resource/v1/docs/test%3A%2F%2Fa%2Fb%20c%2Fdata"}`, `"uri":"test://a%2Fb%20c/data"`, `"contents"`},
		{"a prompt", "prompts/get", `{"name":"docs__review","arguments":{"a":"b"}}`, `"name":"review","arguments":{"a":"b"}`, `"resource":{"uri":"mcprelay://resource/v1/docs/file%3A%2F%2F%2Fa%20b.txt","text":"x"}`},
		{"a completion of a prompt", "completion/complete", `{"ref":{"type":"ref/prompt","name":"docs__review"},"argument":{"name":"a","value":"b"}}`, `"ref":{"type":"ref/prompt","name":"review"},"argument":{"name":"a","value":"b"}`, `"values":["x"]`},
		{"a completion of a template", "completion/complete", `{"ref":{"type":"ref/resource","uri":"mcprelay://resource/v1/docs/test%3A%2F%2F{id}%2Fdata"},"argument":{"name":"id","value":""},"context":{"arguments":{}}}`, `"ref":{"type":"ref/resource","uri":"test://{id}/data"},"argument":{"name":"id","value":""},"context":{"arguments":{}}`, `"values":["x"]`},
	} {
		reply := legacy(f, allPath, test.method, test.params)
		if !strings.Contains(reply, test.answer) {
			t.Errorf("%s: got %s, want %s", test.name, reply, test.answer)
		}
		if asked := docs.params(test.method); !strings.Contains(asked, test.asked) {
			t.Errorf("%s: the server was asked %s, want %s", test.name, asked, test.asked)
		}
	}
	if got := docs.Requests.Load() - before; got != 6 {
		t.Errorf("%d requests for six calls", got)
	}
}

func TestAShortenedNameReachesItsOwnTool(t *testing.T) {
	f, up, _ := newAll(t)
	for _, name := range names(t, legacy(f, allPath, "tools/list", `{}`), "tools", "name") {
		if !strings.HasPrefix(name, "up__a_b_c_d_") {
			continue
		}
		legacy(f, allPath, "tools/call", `{"name":"`+name+`"}`)
		if asked := up.params("tools/call"); !strings.Contains(asked, `"name":"a.b/c d"`) {
			t.Errorf("the server was asked %s", asked)
		}
		return
	}
	t.Fatal("the tool is not shown")
}

func TestNamesThatBelongToNobodyReachNobody(t *testing.T) {
	f, up, docs := newAll(t)
	legacy(f, allPath, "tools/list", `{}`)
	before := up.Requests.Load() + docs.Requests.Load()
	for _, test := range [][2]string{
		{"tools/call", `{"name":"look"}`}, {"tools/call", `{"name":"none__look"}`}, {"tools/call", `{"name":"__look"}`}, {"tools/call", `{"name":"up__"}`},
		{"prompts/get", `{"name":"review"}`}, {"resources/read", `{"uri":"file:///a b.txt"}`}, {"resources/read", `{"uri":"mcprelay://resource/v1/none/x"}`},
		{"resources/read", `{"uri":"mcprelay://resource/v1/up/file%3a%2F%2F%2Fa"}`}, {"resources/read", `{"uri":"mcprelay://resource/v1/up/"}`},
		{"completion/complete", `{"ref":{"type":"ref/resource","uri":"x{y}"},"argument":{"name":"a","value":""}}`},
	} {
		if reply := legacy(f, allPath, test[0], test[1]); !strings.Contains(reply, `"code":-32602`) || !strings.Contains(reply, `"stage":"policy"`) {
			t.Errorf("%s %s: got %s", test[0], test[1], reply)
		}
	}
	if got := up.Requests.Load() + docs.Requests.Load(); got != before {
		t.Errorf("%d requests reached a server", got-before)
	}
}

func TestWhatIsAnnouncedIsTheUnionWithoutStreams(t *testing.T) {
	f, up, docs := newAll(t)
	up.Capabilities, docs.Capabilities = `"tools":{},"prompts":{"listChanged":true}`, `"resources":{"subscribe":true},"experimental":{"x":{}}`
	reply := legacy(f, allPath, "initialize", `{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"c","version":"1"}}`)
	if !strings.Contains(reply, `"capabilities":{"prompts":{},"resources":{},"tools":{}}`) {
		t.Errorf("all: %s", reply)
	}
	reply = legacy(f, mcpPath, "initialize", `{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"c","version":"1"}}`)
	if !strings.Contains(reply, `"capabilities":{"prompts":{},"tools":{}}`) {
		t.Errorf("one: %s", reply)
	}
}

func TestAServerThatIsDownIsNamedAndLosesNobodyTheOthers(t *testing.T) {
	f, _, docs := newAll(t)
	docs.Lists = func(w http.ResponseWriter, _ *http.Request, _ map[string]json.RawMessage) {
		w.WriteHeader(http.StatusInternalServerError)
	}
	reply := legacy(f, allPath, "tools/list", `{}`)
	if got := names(t, reply, "tools", "name"); len(got) != 3 || !strings.HasPrefix(got[0], "up__") {
		t.Errorf("tools %v", got)
	}
	if !strings.Contains(reply, `"dev.mcprelay/unavailable":{"docs":{"stage":"list","reason":"list_failed","sentence":`) {
		t.Errorf("nothing says which server is down: %s", reply)
	}
	if reply := legacy(f, "/v1/servers/docs/mcp", "tools/list", `{}`); !strings.Contains(reply, `"reason":"list_failed"`) {
		t.Errorf("by itself: %s", reply)
	}
}

func TestAListGoesOnWhereItsCursorSays(t *testing.T) {
	f, up, _ := newAll(t)
	var tools []string
	for i := range 60 {
		tools = append(tools, fmt.Sprintf(`{"name":"t%02d","inputSchema":{},"description":%q}`, i, strings.Repeat("x", 100<<10)))
	}
	registration := up.Registry.Registration
	registration.Servers["up"].Limits.MaxResultBytes = 32 << 20
	registration.Servers["up"].Limits.MaxFrameBytes = 32 << 20
	up.Lists = func(w http.ResponseWriter, _ *http.Request, body map[string]json.RawMessage) {
		kit.Result(w, body, `{"resultType":"complete","tools":[`+strings.Join(tools, ",")+`]}`)
	}
	legacy(f, allPath, "tools/list", `{}`)
	up.Rest(t.Context()) // it is long, and the race detector slow
	var all []string
	cursor, pages := "", 0
	for ; pages == 0 || cursor != ""; pages++ {
		other := frontOf(up.Relay, false)
		var reply struct{ Result struct{ NextCursor string } }
		text := legacy(other, allPath, "tools/list", `{"cursor":"`+cursor+`"}`)
		if err := json.Unmarshal([]byte(text), &reply); err != nil {
			t.Fatal(err)
		}
		all, cursor = append(all, names(t, text, "tools", "name")...), reply.Result.NextCursor
	}
	if pages < 2 || len(all) != 63 {
		t.Errorf("%d tools on %d pages, want 63 on some", len(all), pages)
	}
	seen := map[string]bool{}
	for _, name := range all {
		if seen[name] {
			t.Errorf("%s is on two pages", name)
		}
		seen[name] = true
	}
	for _, cursor := range []string{"x", "dXA", "!!!!", "dXAKdDAw="} {
		if reply := legacy(f, allPath, "tools/list", `{"cursor":"`+cursor+`"}`); !strings.Contains(reply, `"code":-32602`) {
			t.Errorf("cursor %s: %s", cursor, reply)
		}
	}
}

func TestNamesThatOnlyListsExplainAreReadFirst(t *testing.T) {
	f, up, docs := newAll(t)
	var shortened string
	for _, name := range names(t, legacy(f, allPath, "tools/list", `{}`), "tools", "name") {
		if strings.HasPrefix(name, "docs__a_b_c_d_") {
			shortened = name
		}
	}
	fresh := kit.New(t, "", "") // another process, before an empty store
	fresh.Registry.Registration = up.Registry.Registration
	cold := frontOf(fresh, false)
	legacy(cold, allPath, "tools/call", `{"name":"`+shortened+`"}`)
	if asked := docs.params("tools/call"); !strings.Contains(asked, `"name":"a.b/c d"`) {
		t.Errorf("the server was asked %s", asked)
	}
	fresh = kit.New(t, "", "")
	fresh.Registry.Registration = up.Registry.Registration
	cold = frontOf(fresh, false)
	legacy(cold, allPath, "resources/read", `{"uri":"mcprelay://resource/v1/docs/test%3A%2F%2Fa%2Fb%20c%2Fdata"}`)
	if asked := docs.params("resources/read"); !strings.Contains(asked, `"uri":"test://a%2Fb%20c/data"`) {
		t.Errorf("the server was asked %s", asked)
	}
	docs.Lists = func(w http.ResponseWriter, _ *http.Request, _ map[string]json.RawMessage) { w.WriteHeader(500) }
	fresh = kit.New(t, "", "")
	fresh.Registry.Registration = up.Registry.Registration
	cold = frontOf(fresh, false)
	posts := docs.Posts.Load()
	if reply := legacy(cold, allPath, "tools/call", `{"name":"`+shortened+`"}`); !strings.Contains(reply, `"reason":"list_failed"`) || docs.Posts.Load() != posts {
		t.Errorf("without the list: %s after %d posts", reply, docs.Posts.Load()-posts)
	}
}

func TestAListThatFailedIsMissingInEveryProcess(t *testing.T) {
	f, up, docs := newAll(t)
	all := docs.Answer
	docs.Answer = func(w http.ResponseWriter, r *http.Request, body map[string]json.RawMessage) {
		if string(body["method"]) == `"resources/list"` {
			w.WriteHeader(http.StatusInternalServerError)
			return
		}
		all(w, r, body)
	}
	legacy(f, allPath, "tools/list", `{}`)
	second := kit.New(t, "", "")
	second.Registry.Registration, second.Config.Catalogs = up.Registry.Registration, &up.Catalogs
	for name, f := range map[string]*front.Front{"the one that read it": f, "another": frontOf(second, false)} {
		if reply := legacy(f, allPath, "resources/list", `{}`); !strings.Contains(reply, `"dev.mcprelay/unavailable":{"docs":{"stage":"list","reason":"list_failed"`) {
			t.Errorf("%s, all: %s", name, reply)
		}
		if reply := legacy(f, "/v1/servers/docs/mcp", "resources/list", `{}`); !strings.Contains(reply, `"reason":"list_failed"`) {
			t.Errorf("%s, one: %s", name, reply)
		}
		if reply := legacy(f, "/v1/servers/docs/mcp", "prompts/list", `{}`); !strings.Contains(reply, `"name":"review"`) {
			t.Errorf("%s, its other lists: %s", name, reply)
		}
	}
}

func TestAServerThatCannotBeListedOpensAllTheSame(t *testing.T) {
	f, _, docs := newAll(t)
	docs.Capabilities = `"prompts":{}`
	docs.Lists = func(w http.ResponseWriter, _ *http.Request, _ map[string]json.RawMessage) { w.WriteHeader(500) }
	reply := legacy(f, "/v1/servers/docs/mcp", "initialize", `{"protocolVersion":"2025\u002d06-18","capabilities":{},"clientInfo":{"name":"c","version":"1"}}`)
	if !strings.Contains(reply, `"capabilities":{"prompts":{}}`) || !strings.Contains(reply, `"protocolVersion":"2025-06-18"`) {
		t.Errorf("initialize: %s", reply)
	}
	if reply := legacy(f, "/v1/servers/docs/mcp", "prompts/get", `{"name":"review"}`); !strings.Contains(reply, `"messages"`) {
		t.Errorf("prompts/get: %s", reply)
	}
	if reply := legacy(f, "/v1/servers/none/mcp", "initialize", `{"protocolVersion":"2025-11-25"}`); !strings.Contains(reply, `"stage":"policy"`) {
		t.Errorf("a server that is not there: %s", reply)
	}
}

func TestAServersErrorsKeepTheMeaningOfItsEra(t *testing.T) {
	for _, test := range []struct {
		old, modern bool
		code        int
		status      int
		want        string
	}{
		{true, true, -32002, 200, `"code":-32602,`}, {true, false, -32002, 200, `"code":-32002,`},
		{true, true, -32020, 200, `"code":-31010,`}, {true, true, -32042, 200, `"reason":"input_required"`}, {true, false, -32042, 200, `"code":-32042,`},
		{false, true, -32021, 200, `"reason":"input_required"`}, {false, false, -32021, 200, `"reason":"input_required"`},
		{false, true, -32601, 404, `"code":-32601,`}, {false, false, -32601, 200, `"code":-32601,`},
		{false, true, -32050, 200, `"code":-32050,`}, {true, true, -32050, 200, `"code":-32050,`}, {true, true, 7, 200, `"code":7,`},
	} {
		f, k := newFront(t, false)
		k.Legacy = test.old
		k.Answer = func(w http.ResponseWriter, _ *http.Request, body map[string]json.RawMessage) {
			if string(body["method"]) != `"tools/call"` {
				kit.Result(w, body, `{"protocolVersion":"2025-11-25","capabilities":{}}`)
				return
			}
			w.Header().Set("Content-Type", "application/json")
			fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"error":{"code":%d,"message":"m","data":{"n":1.0}}}`, body["id"], test.code)
		}
		w := ask(f, "POST", mcpPath, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"look"}}`)
		if test.modern {
			w = modern(f, "tools/call", `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"look",`+meta+`}}`, "Mcp-Name", "look")
		}
		if w.Code != test.status || !strings.Contains(w.Body.String(), test.want) {
			t.Errorf("%+v: got %d %s", test, w.Code, w.Body)
		}
	}
}

func TestAnOlderAgentCancelsItsOwnCallOnly(t *testing.T) {
	f, k := newFront(t, false)
	k.Warm(t)
	began, gone := make(chan struct{}), make(chan struct{})
	k.Answer = func(_ http.ResponseWriter, r *http.Request, _ map[string]json.RawMessage) {
		close(began)
		<-r.Context().Done()
		close(gone)
	}
	replied := make(chan string, 1)
	go func() { replied <- legacy(f, mcpPath, "tools/call", `{"name":"look"}`) }()
	<-began
	cancel := func(id string, headers ...string) {
		w := ask(f, "POST", mcpPath, `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":`+id+`}}`, headers...)
		if w.Code != 202 || w.Body.Len() != 0 {
			t.Errorf("got %d %s", w.Code, w.Body)
		}
	}
	cancel(`"1"`)
	cancel(`2`)
	cancel(`1`, "X-Relay-Run", "another")
	select {
	case <-gone:
		t.Fatal("somebody else's notification ended the call")
	default:
	}
	cancel(`1`)
	<-gone
	if reply := <-replied; !strings.Contains(reply, `"reason":"cancelled"`) {
		t.Errorf("got %s", reply)
	}
	if r := k.Recorder.Only(t); r.Reason != "cancelled" {
		t.Errorf("record %+v", r)
	}
}

func TestVersionsThatNobodySpeaksAreNamed(t *testing.T) {
	f, _ := newFront(t, false)
	for name, w := range map[string]*httptest.ResponseRecorder{
		"an old one in _meta":          ask(f, "POST", mcpPath, `{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"1900-01-01"}}}`),
		"a new one in the header only": ask(f, "POST", mcpPath, `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`, "MCP-Protocol-Version", "2027-01-01"),
	} {
		if w.Code != 400 || !strings.Contains(w.Body.String(), `"code":-32022`) || !strings.Contains(w.Body.String(), `"supported":["2026-07-28"`) {
			t.Errorf("%s: %d %s", name, w.Code, w.Body)
		}
	}
}
