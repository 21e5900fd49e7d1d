package openapi_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"mcprelay/shared/idempotency"
	"mcprelay/test/kit"
)

const (
	ping    = `{"jsonrpc":"2.0","id":1,"method":"ping"}`
	meta    = `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}`
	toolURL = "/v1/servers/up/tools/look"
)

// requests are good requests of the operations that need a credential.
func requests() map[string]request {
	return map[string]request{
		"mcpOfAllServers": {method: "POST", path: "/v1/mcp", body: ping},
		"mcpOfOneServer":  {method: "POST", path: "/v1/servers/up/mcp", body: ping},
		"listServers":     {method: "GET", path: "/v1/servers"},
		"listTools":       {method: "GET", path: "/v1/servers/up/tools"},
		"listResources":   {method: "GET", path: "/v1/servers/up/resources"},
		"listPrompts":     {method: "GET", path: "/v1/servers/up/prompts"},
		"callTool":        {method: "POST", path: toolURL, body: `{"arguments":{"text":"hello"}}`},
		"closeRun":        {method: "DELETE", path: "/v1/runs/one"},
		"openTurn":        {method: "POST", path: "/v1/turns", body: `{"mode":"ask"}`},
		"endTurn":         {method: "DELETE", path: "/v1/turns/" + turnID("ci")},
		"simulateCall":    {method: "POST", path: "/v1/admin/simulate", body: `{"subject":"ci","server":"up","tool":"look"}`},
	}
}

func (q request) with(headers ...string) request {
	q.headers = append(q.headers, headers...)
	return q
}

func (q request) at(path string) request { q.path = path; return q }

func (q request) saying(body string) request { q.body = body; return q }

func isMCP(operation string) bool { return strings.HasPrefix(operation, "mcp") }

// gated is what every operation with a credential has in common.
func gated() []scenario {
	var all []scenario
	for id, good := range requests() {
		add := func(name string, status int, q request) {
			s := scenario{name: name, operation: id, status: status, request: q}
			if id == "endTurn" {
				s.arrange = opened("ci")
			}
			all = append(all, s)
		}
		if id == "openTurn" {
			add("good", 201, good)
		} else {
			add("good", 200, good)
		}
		add("no credential", 401, good.with("Authorization", ""))
		add("no scope", 403, good.with("Authorization", "Bearer reader"))
		add("a foreign origin", 403, good.with("Origin", "https://evil.example.com"))
		add("no store of tokens", 503, good.with("Authorization", "Bearer down"))
		add("a fault", 500, good.with("Authorization", "Bearer fault"))
		if id == "closeRun" {
			add("a run that is too long", 400, good.at("/v1/runs/"+strings.Repeat("r", 129)))
		} else {
			add("a malformed run", 400, good.with("X-Relay-Run", "a\x01"))
		}
		if !isMCP(id) {
			add("a circle", 508, good.with("Via", "1.1 mcprelay"))
		}
	}
	return all
}

// mcp is what the MCP paths answer beside.
func mcp() []scenario {
	var all []scenario
	for _, id := range []string{"mcpOfAllServers", "mcpOfOneServer"} {
		good, prefix := requests()[id], ""
		if id == "mcpOfAllServers" {
			prefix = "up__"
		}
		ask := good.saying(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"` + prefix + `look","_meta":{"progressToken":"p"}}}`)
		all = append(all,
			scenario{name: "a notification", operation: id, status: 202, request: good.saying(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)},
			scenario{name: "no JSON", operation: id, status: 400, request: good.saying(`{`)},
			scenario{name: "an unknown method of the new era", operation: id, status: 404, request: good.saying(`{"jsonrpc":"2.0","id":1,"method":"nothing","params":{`+meta+`}}`).
				with("MCP-Protocol-Version", "2026-07-28", "Mcp-Method", "nothing")},
			scenario{name: "a large body", operation: id, status: 413, request: good.saying(strings.Repeat(" ", 1<<20+1))},
			scenario{name: "another type", operation: id, status: 415, request: good.with("Content-Type", "text/plain")},
			scenario{name: "an answer", operation: id, status: 200, request: ask},
			scenario{name: "a refusal", operation: id, status: 200, request: ask, arrange: func(_ *testing.T, k *kit.Relay) {
				k.Secrets = func() (string, string) { return "", "" }
			}},
			scenario{name: "a server's error", operation: id, status: 200, request: ask, arrange: func(_ *testing.T, k *kit.Relay) { k.Answer = rpcError }},
			scenario{name: "progress", operation: id, status: 200, stream: true, request: ask, arrange: func(_ *testing.T, k *kit.Relay) { k.Answer = progress }},
		)
	}
	return all
}

// rpcError answers with an error of the server's own.
func rpcError(w http.ResponseWriter, _ *http.Request, body map[string]json.RawMessage) {
	w.Header().Set("Content-Type", "application/json")
	fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"error":{"code":-32050,"message":"m","data":[1]}}`, body["id"])
}

