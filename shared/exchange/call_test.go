package exchange_test

import (
	"encoding/json"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

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
	const identity = "Authorization: Bearer secret\r\nUser-Agent: mcprelay/1.2.3"
	const stamp = `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{},"io.modelcontextprotocol/clientInfo":{"name":"mcprelay","version":"1.2.3"}`

	p := newPeer(t, modern(answered))
	if _, err := process(t, nil).Call(t.Context(), request(t, p.url, change)); err != nil {
		t.Fatal(err)
	}
	checkBytes(t, p, "server/discover", common+"MCP-Protocol-Version: 2026-07-28\r\nMcp-Method: server/discover\r\n"+identity,
		`{"jsonrpc":"2.0","id":1,"method":"server/discover","params":{`+stamp+`}}}`)
	checkBytes(t, p, "tools/call", common+"MCP-Protocol-Version: 2026-07-28\r\nMcp-Method: tools/call\r\nMcp-Name: echo\r\n"+identity,
		`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"echo","arguments":{"text":"hi"},`+stamp+`,"progressToken":"t-1","io.modelcontextprotocol/logLevel":"debug","traceparent":"00-1-2-01"}}}`)

	p = newLegacyPeer(t, answered)
	if _, err := process(t, nil).Call(t.Context(), request(t, p.url, change)); err != nil {
		t.Fatal(err)
	}
	checkBytes(t, p, "initialize", common+"MCP-Protocol-Version: 2025-11-25\r\n"+identity,
		`{"jsonrpc":"2.0","id":2,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"mcprelay","version":"1.2.3"}}}`)
	checkBytes(t, p, "notifications/initialized", common+"MCP-Protocol-Version: 2025-11-25\r\nMcp-Session-Id: s-1\r\n"+identity,
		`{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	checkBytes(t, p, "tools/call", common+"MCP-Protocol-Version: 2025-11-25\r\nMcp-Session-Id: s-1\r\n"+identity,
		`{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"echo","arguments":{"text":"hi"},"_meta":{"progressToken":"t-1","traceparent":"00-1-2-01"}}}`)
}

func checkBytes(t *testing.T, p *peer, method, head, body string) {
	t.Helper()
	g := p.last(t, method)
	head = strings.ReplaceAll(head, "HOST", strings.TrimSuffix(strings.TrimPrefix(p.url, "http://"), "/mcp"))
	head = strings.ReplaceAll(head, "LENGTH", g.Header.Get("Content-Length"))
	if head = strings.TrimSuffix(head, "\r\n"); g.Raw != head {
		t.Errorf("%s: head -want +got\n%s", method, cmp.Diff(head, g.Raw))
	}
	if string(g.Body) != body {
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

func TestErrorOfTheServerIsTheAnswerWhateverItsStatus(t *testing.T) {
	const body = `{"code":-32050,"message":"quota <&>","data":{"n":9007199254740993,"f":1.0}}`
	for _, status := range []int{200, 400, 404, 409, 429, 500, 503} {
		p := newPeer(t, modern(saysJSON(status, `{"jsonrpc":"2.0","id":ID,"error":`+body+`}`)))
		reply, err := process(t, nil).Call(t.Context(), request(t, p.url))
		if err != nil {
			t.Errorf("%d: %v", status, err)
			continue
		}
		if reply.Error == nil || string(reply.Error.Raw) != body || reply.Error.Code != -32050 || reply.Facts.Status != status || reply.Result != nil {
			t.Errorf("%d: got %+v with status %d", status, reply.Error, reply.Facts.Status)
		}
	}
}

func TestResultsOfEveryShapePass(t *testing.T) {
	for name, tc := range map[string]struct {
		result, kind string
		isError      bool
	}{
		"structured only":  {`{"structuredContent":[1.0]}`, "", false},
		"empty content":    {`{"content":[]}`, "", false},
		"tool error":       {`{"isError":true,"content":[]}`, "", true},
		"unknown members":  {`{"zzz":{"a":[]},"content":[{"type":"zzz"}]}`, "", false},
		"complete":         {`{"resultType":"complete","content":[]}`, "complete", false},
		"input required":   {`{"resultType":"input_required","inputRequests":{}}`, "input_required", false},
		"task":             {`{"resultType":"task","taskId":"t"}`, "task", false},
		"structured array": {`{"structuredContent":[],"content":[]}`, "", false},
	} {
		p := newPeer(t, modern(saysJSON(200, `{"jsonrpc":"2.0","id":ID,"result":`+tc.result+`}`)))
		reply, err := process(t, nil).Call(t.Context(), request(t, p.url))
		if err != nil || string(reply.Result) != tc.result || reply.IsError != tc.isError || reply.ResultType != tc.kind {
			t.Errorf("%s: got %v, %s, isError %v, resultType %q", name, err, reply.Result, reply.IsError, reply.ResultType)
		}
	}
	p := newLegacyPeer(t, saysJSON(200, `{"jsonrpc":"2.0","id":ID,"result":{"resultType":"task"}}`))
	if reply, err := process(t, nil).Call(t.Context(), request(t, p.url)); err != nil || reply.ResultType != "" {
		t.Errorf("want a legacy resultType to mean nothing, got %v, %q", err, reply.ResultType)
	}
}

func TestContentTypeAndEncodingAreReadLeniently(t *testing.T) {
	for name, answer := range map[string]script{
		"upper case":       func(w net.Conn, g got) { write(w, 200, "Application/JSON; Charset=UTF-8", result(g, hello)) },
		"broken parameter": func(w net.Conn, g got) { write(w, 200, "application/json; charset", result(g, hello)) },
		"identity": func(w net.Conn, g got) {
			write(w, 200, "application/json", result(g, hello), "Content-Encoding: identity")
		},
		"unrequested gzip": func(w net.Conn, g got) {
			write(w, 200, "application/json", zipped(result(g, hello)), "Content-Encoding: GZIP")
		},
		"gzip stream": func(w net.Conn, g got) {
			write(w, 200, "text/event-stream", zipped(event(result(g, hello))), "Content-Encoding: gzip")
		},
		"HTTP/1.0": func(w net.Conn, g got) {
			send(w, "HTTP/1.0 200\r\nContent-Type: application/json\r\n\r\n%s", result(g, hello))
			w.Close()
		},
		"no reason phrase": func(w net.Conn, g got) {
			b := result(g, hello)
			send(w, "HTTP/1.1 200\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s", len(b), b)
		},
		"chunked": func(w net.Conn, g got) {
			b := result(g, hello)
			send(w, "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nTransfer-Encoding: Chunked\r\n\r\n%x\r\n%s\r\n0\r\nX-Trailer: 1\r\n\r\n", len(b), b)
		},
		"five early hints": func(w net.Conn, g got) {
			send(w, "%s", strings.Repeat("HTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\n", 5))
			answered(w, g)
		},
		"continue": func(w net.Conn, g got) { send(w, "HTTP/1.1 100 Continue\r\n\r\n"); answered(w, g) },
		"odd headers": func(w net.Conn, g got) {
			write(w, 200, "application/json", result(g, hello), "Alt-Svc: h3=\":443\"", "Refresh: 0; url=http://evil.example/", "Set-Cookie: a=b", "X-Ünï: ü")
		},
		"one byte at a time": func(w net.Conn, g got) {
			var b strings.Builder
			write(&b, 200, "application/json", result(g, hello))
			for i := range b.Len() {
				send(w, "%s", b.String()[i:i+1])
			}
		},
	} {
		if name == "odd headers" {
			answer = func(w net.Conn, g got) {
				write(w, 200, "application/json", result(g, hello), "Alt-Svc: h3=\":443\"", "Refresh: 0; url=http://evil.example/", "Set-Cookie: a=b", "Server: \xfc")
			}
		}
		p := newPeer(t, modern(answer))
		reply, err := process(t, nil).Call(t.Context(), request(t, p.url))
		if err != nil || string(reply.Result) != hello || p.posts("tools/call") != 1 {
			t.Errorf("%s: got %v, %s", name, err, reply.Result)
		}
	}
}

func TestReplyOfExactlyTheBoundPasses(t *testing.T) {
	for _, limit := range []int64{1 << 10, 0} { // 0 is the default of 1 MiB
		size := int(limit)
		if limit == 0 {
			size = exchange.DefaultResultBytes
		}
		for more, want := range map[int]call.Reason{0: call.OK, 1: call.ReplyTooLarge} {
			for name, headers := range map[string]string{"with a length": "", "chunked": "Transfer-Encoding: chunked"} {
				p := newPeer(t, modern(func(w net.Conn, g got) {
					begin, end := `{"jsonrpc":"2.0","id":`+g.ID+`,"result":{"a":"`, `"}}`
					body := begin + strings.Repeat("x", size+more-len(begin)-len(end)) + end
					if headers == "" {
						write(w, 200, "application/json", body)
						return
					}
					send(w, "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n%s\r\n\r\n%x\r\n%s\r\n0\r\n\r\n", headers, len(body), body)
				}))
				_, err := process(t, nil).Call(t.Context(), request(t, p.url, func(r *exchange.Request) { r.Limits.ResultBytes = limit }))
				if got := reasonOf(t, err); got != want {
					t.Errorf("%d and %d bytes %s: want %s, got %v", size, more, name, want, err)
				}
			}
		}
	}
}

func TestRedirectIsRecordedAndNotFollowed(t *testing.T) {
	for name, tc := range map[string]struct {
		location, host, detail string
	}{
		"same server":      {"/mcp/?token=secret", "127.0.0.1", `path "/mcp/"`},
		"itself, absolute": {"http://127.0.0.1/mcp/", "127.0.0.1", `path "/mcp/"`},
		"another host":     {"https://evil.example/collect?secret=1", "evil.example", "to another host"},
		"metadata":         {"http://169.254.169.254/latest", "169.254.169.254", "to another host"},
		"missing":          {"", "", "no usable Location"},
		"broken":           {"http://[::1", "", "no usable Location"},
		"upper case":       {"https://EVIL.example/", "evil.example", "to another host"},
	} {
		for _, status := range []int{300, 301, 302, 303, 304, 305, 306, 307, 308} {
			p := newPeer(t, modern(func(w net.Conn, g got) {
				headers := []string{"Connection: close"}
				if tc.location != "" {
					headers = append(headers, "Location: "+tc.location)
				}
				write(w, status, "text/html", "", headers...)
			}))
			reply, err := process(t, nil).Call(t.Context(), request(t, p.url))
			refusal := refusalOf(t, err)
			if refusal.Reason != call.Redirect || refusal.Status != status || reply.Facts.Location != tc.host || !strings.Contains(refusal.Detail, tc.detail) {
				t.Errorf("%s %d: got %v with host %q", name, status, refusal, reply.Facts.Location)
			}
			if strings.Contains(refusal.Detail, "secret") || p.posts("tools/call") != 1 || len(p.methods()) != 2 {
				t.Errorf("%s %d: got %v, %v", name, status, refusal, p.methods())
			}
		}
	}
}

func TestChallengeIsRecordedAndNotFollowed(t *testing.T) {
	canary := newPeer(t, answered)
	challenge := `Bearer realm="x", scope="a b", error="invalid_token", resource_metadata="` + canary.url + `"`
	for _, name := range []string{"WWW-Authenticate", "x-amzn-remapped-www-authenticate"} {
		p := newPeer(t, modern(says(401, "", "", name+": "+challenge)))
		reply, err := process(t, nil).Call(t.Context(), request(t, p.url))
		if refusal := refusalOf(t, err); refusal.Status != 401 || refusal.MayHaveRun() != call.ImpactNone {
			t.Errorf("got %v", refusal)
		}
		if reply.Facts.Challenge != challenge {
			t.Errorf("want %s, got %s", challenge, reply.Facts.Challenge)
		}
	}
	p := newPeer(t, modern(says(401, "", "", "WWW-Authenticate: \xff"+strings.Repeat("x", 4096))))
	reply, _ := process(t, nil).Call(t.Context(), request(t, p.url))
	if got := reply.Facts.Challenge; len(got) > 520 || strings.ContainsFunc(got, func(r rune) bool { return r > '~' }) {
		t.Errorf("the challenge is unbounded: %d bytes", len(got))
	}
	if canary.connections() != 0 {
		t.Error("the challenge was followed")
	}
}

func TestRetryAfterIsPassedOnInSeconds(t *testing.T) {
	now := time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)
	for value, want := range map[string]int{
		"7": 7, "0": 0, "3600": 3600, "3601": 3600, "99999999999": 3600, "-5": 0, "": 0, "soon": 0, "1e3": 0,
		now.Add(90 * time.Second).Format(http.TimeFormat): 90,
		now.Add(-time.Hour).Format(http.TimeFormat):       0,
		now.Add(48 * time.Hour).Format(http.TimeFormat):   3600,
	} {
		for _, status := range []int{429, 503} {
			p := newPeer(t, modern(says(status, "", "", "Retry-After: "+value)))
			x := process(t, nil, func(c *exchange.Config) { c.Now = func() time.Time { return now } })
			_, err := x.Call(t.Context(), request(t, p.url))
			if refusal := refusalOf(t, err); refusal.Reason != call.UpstreamStatus || refusal.RetryAfter != want || refusal.Status != status {
				t.Errorf("%q: want %d, got %v with %d", value, want, refusal, refusal.RetryAfter)
			}
		}
	}
}

func TestUnusableRequestIsRefusedBeforeAnythingIsSent(t *testing.T) {
	p := newPeer(t, modern(answered))
	for name, change := range map[string]func(*exchange.Request){
		"no session key": func(r *exchange.Request) { r.Session = "" },
		"no origin key":  func(r *exchange.Request) { r.Origin = "" },
		"no tool":        func(r *exchange.Request) { r.Tool = "" },
		"no operation":   func(r *exchange.Request) { r.Operation = "" },
		"discover":       func(r *exchange.Request) { r.Operation = call.OperationDiscover },
	} {
		if _, err := process(t, nil).Call(t.Context(), request(t, p.url, change)); reasonOf(t, err) != call.Internal {
			t.Errorf("%s: want internal, got %v", name, err)
		}
	}
	if p.connections() != 0 {
		t.Error("a connection was opened")
	}
}
