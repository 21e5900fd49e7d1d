package cases_test

import (
	"encoding/base64"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"mcprelay/shared/call"
	"mcprelay/test/hostile"
)

func contains(text, part string) bool { return strings.Contains(text, part) }

// Section E, second part: which era a server is of, and the headers of the
// modern one.
func detection() []row {
	return []row{
		{"E58", "any error that no modern server gives leads to initialize, the modern ones do not", detected},
		{"E59", "the headers are made of the body that is sent", headersOfBody},
		{"E60", "an agent's headers must agree with its body, and the next request is as good as any", agentHeaders},
	}
}

func discoverError(code, message, data string) string {
	return `{"jsonrpc":"2.0","id":$ID,"error":{"code":` + code + `,"message":"` + message + `"` + data + `}}`
}

func detected(t *testing.T, k *stage) {
	for _, v := range []variant{
		{"a session is required", hostile.Status(400, "application/json", `{"jsonrpc":"2.0","id":null,"error":{"code":-32000,"message":"Mcp-Session-Id header is required"}}`)},
		{"not initialized", hostile.Status(400, "application/json", discoverError("-32000", "Bad Request: Server not initialized", ""))},
		{"200 -32601", hostile.JSON(discoverError("-32601", "Method not found", ""))},
		{"200 -32602", hostile.JSON(discoverError("-32602", "Invalid request parameters", ""))},
		{"200 -32600", hostile.JSON(discoverError("-32600", "Invalid Request", ""))},
		{"200 -32603", hostile.JSON(discoverError("-32603", "Internal error", ""))},
		{"200 0", hostile.JSON(discoverError("0", "Received request before initialization was complete", ""))},
		{"-32601 in a stream", hostile.Stream(hostile.Event(discoverError("-32601", "Method not found", "")))},
		{"400 and nothing", hostile.Status(400, "", "")},
		{"400 in words", hostile.Status(400, "text/plain", "Invalid request payload JSON format")},
		{"404", hostile.Status(404, "text/plain", "404 page not found\n")},
		{"404 -32601", hostile.Status(404, "application/json", discoverError("-32601", "Method not found", ""))},
		{"405", hostile.Status(405, "", "", "Allow: GET")},
		{"406", hostile.Status(406, "application/json", `{"error":"no"}`)},
		{"422", hostile.Status(422, "application/json", `{"detail":[]}`)},
		{"200 and a page", hostile.Status(200, "text/html", page)},
		{"202", hostile.Status(202, "", "")},
		{"-32022 that names old versions", hostile.Status(400, "application/json", discoverError("-32022", "Unsupported protocol version", `,"data":{"supported":["2025-11-25","2025-06-18"],"requested":"2026-07-28"}`))},
	} {
		t.Run("legacy: "+v.name, func(t *testing.T) {
			s := k.set(t, hostile.Options{Era: hostile.Legacy, On: map[string]hostile.Script{"server/discover": v.script}}, hostile.Setup{})
			reply := s.ask(hostile.Ask{}, want{opened: 1, session: "new"})
			if reply.Record.Era != "legacy" || s.up.Count("server/discover") != 1 {
				t.Errorf("era %s after %v", reply.Record.Era, s.up.Sequence())
			}
			s.ask(hostile.Ask{}, want{session: "reused"})
		})
	}
	for _, v := range []variant{
		{"-32020", hostile.Status(400, "application/json", discoverError("-32020", "Header mismatch", ""))},
		{"-32021", hostile.Status(400, "application/json", discoverError("-32021", "Missing capability", ""))},
		{"200 -32020", hostile.JSON(discoverError("-32020", "Header mismatch", ""))},
	} {
		t.Run("modern: "+v.name, func(t *testing.T) {
			s := k.set(t, hostile.Options{On: map[string]hostile.Script{"server/discover": v.script}}, hostile.Setup{})
			reply := s.ask(hostile.Ask{}, want{session: "none"})
			if reply.Record.Era != "modern" {
				t.Errorf("era %s", reply.Record.Era)
			}
		})
	}
	turned(t, k)
	for _, v := range []struct {
		name   string
		script hostile.Script
		w      want
	}{
		{"-32022 that names versions of the future", hostile.Status(400, "application/json", discoverError("-32022", "Unsupported protocol version", `,"data":{"supported":["2099-01-01"]}`)), want{reason: call.NoCommonVersion}},
		{"401", hostile.Status(401, "", "", "WWW-Authenticate: Bearer"), want{reason: call.UpstreamUnauthorized, status: 401}},
		{"403", hostile.Status(403, "text/html", page), want{reason: call.UpstreamUnauthorized, status: 403}},
		{"429", hostile.Status(429, "", ""), want{reason: call.InitializeFailed, status: 429}},
		{"500", hostile.Status(500, "", ""), want{reason: call.InitializeFailed, status: 500}},
		{"503", hostile.Status(503, "text/html", page), want{reason: call.InitializeFailed, status: 503}},
		{"a redirect", hostile.Status(307, "", "", "Location: /mcp/"), want{reason: call.Redirect, status: 307}},
		{"a reset", hostile.Reset, want{reason: call.InitializeFailed}},
	} {
		t.Run("nothing is tried: "+v.name, func(t *testing.T) {
			s := k.set(t, hostile.Options{Era: hostile.Legacy, On: map[string]hostile.Script{"server/discover": v.script}}, hostile.Setup{})
			v.w.effect, v.w.calls = call.ImpactNone, none
			s.ask(hostile.Ask{}, v.w)
			s.up.On("server/discover", nil)
			s.ask(hostile.Ask{}, want{opened: 1, session: "new"}) // nothing was remembered
		})
	}
}

