package front_test

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"mcprelay/shared/call"
	"mcprelay/shared/front"
	"mcprelay/test/kit"
)

// scopes of the caller that the authenticator of these tests knows by its token.
var scopes = map[string][]call.Scope{
	"Bearer good":   {call.ScopeCall},
	"Bearer reader": {call.ScopeAuditRead, call.ScopeAdminRead, call.ScopeAdminWrite},
}

func authenticate(_ context.Context, h http.Header) (call.Principal, *call.Refusal) {
	given, ok := scopes[h.Get("Authorization")]
	if !ok {
		return call.Principal{}, call.Refuse(call.Unauthenticated, "")
	}
	return call.Principal{Tenant: "acme", Subject: "ci", Kind: call.KindUser, Scopes: given}, nil
}

func newFront(t *testing.T, local bool) (*front.Front, *kit.Relay) {
	t.Helper()
	k := kit.New(t, `,"bindings":{"change":"edit"}`, "")
	return frontOf(k, local), k
}

// frontOf is another front of the same relay.
func frontOf(k *kit.Relay, local bool) *front.Front {
	return front.New(front.Options{
		Relay: k.Relay, Authenticate: authenticate, Name: "mcprelay", Version: "9",
		Now: time.Now, NewID: func(time.Time) string { return "01JDXAMPLE0000000000000000" }, LocalHosts: local,
	})
}

// ask sends one request; headers come in pairs, an empty value removes one.
func ask(f http.Handler, method, path, body string, headers ...string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(method, path, strings.NewReader(body))
	r.Host = "127.0.0.1:8080"
	r.Header.Set("Authorization", "Bearer good")
	r.Header.Set("Content-Type", "application/json")
	for i := 0; i < len(headers); i += 2 {
		switch {
		case headers[i] == "Host":
			r.Host = headers[i+1]
		case headers[i+1] == "":
			r.Header.Del(headers[i])
		default:
			r.Header.Set(headers[i], headers[i+1])
		}
	}
	w := httptest.NewRecorder()
	f.ServeHTTP(w, r)
	return w
}

const mcpPath = "/v1/servers/up/mcp"

func TestTheGateComesBeforeTheBody(t *testing.T) {
	f, k := newFront(t, true)
	for _, test := range []struct {
		name    string
		headers []string
		status  int
		reason  call.Reason
	}{
		{"no credential", []string{"Authorization", ""}, 401, call.Unauthenticated},
		{"a credential without the scope", []string{"Authorization", "Bearer reader"}, 403, call.InsufficientScope},
		{"a foreign host", []string{"Host", "evil.example.com"}, 403, call.BadOrigin},
		{"a foreign origin", []string{"Origin", "http://evil.example.com"}, 403, call.BadOrigin},
		{"a null origin", []string{"Origin", "null"}, 403, call.BadOrigin},
		{"a request that passed a relay", []string{"Via", "1.1 mcprelay"}, 508, call.Loop},
		{"a local origin that is no page's", []string{"Origin", "ftp://127.0.0.1"}, 403, call.BadOrigin},
		{"the relay's own host by another scheme", []string{"Origin", "ws://127.0.0.1:8080"}, 403, call.BadOrigin},
		{"a local origin without a scheme", []string{"Origin", "//localhost"}, 403, call.BadOrigin},
		{"another type", []string{"Content-Type", "application/json-seq"}, 415, call.UnsupportedMediaType},
		{"another charset", []string{"Content-Type", "application/json; charset=iso-8859-1"}, 415, call.UnsupportedMediaType},
		{"UTF-16", []string{"Content-Type", `application/json; charset="utf-16"`}, 415, call.UnsupportedMediaType},
		{"a charset of no name", []string{"Content-Type", `application/json; charset=""`}, 415, call.UnsupportedMediaType},
		{"a run with a control byte", []string{"X-Relay-Run", "a\x01"}, 400, call.BadRequest},
		{"a run that is too long", []string{"X-Relay-Run", strings.Repeat("a", 129)}, 400, call.BadRequest},
	} {
		for _, path := range []string{mcpPath, "/v1/servers/up/tools/look"} {
			w := ask(f, "POST", path, `not JSON`, test.headers...)
			if w.Header().Get("Connection") != "close" {
				t.Errorf("%s on %s: the body is waited for", test.name, path)
			}
			status := test.status
			if status == 508 && path == mcpPath {
				status = 200 // the stage is later than parse and auth
			}
			if w.Code != status || !strings.Contains(w.Body.String(), `"reason":"`+string(test.reason)+`"`) {
				t.Errorf("%s on %s: got %d %s, want %d %s", test.name, path, w.Code, w.Body, test.status, test.reason)
			}
		}
	}
	if k.Requests.Load() != 0 {
		t.Error("the upstream was reached")
	}
	w := ask(f, "POST", mcpPath, `{}`, "Authorization", "Bearer reader")
	if got := w.Header().Get("WWW-Authenticate"); !strings.Contains(got, `error="insufficient_scope"`) || !strings.Contains(got, `scope="call"`) {
		t.Errorf("challenge %q", got)
	}
}

