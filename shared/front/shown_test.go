package front_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"mcprelay/shared/catalog"
	"mcprelay/test/kit"
)

// reading asks a modern agent's way for a resource.
func reading(f http.Handler, path, uri string) string {
	return ask(f, "POST", path, `{"jsonrpc":"2.0","id":1,"method":"resources/read","params":{"uri":"`+uri+`",`+meta+`}}`,
		"MCP-Protocol-Version", "2026-07-28", "Mcp-Method", "resources/read", "Mcp-Name", uri).Body.String()
}

// listed makes an upstream list one resource or template.
func listed(e *everything, method, result string) {
	answer := e.Answer
	e.Answer = func(w http.ResponseWriter, r *http.Request, body map[string]json.RawMessage) {
		if string(body["method"]) == `"`+method+`"` {
			kit.Result(w, body, `{"resultType":"complete",`+result+`}`)
			return
		}
		answer(w, r, body)
	}
}

func TestWhatIsListedCanBeRead(t *testing.T) {
	f, _, docs := newAll(t)
	longest := "x:" + strings.Repeat("é", 2047) // six characters each, where it is shown
	listed(docs, "resources/list", `"resources":[{"uri":"`+longest+`","name":"longest"},{"uri":"`+longest+`x","name":"longer"}]`)
	shown := names(t, legacy(f, allPath, "resources/list", `{}`), "resources", "uri")
	if len(shown) != 2 || shown[0] != catalog.ResourceURI("docs", longest) {
		t.Fatalf("%d resources are shown, want the longest that can be asked for and the other server's", len(shown))
	}
	for path, uri := range map[string]string{allPath: shown[0], "/v1/servers/docs/mcp": longest} {
		legacy(f, path, "resources/read", `{"uri":"`+uri+`"}`)
		if asked := docs.params("resources/read"); !strings.Contains(asked, `"uri":"`+longest+`"`) {
			t.Errorf("on %s: the server was asked %.300s", path, asked)
		}
	}
	if reply := reading(f, allPath, shown[0]); !strings.Contains(reply, `"contents"`) {
		t.Errorf("a modern agent got %.300s", reply)
	}
	before := docs.Requests.Load()
	for path, uri := range map[string]string{allPath: shown[0] + "x", "/v1/servers/docs/mcp": longest + "x"} {
		for _, params := range [][2]string{
			{"resources/read", `{"uri":"` + uri + `"}`},
			{"completion/complete", `{"ref":{"type":"ref/resource","uri":"` + uri + `"},"argument":{"name":"a","value":""}}`},
		} {
			if reply := legacy(f, path, params[0], params[1]); !strings.Contains(reply, `"reason":"bad_params"`) {
				t.Errorf("%s on %s: got %.300s", params[0], path, reply)
			}
		}
	}
	if got := docs.Requests.Load(); got != before {
		t.Errorf("%d requests about what is too long reached the server", got-before)
	}
}

func TestAModernAgentIsToldAWholeNumberOfMilliseconds(t *testing.T) {
	f, up, _ := newAll(t)
	for given, want := range map[string]string{
		"60000": "60000", "0": "0", "-1": "0", "1.5": "0", "1.0": "0", "1e3": "0", `"60000"`: "0", "null": "0", "true": "0", "{}": "0",
		"9007199254740991": "9007199254740991", "90071992547409930": "0", "-0": "0", strings.Repeat("9", 400): "0",
	} {
		listed(up, "resources/read", `"ttlMs":`+given+`,"contents":[]`)
		reply := reading(f, mcpPath, "file:///a")
		if strings.Count(reply, `"ttlMs":`) != 1 || !strings.Contains(reply, `"ttlMs":`+want+`,`) {
			t.Errorf("%.40s: got %.300s, want %s", given, reply, want)
		}
	}
	listed(up, "resources/read", `"contents":[]`)
	if reply := reading(f, mcpPath, "file:///a"); !strings.Contains(reply, `"ttlMs":0`) {
		t.Errorf("none: got %s", reply)
	}
}

func TestThePageOfAToolIsNamedAsItCanBeRead(t *testing.T) {
	f, up, _ := newAll(t)
	head, tail := `{"name":"`, `","inputSchema":{"n":1.0},"_meta":{ "ui":{"visibility":["model"],"resourceUri":"PAGE" },"ui/resourceUri":"PAGE","x":"ui://a"}}`
	at := func(page string) string { return strings.ReplaceAll(tail, "PAGE", page) }
	up.Lists = func(w http.ResponseWriter, _ *http.Request, body map[string]json.RawMessage) {
		kit.Result(w, body, `{"resultType":"complete","tools":[`+head+`look`+at(`ui://a\/b`)+`]}`)
	}
	page := "mcprelay://resource/v1/up/ui%3A%2F%2Fa%2Fb"
	if reply := legacy(f, allPath, "tools/list", `{}`); !strings.Contains(reply, head+"up__look"+at(page)) {
		t.Errorf("all: got %s", reply)
	}
	if reply := legacy(f, mcpPath, "tools/list", `{}`); !strings.Contains(reply, head+"look"+at(`ui://a\/b`)) {
		t.Errorf("one: got %s", reply)
	}
	legacy(f, allPath, "resources/read", `{"uri":"`+page+`"}`)
	if asked := up.params("resources/read"); !strings.Contains(asked, `"uri":"ui://a/b"`) {
		t.Errorf("the server was asked %s", asked)
	}
}