// turned is a modern server that has become one of 2025-11-25 by the time of
// the call, and says so as it pleases.
func turned(t *testing.T, k *stage) {
	const named = `,"data":{"supported":["2025-11-25","2025-06-18"],"requested":"2026-07-28"}`
	for _, v := range []variant{
		{"400 -32022", hostile.Status(400, "application/json", discoverError("-32022", "Unsupported protocol version", named))},
		{"200 -32022", hostile.JSON(discoverError("-32022", "Unsupported protocol version", named))},
		{"400 -32602 that names them", hostile.Status(400, "application/json", discoverError("-32602", "Unsupported protocol version", named))},
		{"400 -32000 in words", hostile.Status(400, "application/json", discoverError("-32000", "Bad Request: Unsupported protocol version: 2026-07-28 (supported versions: 2025-11-25, 2025-06-18)", ""))},
	} {
		t.Run("turned: "+v.name, func(t *testing.T) {
			s := k.set(t, hostile.Options{Era: hostile.Legacy}, hostile.Setup{})
			s.up.On("server/discover", hostile.Result(`{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{"tools":{}}}`))
			s.up.On("tools/list", hostile.Result(`{"tools":[{"name":"echo","inputSchema":{"type":"object"}}]}`))
			s.up.On("tools/call", hostile.Sequence(v.script, s.up.Honest))
			reply := s.ask(hostile.Ask{}, want{calls: 2, opened: 1, session: "new"})
			if reply.Record.Era != "legacy" {
				t.Errorf("era %s", reply.Record.Era)
			}
			s.ask(hostile.Ask{}, want{session: "reused"})
		})
	}
}

