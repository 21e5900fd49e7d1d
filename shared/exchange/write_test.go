package exchange_test

import (
	"encoding/json"
	"net"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"mcprelay/shared/call"
	"mcprelay/shared/exchange"
)

// exact holds what readers of JSON are known to change.
const exact = `{"n":9007199254740993,"m":9223372036854775807,"f":1.0,"e":1e2,"z":-0,"t":0.1e-7,` +
	`"html":"<&>","é":"\u00e9\/","b":1,"a":2 , "s" :"\ud83d\ude00","lone":"\ud800x"}`

func TestArgumentsAndResultsTravelAsTheirBytes(t *testing.T) {
	structured := `{"content":[],"structuredContent":` + exact + `,"x-unknown":[{"type":"zzz"}]}`
	reply := func(w net.Conn, g got) { write(w, 200, "application/json", result(g, structured)) }
	stream := func(w net.Conn, g got) { streaming(event(result(g, structured)))(w, g) }
	for name, p := range map[string]*peer{
		"modern":           newPeer(t, modern(reply)),
		"modern streaming": newPeer(t, modern(stream)),
		"legacy":           newLegacyPeer(t, reply),
		"legacy streaming": newLegacyPeer(t, stream),
	} {
		t.Run(name, func(t *testing.T) {
			arguments := strings.Replace(exact, `,"lone":"\ud800x"`, "", 1)
			got, err := process(t, nil).Call(t.Context(), request(t, p.url, func(r *exchange.Request) { r.Arguments = json.RawMessage(arguments) }))
			if err != nil {
				t.Fatal(err)
			}
			if string(got.Result) != structured {
				t.Errorf("want %s\ngot  %s", structured, got.Result)
			}
			if body := string(p.last(t, "tools/call").Body); !strings.Contains(body, `"arguments":`+arguments) {
				t.Errorf("the arguments changed: %s", body)
			}
		})
	}
}