// progress answers with a notification before the result.
func progress(w http.ResponseWriter, _ *http.Request, body map[string]json.RawMessage) {
	var params struct {
		Meta struct {
			Token json.RawMessage `json:"progressToken"`
		} `json:"_meta"`
	}
	if err := json.Unmarshal(body["params"], &params); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	w.Header().Set("Content-Type", "text/event-stream")
	fmt.Fprintf(w, "data: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/progress\",\"params\":{\"progressToken\":%s,\"progress\":1}}\n\n", params.Meta.Token)
	fmt.Fprintf(w, "data: {\"jsonrpc\":\"2.0\",\"id\":%s,\"result\":{\"resultType\":\"complete\",\"content\":[]}}\n\n", body["id"])
}

// silent never answers.
func silent(_ http.ResponseWriter, r *http.Request, _ map[string]json.RawMessage) {
	<-r.Context().Done()
}

// plain is what the plain paths answer beside.
func plain() []scenario {
	tool := requests()["callTool"]
	call := func(name string, status int, q request, arrange func(*testing.T, *kit.Relay)) scenario {
		return scenario{name: name, operation: "callTool", status: status, request: q, arrange: arrange}
	}
	all := []scenario{
		call("no JSON", 400, tool.saying(`{`), nil),
		call("a malformed key", 400, tool.with("Idempotency-Key", "a b"), nil),
		call("a denied tool", 403, tool.at("/v1/servers/up/tools/never"), nil),
		call("a denied tool, unexplained", 404, tool.at("/v1/servers/up/tools/never"), unexplained),
		call("a large body", 413, tool.saying(`{"arguments":{"text":"`+strings.Repeat("x", 1<<20)+`"}}`), nil),
		call("another type", 415, tool.with("Content-Type", "text/plain"), nil),
		call("a server's error", 200, tool, func(_ *testing.T, k *kit.Relay) { k.Answer = rpcError }),
		call("no secret", 502, tool, func(_ *testing.T, k *kit.Relay) { k.Secrets = func() (string, string) { return "", "" } }),
		call("no record", 503, tool.at("/v1/servers/up/tools/change"), func(_ *testing.T, k *kit.Relay) { k.Recorder.FailIntent = true }),
		call("a fault in the pipeline", 500, tool.at("/v1/servers/up/tools/change"), func(_ *testing.T, k *kit.Relay) { k.Recorder.PanicIntent = "a fault" }),
		call("a key of another request", 422, tool.with("Idempotency-Key", "k"), used(idempotency.Record{Digest: "other", State: idempotency.Done})),
		call("a key in use", 409, tool.with("Idempotency-Key", "k"), used(idempotency.Record{State: idempotency.Running})),
		{name: "a silent server", operation: "callTool", status: 504, request: tool, server: `,"request_timeout_ms":200`, arrange: func(_ *testing.T, k *kit.Relay) { k.Answer = silent }},
		{name: "a caller that left", operation: "callTool", status: 499, request: tool, context: func() context.Context {
			left, leave := context.WithCancel(context.Background())
			leave()
			return left
		}},
	}
	for _, id := range []string{"listTools", "listResources", "listPrompts"} {
		good := requests()[id]
		all = append(all,
			scenario{name: "an unknown server", operation: id, status: 404, request: good.at(strings.Replace(good.path, "/up/", "/other/", 1))},
			scenario{name: "a server that is down", operation: id, status: 502, request: good, arrange: func(_ *testing.T, k *kit.Relay) { k.Lists = rpcError }},
			scenario{name: "a server that does not open", operation: id, status: 504, request: good, server: `,"request_timeout_ms":200`, arrange: func(_ *testing.T, k *kit.Relay) { k.Legacy, k.Answer = true, silent }},
		)
	}
	return all
}

// unexplained keeps from agents why they are refused.
func unexplained(_ *testing.T, k *kit.Relay) {
	k.Registry.Registration.Settings.ExplainRefusals = false
}

// keys find one record under every key.
type keys struct {
	record func(idempotency.Record) idempotency.Record
}

// BeginKey gives the record that is there.
func (k keys) BeginKey(_ context.Context, _ idempotency.Key, mine idempotency.Record) (idempotency.Record, bool, error) {
	return k.record(mine), false, nil
}

// EndKey forgets.
func (k keys) EndKey(context.Context, idempotency.Key, idempotency.Record) error { return nil }

// used lets another call have the key; without a digest it is of the same request.
func used(there idempotency.Record) func(*testing.T, *kit.Relay) {
	return func(_ *testing.T, k *kit.Relay) {
		k.Relay.Keys = keys{func(mine idempotency.Record) idempotency.Record {
			if there.Digest == "" {
				there.Digest = mine.Digest
			}
			there.CallID, there.Until, there.Expires = "01JDXAMPLE0000000000000000", time.Now().Add(time.Minute), time.Now().Add(time.Hour)
			return there
		}}
	}
}

// about is what anybody may ask.
func about() []scenario {
	var all []scenario
	for _, method := range []string{"get", "head"} {
		suffix := map[string]string{"head": "Head"}[method]
		get := func(path string) request {
			return request{method: strings.ToUpper(method), path: path, headers: []string{"Authorization", ""}}
		}
		all = append(all,
			scenario{name: "anybody", operation: "describe" + suffix, status: 200, request: get("/v1/openapi.json")},
			scenario{name: "unchanged", operation: "describe" + suffix, status: 304, request: get("/v1/openapi.json").with("If-None-Match", "*")},
			scenario{name: "anybody", operation: "health" + suffix, status: 200, request: get("/healthz")},
		)
	}
	return all
}
