package e2e_test

import (
	"fmt"
	"strings"
	"testing"

	"mcprelay/test/peers"
)

// exact are arguments that a decoder which rebuilds them would change.
var exact = []string{
	`{"n":9007199254740993}`, `{"n":9223372036854775807}`, `{"n":1.0}`, `{"n":1e2}`, `{"n":-0}`, `{"n":0.1e-7}`,
	`{"z":1,"a":2,"m":{"y":1,"b":2}}`, `{"s":"<&>\u003c\/"}`, `{"s":"\ud83d\ude00 😀"}`, `{"space" : [ 1 , 2 ]}`, `{"":null}`, `{}`,
}

func TestBytesSurviveBothFaces(t *testing.T) {
	up := startUpstream(t)
	config := writeConfig(t, []server{entry("up", up.url, map[string]string{"echo": "read"})},
		[]rule{allow("mcp.up.host.127.0.0.1"), allow("mcp.up.tool.*")}, nil)
	relay := serve(t, nil, "--config", config, "--data", t.TempDir(), "--allow-loopback")
	for _, arguments := range exact {
		replies := map[string]reply{
			"plain":  relay.post(t, "/v1/servers/up/tools/echo", `{"arguments":`+arguments+`}`),
			"legacy": relay.post(t, "/v1/servers/up/mcp", `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo","arguments":`+arguments+`}}`),
			"modern": relay.post(t, "/v1/servers/up/mcp", `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"arguments":`+arguments+`,"name":"echo",`+modernMeta+`}}`,
				"MCP-Protocol-Version", "2026-07-28", "Mcp-Method", "tools/call", "Mcp-Name", "echo"),
		}
		for face, r := range replies {
			if want := `"structuredContent":` + arguments; r.status != 200 || !strings.Contains(string(r.body), want) {
				t.Errorf("%s face: %d %s, want %s in it", face, r.status, r.body, want)
			}
		}
		if got, _ := up.last(); string(got) != arguments {
			t.Errorf("the server got %s, want %s", got, arguments)
		}
	}
	if got, want := up.calls.Load(), int64(3*len(exact)); got != want {
		t.Errorf("the server saw %d calls, want %d", got, want)
	}
}

func TestBytesSurviveARealServer(t *testing.T) {
	// server-everything's echo gives its message back inside a text.
	counter := peers.Counted(t, peers.Everything(t))
	config := writeConfig(t, []server{entry("up", counter.URL, map[string]string{"echo": "read"})},
		[]rule{allow("mcp.up.host.127.0.0.1"), allow("mcp.up.tool.*")}, nil)
	relay := serve(t, nil, "--config", config, "--data", t.TempDir(), "--allow-loopback")
	message := `<&> é 😀 9007199254740993`
	for _, r := range []reply{
		relay.post(t, "/v1/servers/up/tools/echo", fmt.Sprintf(`{"arguments":{"message":%q}}`, message)),
		relay.post(t, "/v1/servers/up/mcp", fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo","arguments":{"message":%q}}}`, message)),
	} {
		if r.status != 200 || !strings.Contains(string(r.body), message) {
			t.Errorf("got %d %s, want %q in it", r.status, r.body, message)
		}
	}
}

func TestTheCredentialReachesTheServerAndNobodyElse(t *testing.T) {
	const bearer, key = "bearer-0123456789abcdef", "header-fedcba9876543210"
	up := startUpstream(t)
	b := entry("b", up.url, map[string]string{"echo": "read"}).with("auth", map[string]any{"type": "bearer", "token_ref": "b-ref"})
	b["secrets"] = map[string]any{"b-ref": "E2E_BEARER"}
	h := entry("h", up.url, map[string]string{"echo": "read"}).with("auth", map[string]any{"type": "headers", "headers": []any{map[string]any{"as": "X-Api-Key", "token_ref": "h-ref"}}})
	h["secrets"] = map[string]any{"h-ref": "E2E_KEY"}
	config := writeConfig(t, []server{b, h}, []rule{
		allow("mcp.b.host.127.0.0.1"), allow("mcp.b.tool.*"), allow("secret.use.b-ref"),
		allow("mcp.h.host.127.0.0.1"), allow("mcp.h.tool.*"), allow("secret.use.h-ref"),
	}, nil)
	data := t.TempDir()
	relay := serve(t, []string{"E2E_BEARER=" + bearer, "E2E_KEY=" + key}, "--config", config, "--data", data, "--allow-loopback")

	reply := relay.post(t, "/v1/servers/b/tools/echo", `{"arguments":{"leak":"`+bearer+`"}}`, "Idempotency-Key", "k-1", "X-Custom", "v", "Cookie", "a=b")
	_, headers := up.last()
	if got := headers.Get("Authorization"); got != "Bearer "+bearer {
		t.Errorf("the server got Authorization %q", got)
	}
	for _, name := range []string{"Idempotency-Key", "X-Custom", "Cookie", "X-Forwarded-For", "Origin"} {
		if got := headers.Get(name); got != "" {
			t.Errorf("the agent's %s reached the server: %q", name, got)
		}
	}
	if strings.Contains(string(reply.body), bearer) || !strings.Contains(string(reply.body), "[redacted]") {
		t.Errorf("the reply is not masked: %s", reply.body)
	}
	record := last(t, data)
	if record.Masked != 1 || len(record.Secrets) != 1 || record.Secrets[0].Ref != "b-ref" || strings.Contains(record.ArgumentsPreview, bearer) {
		t.Errorf("record %+v", record)
	}

	relay.post(t, "/v1/servers/h/tools/echo", `{"arguments":{}}`)
	_, headers = up.last()
	if headers.Get("X-Api-Key") != key || headers.Get("Authorization") != "" {
		t.Errorf("the server got %v", headers)
	}
	if log := relay.stderr.String(); strings.Contains(log, bearer) || strings.Contains(log, key) || strings.Contains(log, relay.token) {
		t.Errorf("the log holds a secret: %s", log)
	}
}