func TestLocalOriginsAndTypesWithParametersPass(t *testing.T) {
	f, _ := newFront(t, true)
	for _, headers := range [][]string{
		{"Origin", "http://localhost:3000"}, {"Origin", "http://127.0.0.1:8080"}, {"Origin", "https://[::1]"}, {"Host", "[::1]:8080"}, {"Host", "localhost"},
		{"Content-Type", "Application/JSON; Charset=UTF-8"}, {"Content-Type", `application/json; charset="us-ascii"; x=y`}, {"Accept", ""}, {"Accept", "*/*"}, {"Accept", "text/event-stream"},
	} {
		if w := ask(f, "POST", mcpPath, `{"jsonrpc":"2.0","id":1,"method":"ping"}`, headers...); w.Code != 200 || w.Body.String() != `{"jsonrpc":"2.0","id":1,"result":{}}` {
			t.Errorf("%v: got %d %s", headers, w.Code, w.Body)
		}
	}
}

func TestALegacyClientIsServedWithoutASession(t *testing.T) {
	f, k := newFront(t, false)
	w := ask(f, "POST", mcpPath, `{"jsonrpc":"2.0","id":"x","method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"c","version":"1"}}}`)
	if w.Code != 200 || w.Header().Get("Mcp-Session-Id") != "" {
		t.Fatalf("got %d, session %q", w.Code, w.Header().Get("Mcp-Session-Id"))
	}
	var initialized struct {
		ID     string
		Result struct {
			ProtocolVersion string
			Capabilities    map[string]json.RawMessage
			ServerInfo      struct{ Name, Version string }
		}
	}
	if err := json.Unmarshal(w.Body.Bytes(), &initialized); err != nil {
		t.Fatal(err)
	}
	r := initialized.Result
	if initialized.ID != "x" || r.ProtocolVersion != "2025-06-18" || r.ServerInfo.Name != "mcprelay" || string(r.Capabilities["tools"]) != `{}` {
		t.Errorf("got %s", w.Body)
	}
	for asked, want := range map[string]string{"2026-07-28": "2025-11-25", "1999-01-01": "2025-11-25", "2024-11-05": "2024-11-05"} {
		w := ask(f, "POST", mcpPath, `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"`+asked+`","capabilities":{},"clientInfo":{"name":"c","version":"1"}}}`)
		if !strings.Contains(w.Body.String(), `"protocolVersion":"`+want+`"`) {
			t.Errorf("asked %s: got %s, want %s", asked, w.Body, want)
		}
	}
	w = ask(f, "POST", mcpPath, `{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	if w.Code != 202 || w.Body.Len() != 0 || w.Header().Get("Content-Type") != "" {
		t.Errorf("a notification got %d %q of type %q, want 202 and nothing", w.Code, w.Body, w.Header().Get("Content-Type"))
	}
	w = ask(f, "POST", mcpPath, `{"jsonrpc":"2.0","id":1,"method":"resources/subscribe","params":{"uri":"x"}}`)
	if w.Code != 200 || !strings.Contains(w.Body.String(), `"code":-32601`) {
		t.Errorf("an unknown method got %d %s", w.Code, w.Body)
	}
	if k.Requests.Load() != 2 {
		t.Errorf("the upstream saw %d requests, want its opening and its tools, once", k.Requests.Load())
	}
}

const meta = `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}`

func modern(f http.Handler, method, body string, headers ...string) *httptest.ResponseRecorder {
	return ask(f, "POST", mcpPath, body, append([]string{"MCP-Protocol-Version", "2026-07-28", "Mcp-Method", method}, headers...)...)
}

func TestAModernClientIsServedByDiscovery(t *testing.T) {
	f, k := newFront(t, false)
	w := modern(f, "server/discover", `{"jsonrpc":"2.0","id":1,"method":"server/discover","params":{`+meta+`}}`)
	for _, part := range []string{`"resultType":"complete"`, `"supportedVersions":["2026-07-28","2025-11-25"`, `"cacheScope":"private"`, `"ttlMs":`, `"io.modelcontextprotocol/serverInfo":{"name":"mcprelay","version":"9"}`} {
		if w.Code != 200 || !strings.Contains(w.Body.String(), part) {
			t.Errorf("got %d %s, want %s", w.Code, w.Body, part)
		}
	}
	if strings.Contains(w.Body.String(), "listChanged") || strings.Contains(w.Body.String(), "subscribe") {
		t.Errorf("capabilities that need a stream are announced: %s", w.Body)
	}
	if again := modern(f, "server/discover", `{"jsonrpc":"2.0","id":1,"method":"server/discover","params":{`+meta+`}}`); again.Code != 200 || k.Requests.Load() != 2 {
		t.Errorf("the upstream saw %d requests, want its opening and its tools, once", k.Requests.Load())
	}
}

func TestAModernRequestMustAgreeWithItsHeaders(t *testing.T) {
	f, k := newFront(t, false)
	body := `{"jsonrpc":"2.0","id":5,"method":"tools/call","params":{"name":"look","arguments":{},` + meta + `}}`
	for _, test := range []struct {
		name, body string
		headers    []string
		status     int
		code       string
	}{
		{"no method header", body, []string{"Mcp-Method", "", "Mcp-Name", "look"}, 400, "-32020"},
		{"another method", body, []string{"Mcp-Method", "tools/list", "Mcp-Name", "look"}, 400, "-32020"},
		{"no name header", body, nil, 400, "-32020"},
		{"another name", body, []string{"Mcp-Name", "edit"}, 400, "-32020"},
		{"no version header", body, []string{"MCP-Protocol-Version", "", "Mcp-Name", "look"}, 400, "-32020"},
		{"another version", body, []string{"MCP-Protocol-Version", "2025-11-25", "Mcp-Name", "look"}, 400, "-32020"},
		{"a future version", strings.ReplaceAll(body, "2026-07-28", "2027-01-01"), []string{"MCP-Protocol-Version", "2027-01-01", "Mcp-Name", "look"}, 400, "-32022"},
		{"no capabilities", strings.Replace(body, `,"io.modelcontextprotocol/clientCapabilities":{}`, "", 1), []string{"Mcp-Name", "look"}, 400, "-32602"},
		{"a method of the other era", strings.Replace(body, "tools/call", "initialize", 1), []string{"Mcp-Method", "initialize"}, 404, "-32601"},
	} {
		t.Run(test.name, func(t *testing.T) {
			w := modern(f, "tools/call", test.body, test.headers...)
			if w.Code != test.status || !strings.Contains(w.Body.String(), `"code":`+test.code) || !strings.Contains(w.Body.String(), `"id":5`) {
				t.Errorf("got %d %s, want %d %s", w.Code, w.Body, test.status, test.code)
			}
			if test.code == "-32022" && !strings.Contains(w.Body.String(), `"supported":["2026-07-28"`) {
				t.Errorf("the supported versions are not named: %s", w.Body)
			}
		})
	}
	if w := modern(f, "tools/call", body, "Mcp-Name", "=?base64?bG9vaw==?="); w.Code != 200 || !strings.Contains(w.Body.String(), `"result"`) {
		t.Errorf("an encoded name got %d %s", w.Code, w.Body)
	}
	if got := k.Posts.Load(); got != 1 {
		t.Errorf("the upstream saw %d calls, want the one good one", got)
	}
}

func TestListsShowWhatTheRulesOfferUnderOfferedNames(t *testing.T) {
	f, k := newFront(t, false)
	k.Lists = func(w http.ResponseWriter, _ *http.Request, body map[string]json.RawMessage) {
		kit.Result(w, body, `{"resultType":"complete","ttlMs":0,"cacheScope":"public","tools":[
			{"name":"look","inputSchema":{"type":"object","n":9007199254740993,"s":"<&>"}},
			{"name":"never","inputSchema":{}},{"inputSchema":{}, "name":"change"}]}`)
	}
	w := ask(f, "POST", mcpPath, `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`)
	want := `{"jsonrpc":"2.0","id":1,"result":{"tools":[{"inputSchema":{}, "name":"edit"},{"name":"look","inputSchema":{"type":"object","n":9007199254740993,"s":"<&>"}}]}}`
	if w.Body.String() != want {
		t.Errorf("got %s\nwant %s", w.Body, want)
	}
	w = modern(f, "tools/list", `{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{`+meta+`}}`)
	for _, part := range []string{`"resultType":"complete"`, `"cacheScope":"private"`, `"ttlMs":29`, `"name":"edit"`} {
		if !strings.Contains(w.Body.String(), part) {
			t.Errorf("got %s, want %s", w.Body, part)
		}
	}
}

func TestABoundToolIsCalledByItsOfferedNameOnly(t *testing.T) {
	f, k := newFront(t, false)
	var upstreamName string
	k.Answer = func(w http.ResponseWriter, _ *http.Request, body map[string]json.RawMessage) {
		var params struct{ Name string }
		_ = json.Unmarshal(body["params"], &params)
		upstreamName = params.Name
		kit.Result(w, body, `{"content":[]}`)
	}
	if w := ask(f, "POST", "/v1/servers/up/tools/edit", `{"arguments":{}}`); w.Code != 200 || upstreamName != "change" {
		t.Errorf("got %d %s, the upstream was asked for %q", w.Code, w.Body, upstreamName)
	}
	if w := ask(f, "POST", "/v1/servers/up/tools/change", `{"arguments":{}}`); w.Code != 404 || !strings.Contains(w.Body.String(), "unknown_tool") {
		t.Errorf("the upstream's own name got %d %s", w.Code, w.Body)
	}
}

func TestRepliesOfThePlainFace(t *testing.T) {
	f, k := newFront(t, false)
	const id = `{"call_id":"01JDXAMPLE0000000000000000","outcome":"answered",`
	for upstream, want := range map[string]string{
		`"result":{"content":[], "x":1.0}`:                 id + `"result":{"content":[], "x":1.0}}`,
		`"error":{"code":-32050,"message":"m","data":[1]}`: id + `"error":{"code":-32050,"message":"m","data":[1]}}`,
	} {
		k.Answer = func(w http.ResponseWriter, _ *http.Request, body map[string]json.RawMessage) {
			w.Header().Set("Content-Type", "application/json")
			_, _ = io.WriteString(w, `{"jsonrpc":"2.0","id":`+string(body["id"])+`,`+upstream+`}`)
		}
		w := ask(f, "POST", "/v1/servers/up/tools/look/", `{"arguments":{}}`)
		if w.Code != 200 || w.Body.String() != want {
			t.Errorf("got %d %s, want %s", w.Code, w.Body, want)
		}
		w = ask(f, "POST", mcpPath, `{"jsonrpc":"2.0","id":9007199254740993,"method":"tools/call","params":{"name":"look"}}`)
		if want := `{"jsonrpc":"2.0","id":9007199254740993,` + upstream + `}`; w.Code != 200 || w.Body.String() != want {
			t.Errorf("got %d %s, want %s", w.Code, w.Body, want)
		}
	}
}

func TestARequestWithoutAnIDIsNotANotification(t *testing.T) {
	f, k := newFront(t, false)
	w := ask(f, "POST", mcpPath, `{"jsonrpc":"2.0","method":"tools/call","params":{"name":"look"}}`)
	if w.Code != 400 || !strings.Contains(w.Body.String(), `"reason":"bad_request"`) {
		t.Errorf("got %d %s", w.Code, w.Body)
	}
	if record := k.Recorder.Only(t); record.Reason != call.BadRequest || k.Requests.Load() != 0 {
		t.Errorf("record %+v", record)
	}
}

func TestALegacyRequestMayNotContradictItself(t *testing.T) {
	f, _ := newFront(t, false)
	body := `{"jsonrpc":"2.0","id":1,"method":"ping","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2024-11-05"}}}`
	if w := ask(f, "POST", mcpPath, body, "MCP-Protocol-Version", "2025-11-25"); w.Code != 400 || !strings.Contains(w.Body.String(), "-32020") {
		t.Errorf("got %d %s", w.Code, w.Body)
	}
}

func TestAToolThatHidesBehindAnotherIsNotListed(t *testing.T) {
	f, k := newFront(t, false)
	k.Lists = func(w http.ResponseWriter, _ *http.Request, body map[string]json.RawMessage) {
		kit.Result(w, body, `{"tools":[{"name":"change","inputSchema":{}},{"name":"edit","inputSchema":{}}]}`)
	}
	w := ask(f, "POST", mcpPath, `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`)
	if got := strings.Count(w.Body.String(), `"name":"edit"`); got != 1 {
		t.Errorf("edit is listed %d times: %s", got, w.Body)
	}
}

func TestATraceContextIsKeptIfItIsOne(t *testing.T) {
	const good = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
	for given, want := range map[string]string{good: good, "": "", "x": "", good + "0": "", strings.ToUpper(good): ""} {
		f, k := newFront(t, false)
		if w := ask(f, "POST", "/v1/servers/up/tools/look", `{"arguments":{}}`, "Traceparent", given); w.Code != 200 {
			t.Errorf("%q refuses the call: %d %s", given, w.Code, w.Body)
		}
		if record := k.Recorder.Only(t); record.Traceparent != want {
			t.Errorf("%q is recorded as %q", given, record.Traceparent)
		}
	}
}

// timed records the deadlines that a handler sets on its connection.
type timed struct {
	*httptest.ResponseRecorder
	reads, writes []time.Time
}

func (w *timed) SetReadDeadline(t time.Time) error  { w.reads = append(w.reads, t); return nil }
func (w *timed) SetWriteDeadline(t time.Time) error { w.writes = append(w.writes, t); return nil }

func TestNoClientIsWaitedForWithoutEnd(t *testing.T) {
	f, _ := newFront(t, false)
	w := &timed{ResponseRecorder: httptest.NewRecorder()}
	r := httptest.NewRequest("POST", mcpPath, strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"ping"}`))
	r.Header.Set("Authorization", "Bearer good")
	r.Header.Set("Content-Type", "application/json")
	f.ServeHTTP(w, r)
	if len(w.reads) != 2 || time.Until(w.reads[0]) > front.BodyBudget || !w.reads[1].IsZero() {
		t.Errorf("read deadlines %v, want one for the body, lifted after it", w.reads)
	}
	if len(w.writes) != 1 || time.Until(w.writes[0]) > front.ReplyBudget || w.writes[0].IsZero() {
		t.Errorf("write deadlines %v, want one for the reply", w.writes)
	}
}

