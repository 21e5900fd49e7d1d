package e2e_test

import (
	"net"
	"strings"
	"testing"

	"mcprelay/shared/call"
)

// A relay that is registered with itself refuses the address.
func TestARelayDoesNotCallItself(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	addr := listener.Addr().String()
	listener.Close()
	config := writeConfig(t, []server{entry("self", "http://"+addr+"/v1/servers/self/mcp", nil)}, []rule{allow("mcp.self.host.127.0.0.1"), allow("mcp.self.tool.*")}, nil)
	data := t.TempDir()
	relay := serve(t, nil, "--config", config, "--data", data, "--allow-loopback", "--listen", addr)
	checkProblem(t, relay.post(t, "/v1/servers/self/tools/echo", `{"arguments":{}}`), 508, call.Loop)
	if records := trail(t, data); len(records) != 1 || records[0].Outcome != call.RefusedByAddress {
		t.Errorf("records %+v, want one", records)
	}
}

// A relay behind a relay refuses what the first one sends: it cannot know that
// the chain is not a circle.
func TestARelayBehindARelayRefuses(t *testing.T) {
	up := startUpstream(t)
	data := t.TempDir()
	second := serve(t, nil, "--allow-loopback", "--data", data, "--config",
		writeConfig(t, []server{entry("up", up.url, nil)}, []rule{allow("mcp.up.host.127.0.0.1"), allow("mcp.up.tool.*")}, nil))
	next := entry("next", second.url+"/v1/servers/up/mcp", nil).with("auth", map[string]any{"type": "bearer", "token_ref": "next-ref"})
	next["secrets"] = map[string]any{"next-ref": "E2E_NEXT"}
	first := serve(t, []string{"E2E_NEXT=" + second.token}, "--allow-loopback", "--data", t.TempDir(), "--config",
		writeConfig(t, []server{next}, []rule{allow("mcp.next.host.127.0.0.1"), allow("mcp.next.tool.*"), allow("secret.use.next-ref")}, nil))
	if r := first.post(t, "/v1/servers/next/tools/echo", `{"arguments":{}}`); r.status == 200 || !strings.Contains(string(r.body), `"effect":"none"`) {
		t.Errorf("got %d %s", r.status, r.body)
	}
	if record := last(t, data); record.Reason != call.Loop {
		t.Errorf("the second relay recorded %+v", record)
	}
	if got := up.all.Load(); got != 0 {
		t.Errorf("the server saw %d requests, want 0", got)
	}
}