func headersOfBody(t *testing.T, k *stage) {
	s := k.set(t, hostile.Options{Tools: []string{`{"name":"a.b/c d","inputSchema":{"type":"object"}}`, `{"name":"=?base64?eA==?=","inputSchema":{"type":"object"}}`, `{"name":"caf\u00e9","inputSchema":{"type":"object"}}`}},
		hostile.Setup{Server: hostile.Keys{"bindings": hostile.Keys{"a.b/c d": "plain", "=?base64?eA==?=": "sentinel", "café": "coffee"}, "effects": hostile.Keys{}}})
	for offered, upstream := range map[string]string{"plain": "a.b/c d", "sentinel": "=?base64?eA==?=", "coffee": "café"} {
		for _, modern := range []bool{false, true} {
			s.ask(hostile.Ask{Tool: offered, Modern: modern, Header: http.Header{
				"Mcp-Param-Region": {"evil"}, "Mcp-Session-Id": {"evil"}, "X-Evil": {"evil"}, "Cookie": {"evil"}, "X-Forwarded-For": {"evil"}, "Idempotency-Key": {fmt.Sprint("evil-", offered, modern)},
			}}, want{})
			got := s.up.Last("tools/call")
			if got.Name != upstream || got.Header.Get("Mcp-Method") != "tools/call" {
				t.Errorf("%s: the server got %q, %q", offered, got.Name, got.Header.Get("Mcp-Method"))
			}
			if contains(got.Head, "evil") {
				t.Errorf("a header of the agent's went upstream:\n%s", got.Head)
			}
		}
	}
	legacy := k.warm(t, hostile.Legacy, hostile.Setup{})
	legacy.ask(hostile.Ask{Modern: true}, want{session: "reused"})
	if got := legacy.up.Last("tools/call"); contains(string(got.Body), "io.modelcontextprotocol/") {
		t.Errorf("a legacy server got %s", got.Body)
	}
}

func agentHeaders(t *testing.T, k *stage) {
	k.eras(t, hostile.Setup{}, func(t *testing.T, s *scene) {
		s.t = t
		s.paths(func(s *scene, all bool) {
			name := map[bool]string{false: "echo", true: "up__echo"}[all]
			contradicted(s, all, name)
			for spelling, header := range map[string]http.Header{
				"encoded":       {"Mcp-Name": {"=?base64?" + base64.StdEncoding.EncodeToString([]byte(name)) + "?="}},
				"blanks around": {"Mcp-Name": {" " + name + " "}, "Mcp-Method": {"tools/call "}},
				"lower case":    {"Mcp-Method": nil, "mcp-method": {"tools/call"}},
			} {
				s.under(spelling, func(s *scene) {
					s.ask(hostile.Ask{Modern: true, All: all, Header: header}, want{session: hostile.Held(s.up.Era())})
				})
			}
		})
	})
}

// contradicted sends headers that say something else than the body, each
// before an honest request.
func contradicted(s *scene, all bool, name string) {
	for _, header := range []http.Header{
		{"Mcp-Method": {"tools/list"}},
		{"Mcp-Method": {"Tools/Call"}},
		{"Mcp-Method": nil},
		{"Mcp-Name": {"change"}},
		{"Mcp-Name": nil},
		{"Mcp-Name": {map[string]string{"echo": "up__echo", "up__echo": "echo"}[name]}}, // the tool's name on the other path
		{"Mcp-Name": {"=?base64?Y2hhbmdl?="}},                                           // change
		{"Mcp-Name": {"=?base64?***?="}},
		{"Mcp-Method": {"tools/call", "tools/call"}},
		{"Mcp-Name": {name, name}},
		{"Mcp-Name": {name, "change"}},
		{"Mcp-Protocol-Version": {"2025-11-25"}},
		{"Mcp-Protocol-Version": {"2026-07-28", "2025-11-25"}},
		{"Mcp-Method": {"tools/call, tools/call"}},
	} {
		before := len(s.up.Requests())
		reply := s.relay.Call(s.t, hostile.Ask{Modern: true, All: all, Header: header})
		if failure := reply.Error(); reply.Status != http.StatusBadRequest || failure.Code != -32020 {
			s.t.Errorf("%v: got %d %s, want 400 and -32020", header, reply.Status, reply.Body)
		}
		if reply.Record.Reason != call.HeaderMismatch || reply.Record.Posts != 0 {
			s.t.Errorf("%v: the record says %s, %d POSTs", header, reply.Record.Reason, reply.Record.Posts)
		}
		s.counted("requests", len(s.up.Requests()), before)
		s.ask(hostile.Ask{Modern: true, All: all}, want{session: hostile.Held(s.up.Era())})
	}
}
