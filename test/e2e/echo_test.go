package e2e_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"mcprelay/shared/audit"
	"mcprelay/shared/call"
	"mcprelay/test/peers"
)

// modernMeta is the _meta of a 2026-07-28 request.
const modernMeta = `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"e2e","version":"1"},"io.modelcontextprotocol/clientCapabilities":{}}`

// peer is one real MCP server with a tool that says something known.
type peer struct {
	name      string
	url       func(testing.TB) string
	tool      string
	arguments string
	says      string
	era       string
	session   string // of the first call
}

func everyPeer() []peer {
	return []peer{
		{"server-everything", peers.Everything, "echo", `{"message":"hi there"}`, "hi there", "legacy", "new"},
		{"go-stateful", peers.GoStateful, "test_simple_text", `{}`, "This is a simple text response for testing.", "legacy", "new"},
		{"go-stateless", peers.GoStateless, "test_simple_text", `{}`, "This is a simple text response for testing.", "modern", "none"},
	}
}

func TestEchoWorksThroughBothFacesAndBothEras(t *testing.T) {
	for _, peer := range everyPeer() {
		t.Run(peer.name, func(t *testing.T) {
			counter := peers.Counted(t, peer.url(t))
			data := t.TempDir()
			config := writeConfig(t,
				[]server{entry("up", counter.URL, map[string]string{peer.tool: "read"})},
				[]rule{allow("mcp.up.host.127.0.0.1"), allow("mcp.up.tool.*")}, nil)
			relay := serve(t, nil, "--config", config, "--data", data, "--allow-loopback")

			plain := relay.post(t, "/v1/servers/up/tools/"+peer.tool, `{"arguments":`+peer.arguments+`}`)
			if plain.status != 200 || !strings.Contains(string(plain.body), peer.says) {
				t.Fatalf("plain face: %d %s", plain.status, plain.body)
			}
			legacy := relay.post(t, "/v1/servers/up/mcp", fmt.Sprintf(`{"jsonrpc":"2.0","id":"a-1","method":"tools/call","params":{"name":%q,"arguments":%s}}`, peer.tool, peer.arguments))
			wantResult(t, legacy, `"a-1"`, peer.says)
			modern := relay.post(t, "/v1/servers/up/mcp", fmt.Sprintf(`{"jsonrpc":"2.0","id":9007199254740993,"method":"tools/call","params":{"name":%q,"arguments":%s,%s}}`, peer.tool, peer.arguments, modernMeta),
				"MCP-Protocol-Version", "2026-07-28", "Mcp-Method", "tools/call", "Mcp-Name", peer.tool)
			wantResult(t, modern, `9007199254740993`, peer.says)
			if !strings.Contains(string(modern.body), `"resultType":"complete"`) || !strings.Contains(string(modern.body), `"name":"mcprelay"`) {
				t.Errorf("a modern result lacks its type or the relay's serverInfo: %s", modern.body)
			}

			if got := counter.Posts("tools/call"); got != 3 {
				t.Errorf("the server saw %d calls, want 3", got)
			}
			if got := counter.Posts("initialize"); got > 1 || (got == 1) != (peer.era == "legacy") {
				t.Errorf("the server saw %d initializes in the %s era", got, peer.era)
			}
			if counter.Gets() != 0 {
				t.Errorf("the server saw %d GETs, want 0", counter.Gets())
			}
			checkTrail(t, trail(t, data), peer)
		})
	}
}

func wantResult(t *testing.T, r reply, id, says string) {
	t.Helper()
	var message struct {
		ID     json.RawMessage
		Result json.RawMessage
	}
	if err := json.Unmarshal(r.body, &message); err != nil || r.status != 200 {
		t.Fatalf("status %d, body %s: %v", r.status, r.body, err)
	}
	if string(message.ID) != id || !strings.Contains(string(message.Result), says) {
		t.Errorf("id %s (want %s), result %s (want %q in it)", message.ID, id, message.Result, says)
	}
}

func checkTrail(t *testing.T, records []audit.Record, peer peer) {
	t.Helper()
	if len(records) != 3 {
		t.Fatalf("got %d audit records, want one a call, 3", len(records))
	}
	for i, record := range records {
		if record.State != audit.StateFinal || record.Outcome != call.Answered || record.Reason != call.OK ||
			record.Agent != "local" || record.Tool != peer.tool || record.Rule != "mcp.up.tool.*" ||
			record.Decision != call.Allow || record.Posts != 1 || record.Era != peer.era {
			t.Errorf("record %d: %+v", i, record)
		}
	}
	first, later := records[2], records[0]
	if first.Session != peer.session {
		t.Errorf("the first call's session is %q, want %q", first.Session, peer.session)
	}
	if want := map[string]string{"new": "reused", "none": "none"}[peer.session]; later.Session != want {
		t.Errorf("a later call's session is %q, want %q", later.Session, want)
	}
}

func TestASecondProcessReusesTheStoredSession(t *testing.T) {
	for _, peer := range everyPeer() {
		t.Run(peer.name, func(t *testing.T) {
			counter := peers.Counted(t, peer.url(t))
			data := t.TempDir()
			config := writeConfig(t,
				[]server{entry("up", counter.URL, map[string]string{peer.tool: "read"})},
				[]rule{allow("mcp.up.host.127.0.0.1"), allow("mcp.up.tool.*")}, nil)
			for range 2 {
				out, errs, code := command(t, nil, "call", "up", peer.tool, peer.arguments, "--config", config, "--data", data, "--allow-loopback")
				if code != 0 || !strings.Contains(out, peer.says) {
					t.Fatalf("relay call: exit %d, %q, %s", code, out, errs)
				}
				if !strings.Contains(errs, `"outcome":"answered"`) {
					t.Errorf("relay call prints no audit line on stderr: %s", errs)
				}
			}
			if got := counter.Posts("tools/call"); got != 2 {
				t.Errorf("the server saw %d calls, want 2", got)
			}
			opened := counter.Posts("initialize") + counter.Posts("server/discover")
			want := map[string]int{"legacy": 2, "modern": 1}[peer.era] // a legacy server is asked once whether it is modern
			if opened != want || counter.Posts("initialize") > 1 {
				t.Errorf("the server saw %d openings (%d initializes), want %d by the first process alone", opened, counter.Posts("initialize"), want)
			}
		})
	}
}