// TestRequestBytes holds every byte that goes out, for each kind of message.
func TestRequestBytes(t *testing.T) {
	authorize := func(h http.Header) { h.Set("Authorization", "Bearer secret") }
	meta := json.RawMessage(`{"progressToken":"t-1","io.modelcontextprotocol\/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"agent","x":[1,"}"]},` +
		`"io.modelcontextprotocol/clientCapabilities":{"sampling":{}},"io.modelcontextprotocol/logLevel":"debug" , "traceparent":"00-1-2-01"}`)
	change := func(r *exchange.Request) { r.Authorize, r.Meta = authorize, meta }
	const common = "POST /mcp HTTP/1.1\r\nHost: HOST\r\nContent-Type: application/json\r\nAccept: application/json, text/event-stream\r\nAccept-Encoding: identity\r\nContent-Length: LENGTH\r\n"
	const identity = "Authorization: Bearer secret\r\nVia: 1.1 mcprelay\r\nUser-Agent: mcprelay/1.2.3"
	const stamp = `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{},"io.modelcontextprotocol/clientInfo":{"name":"mcprelay","version":"1.2.3"}`

	p := newPeer(t, modern(answered))
	if _, err := process(t, nil).Call(t.Context(), request(t, p.url, change)); err != nil {
		t.Fatal(err)
	}
	checkBytes(t, p, "server/discover", common+"MCP-Protocol-Version: 2026-07-28\r\nMcp-Method: server/discover\r\n"+identity,
		`{"jsonrpc":"2.0","id":ID,"method":"server/discover","params":{`+stamp+`}}}`)
	checkBytes(t, p, "tools/call", common+"MCP-Protocol-Version: 2026-07-28\r\nMcp-Method: tools/call\r\nMcp-Name: echo\r\n"+identity,
		`{"jsonrpc":"2.0","id":ID,"method":"tools/call","params":{"name":"echo","arguments":{"text":"hi"},`+stamp+`,"progressToken":"t-1","io.modelcontextprotocol/logLevel":"debug","traceparent":"00-1-2-01"}}}`)

	p = newLegacyPeer(t, answered)
	if _, err := process(t, nil).Call(t.Context(), request(t, p.url, change)); err != nil {
		t.Fatal(err)
	}
	checkBytes(t, p, "initialize", common+"MCP-Protocol-Version: 2025-11-25\r\n"+identity,
		`{"jsonrpc":"2.0","id":ID,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"mcprelay","version":"1.2.3"}}}`)
	checkBytes(t, p, "notifications/initialized", common+"MCP-Protocol-Version: 2025-11-25\r\nMcp-Session-Id: s-1\r\n"+identity,
		`{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	checkBytes(t, p, "tools/call", common+"MCP-Protocol-Version: 2025-11-25\r\nMcp-Session-Id: s-1\r\n"+identity,
		`{"jsonrpc":"2.0","id":ID,"method":"tools/call","params":{"name":"echo","arguments":{"text":"hi"},"_meta":{"progressToken":"t-1","traceparent":"00-1-2-01"}}}`)
}

func checkBytes(t *testing.T, p *peer, method, head, body string) {
	t.Helper()
	g := p.last(t, method)
	head = strings.ReplaceAll(head, "HOST", strings.TrimSuffix(strings.TrimPrefix(p.url, "http://"), "/mcp"))
	head = strings.ReplaceAll(head, "LENGTH", g.Header.Get("Content-Length"))
	if head = strings.TrimSuffix(head, "\r\n"); g.Raw != head {
		t.Errorf("%s: head -want +got\n%s", method, cmp.Diff(head, g.Raw))
	}
	if body = strings.Replace(body, "ID", g.ID, 1); string(g.Body) != body {
		t.Errorf("%s: body\nwant %s\ngot  %s", method, body, g.Body)
	}
}

func TestLegacyRequestWithoutMetaHasNone(t *testing.T) {
	p := newLegacyPeer(t, answered)
	for _, meta := range []string{``, `{}`, `{"io.modelcontextprotocol/clientInfo":{}}`, `{ "io.modelcontextprotocol/logLevel" : "debug" }`} {
		r := request(t, p.url, func(r *exchange.Request) { r.Meta, r.Arguments = json.RawMessage(meta), nil })
		if _, err := process(t, nil).Call(t.Context(), r); err != nil {
			t.Fatal(err)
		}
		want := `"method":"tools/call","params":{"name":"echo"}}`
		if body := string(p.last(t, "tools/call").Body); !strings.HasSuffix(body, want) {
			t.Errorf("%s: want …%s, got %s", meta, want, body)
		}
	}
}

func TestMetaThatIsNoObjectNeverLeaves(t *testing.T) {
	p := newPeer(t, modern(answered))
	for _, meta := range []string{`{`, `{"a"`, `{"a":`, `{"a":"b`, `{a:1}`, `{"a":{"b":1`} {
		_, err := process(t, nil).Call(t.Context(), request(t, p.url, func(r *exchange.Request) { r.Meta = json.RawMessage(meta) }))
		if refusal := refusalOf(t, err); refusal.Reason != call.BadParams || refusal.MayHaveRun() != call.ImpactNone {
			t.Errorf("%s: got %v", meta, refusal)
		}
	}
	if p.posts("tools/call") != 0 {
		t.Error("a broken _meta left")
	}
}

func TestToolNameIsMirroredInItsHeaderForm(t *testing.T) {
	p := newPeer(t, modern(answered))
	x := process(t, nil)
	for name, want := range map[string]string{
		"echo":              "echo",
		"with blank":        "with blank",
		" edge":             "=?base64?IGVkZ2U=?=",
		"größe":             "=?base64?Z3LDtsOfZQ==?=",
		"line\nbreak":       "=?base64?bGluZQpicmVhaw==?=",
		"=?base64?ZWNobw==": "=?base64?ZWNobw==",
		"a<&>\"b":           "a<&>\"b",
	} {
		if _, err := x.Call(t.Context(), request(t, p.url, func(r *exchange.Request) { r.Tool = name })); err != nil {
			t.Fatalf("%q: %v", name, err)
		}
		g := p.last(t, "tools/call")
		if values := g.Header["Mcp-Name"]; len(values) != 1 || values[0] != want {
			t.Errorf("%q: want %q, got %q", name, want, values)
		}
		var body struct{ Params struct{ Name string } }
		if err := json.Unmarshal(g.Body, &body); err != nil || body.Params.Name != name {
			t.Errorf("%q: the body says %q, %v", name, body.Params.Name, err)
		}
	}
}

func TestEveryPostHasAFreshID(t *testing.T) {
	p := newLegacyPeer(t, answered)
	x := process(t, nil)
	for range 3 {
		if _, err := x.Call(t.Context(), request(t, p.url)); err != nil {
			t.Fatal(err)
		}
	}
	seen := map[string]bool{}
	for _, g := range p.all() {
		if g.ID != "" && seen[g.ID] {
			t.Errorf("id %s was used twice", g.ID)
		}
		seen[g.ID] = true
	}
}

func TestCredentialThatAHeaderCannotCarryNeverLeaves(t *testing.T) {
	p := newPeer(t, modern(answered))
	for name, set := range map[string]func(http.Header){
		"line break":     func(h http.Header) { h.Set("Authorization", "Bearer a\nHost: evil") },
		"CR":             func(h http.Header) { h.Set("Authorization", "Bearer a\r") },
		"NUL":            func(h http.Header) { h.Set("X-Key", "a\x00b") },
		"blank edge":     func(h http.Header) { h.Set("X-Key", "key ") },
		"0x80":           func(h http.Header) { h.Set("X-Key", "a\x80") },
		"Host":           func(h http.Header) { h.Set("Host", "evil.example") },
		"Content-Length": func(h http.Header) { h.Set("Content-Length", "0") },
		"name injection": func(h http.Header) { h["X: y\r\nZ"] = []string{"v"} },
	} {
		_, err := process(t, nil).Call(t.Context(), request(t, p.url, func(r *exchange.Request) { r.Authorize = set }))
		refusal := refusalOf(t, err)
		if refusal.Reason != call.SecretUnusable || refusal.MayHaveRun() != call.ImpactNone {
			t.Errorf("%s: got %v", name, refusal)
		}
		if strings.Contains(refusal.Error(), "evil") || strings.Contains(refusal.Error(), "key ") {
			t.Errorf("%s: the error shows the value: %v", name, refusal)
		}
	}
	if p.connections() != 0 {
		t.Error("a connection was opened")
	}
}

// TestCredentialOfOneCallIsNotInTheNext: what calls are built in is reused.
func TestCredentialOfOneCallIsNotInTheNext(t *testing.T) {
	p := newPeer(t, modern(answered))
	x := process(t, nil)
	with := func(r *exchange.Request) {
		r.Authorize = func(h http.Header) { h.Set("X-Key", "secret"); h.Set("User-Agent", "own") }
	}
	for i := range 20 {
		r := request(t, p.url)
		if i%2 == 0 {
			with(&r)
		}
		if _, err := x.Call(t.Context(), r); err != nil {
			t.Fatal(err)
		}
		h := p.last(t, "tools/call").Header
		if got := h.Get("X-Key"); (got != "") != (i%2 == 0) {
			t.Errorf("call %d was sent with %q", i, got)
		}
		if agents := h["User-Agent"]; len(agents) != 1 || (agents[0] == "own") != (i%2 == 0) {
			t.Errorf("call %d was sent with User-Agent %q", i, agents)
		}
	}
}