func TestAPanicIsAConstant(t *testing.T) {
	f, k := newFront(t, false)
	f.NewID = func(time.Time) string { return "01JDXAMPLE0000000000000000" }
	f.Authenticate = func(context.Context, http.Header) (call.Principal, *call.Refusal) { panic("a secret value") }
	w := ask(f, "POST", mcpPath, `{}`)
	if w.Code != 500 || !strings.Contains(w.Body.String(), `"reason":"internal"`) || strings.Contains(w.Body.String()+k.Log.String(), "a secret value") {
		t.Errorf("got %d %s, log %s", w.Code, w.Body, k.Log)
	}
}

func TestACredentialOfOnePathIsForNoOther(t *testing.T) {
	f, _ := newFront(t, false)
	f.Authenticate = func(ctx context.Context, h http.Header) (call.Principal, *call.Refusal) {
		p, refusal := authenticate(ctx, h)
		p.Path = "/v1/mcp"
		return p, refusal
	}
	const ping = `{"jsonrpc":"2.0","id":1,"method":"ping"}`
	if w := ask(f, "POST", "/v1/mcp", ping, "Accept", "application/json, text/event-stream"); w.Code != 200 {
		t.Errorf("its path: got %d %s", w.Code, w.Body)
	}
	for _, path := range []string{mcpPath, "/v1/servers/up/tools/look"} {
		if w := ask(f, "POST", path, ping, "Accept", "application/json, text/event-stream"); w.Code != 401 || w.Header().Get("WWW-Authenticate") == "" {
			t.Errorf("%s: got %d %s, want 401 and a challenge", path, w.Code, w.Body)
		}
	}
}

func TestPathsThatAreNobodys(t *testing.T) {
	f, _ := newFront(t, false)
	for _, path := range []string{"/", "/v1", "/v1/servers//mcp", "/v1/servers/up", "/v2/servers/up/mcp", "/v1/servers/up/mcp/x", "//v1/servers/up/mcp"} {
		if w := ask(f, "POST", path, `{}`); w.Code != 404 || w.Header().Get("Location") != "" {
			t.Errorf("%s: got %d, Location %q", path, w.Code, w.Header().Get("Location"))
		}
	}
	if w := ask(f, "POST", "/healthz", ``); w.Code != 405 {
		t.Errorf("POST /healthz: %d, want 405", w.Code)
	}
}
