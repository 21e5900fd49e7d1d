package e2e_test

import (
	"fmt"
	"strings"
	"testing"

	"mcprelay/shared/call"
	"mcprelay/test/peers"
)

// TestHowManyPostsACallTakes counts at the server what a call costs it: the
// very first one, one of a new run when the era is known, and a warm one.
func TestHowManyPostsACallTakes(t *testing.T) {
	want := map[string][3]int{
		"go-stateless":      {3, 1, 1}, // discover, tools/list, call; a modern server has no sessions to open
		"go-stateful":       {4, 3, 1}, // discover, initialize, initialized, call; then without discover
		"server-everything": {4, 3, 1},
	}
	for _, peer := range everyPeer() {
		t.Run(peer.name, func(t *testing.T) {
			counter := peers.Counted(t, peer.url(t))
			config := writeConfig(t,
				[]server{entry("up", counter.URL, map[string]string{peer.tool: "read"})},
				[]rule{allow("mcp.up.host.127.0.0.1"), allow("mcp.up.tool.*")}, nil)
			relay := serve(t, nil, "--config", config, "--data", t.TempDir(), "--allow-loopback")
			for i, run := range []string{"one", "two", "two"} {
				counter.Reset()
				got := relay.post(t, "/v1/servers/up/tools/"+peer.tool, `{"arguments":`+peer.arguments+`}`, "X-Relay-Run", run)
				if got.status != 200 || !strings.Contains(string(got.body), peer.says) {
					t.Fatalf("call %d: %d %s", i, got.status, got.body)
				}
				if posts := counter.Posts(""); posts != want[peer.name][i] {
					t.Errorf("call %d took %d POSTs, want %d", i, posts, want[peer.name][i])
				}
			}
		})
	}
}

// TestALevelIsOnePostOfItsOwn: servers that announce logging and keep sessions
// are told a level when the agent sets one, in the session of its calls, and at
// no other time, whatever the agent accepts.
func TestALevelIsOnePostOfItsOwn(t *testing.T) {
	const look, set = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":%q,"arguments":%s}}`, `{"jsonrpc":"2.0","id":1,"method":"logging/setLevel","params":{"level":"debug"}}`
	for _, peer := range everyPeer() {
		if peer.name == "go-stateless" { // it keeps no sessions
			continue
		}
		t.Run(peer.name, func(t *testing.T) {
			counter := peers.Counted(t, peer.url(t))
			config := writeConfig(t,
				[]server{entry("up", counter.URL, map[string]string{peer.tool: "read"})},
				[]rule{allow("mcp.up.host.127.0.0.1"), allow("mcp.up.tool.*")}, nil)
			data := t.TempDir()
			relay := serve(t, nil, "--config", config, "--data", data, "--allow-loopback")
			opening := relay.post(t, "/v1/servers/up/mcp", `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"c","version":"1"}}}`)
			if !strings.Contains(string(opening.body), `"logging":{}`) {
				t.Fatalf("the server announces no logging: %s", opening.body)
			}
			ask := func(body, run string, want int) {
				t.Helper()
				counter.Reset()
				got := relay.post(t, "/v1/servers/up/mcp", body, "X-Relay-Run", run, "Accept", "application/json, text/event-stream")
				if got.status != 200 || !strings.Contains(string(got.body), `"result":`) {
					t.Fatalf("%s: %d %s", body, got.status, got.body)
				}
				if posts := counter.Posts(""); posts != want {
					t.Errorf("%s of run %s took %d POSTs, want %d", body, run, posts, want)
				}
			}
			tools := fmt.Sprintf(look, peer.tool, peer.arguments)
			ask(tools, "one", 3) // initialize, initialized, call
			if counter.Posts("logging/setLevel") != 0 {
				t.Error("a level was set that nobody asked for")
			}
			ask(set, "one", 1)
			ask(set, "two", 3) // initialize, initialized, the level
			level := counter.All()[2]
			ask(tools, "two", 1)
			if id := counter.All()[0].Header.Get("Mcp-Session-Id"); level.RPC != "logging/setLevel" || id == "" || level.Header.Get("Mcp-Session-Id") != id {
				t.Errorf("%s went into another session than the call", level.RPC)
			}
			if n := recordsOf(t, data, "logging/setLevel"); n != 2 {
				t.Errorf("%d records of levels, want 2", n)
			}
		})
	}
}

// recordsOf counts the records of one operation.
func recordsOf(t *testing.T, data string, operation call.Operation) (n int) {
	t.Helper()
	for _, record := range trail(t, data) {
		if record.Operation == operation && record.Outcome == call.Answered {
			n++
		}
	}
	return n
}

func TestACatalogSparesTheNextProcessTheList(t *testing.T) {
	counter := peers.Counted(t, peers.GoStateless(t))
	config := writeConfig(t, []server{entry("up", counter.URL, nil)}, []rule{allow("mcp.up.host.127.0.0.1"), allow("mcp.up.tool.*")}, nil)
	data := t.TempDir()
	for i, want := range []int{3, 1} {
		counter.Reset()
		out, errs, code := command(t, nil, "call", "up", "test_simple_text", "{}", "--config", config, "--data", data, "--allow-loopback")
		if code != 0 || !strings.Contains(out, "simple text") {
			t.Fatalf("process %d: exit %d, %s", i, code, errs)
		}
		if got := counter.Posts(""); got != want {
			t.Errorf("process %d took %d POSTs, want %d", i, got, want)
		}
	}
}

func TestClosingARunEndsItsSessionsAtTheServer(t *testing.T) {
	counter := peers.Counted(t, peers.Everything(t))
	config := writeConfig(t, []server{entry("up", counter.URL, map[string]string{"echo": "read"})}, []rule{allow("mcp.up.host.127.0.0.1"), allow("mcp.up.tool.*")}, nil)
	data := t.TempDir()
	relay := serve(t, nil, "--config", config, "--data", data, "--allow-loopback")
	for _, run := range []string{"one", "two"} {
		if got := relay.post(t, "/v1/servers/up/tools/echo", `{"arguments":{"message":"hi"}}`, "X-Relay-Run", run); got.status != 200 {
			t.Fatalf("run %s: %d %s", run, got.status, got.body)
		}
	}
	got := relay.do(t, "DELETE", "/v1/runs/one", "", "Authorization", "Bearer "+relay.token)
	if got.status != 200 || !strings.Contains(string(got.body), `"closed":1,"failed":0`) {
		t.Errorf("closing: %d %s", got.status, got.body)
	}
	sessions := map[string]string{} // of the calls, by run
	ended := ""
	for _, seen := range counter.All() {
		switch id := seen.Header.Get("Mcp-Session-Id"); {
		case seen.Method == "DELETE":
			ended = id
		case seen.RPC == "tools/call":
			sessions[fmt.Sprint(len(sessions))] = id
		}
	}
	if counter.Deletes() != 1 || ended == "" || ended != sessions["0"] || sessions["0"] == sessions["1"] {
		t.Errorf("ended %q of %v by %d DELETEs", ended, sessions, counter.Deletes())
	}
	record := last(t, data)
	if record.About != "close" || record.Run != "one" || record.Outcome != call.Answered || record.Agent != "local" {
		t.Errorf("record %+v, want one about close", record)
	}
	if got := relay.post(t, "/v1/servers/up/tools/echo", `{"arguments":{"message":"hi"}}`, "X-Relay-Run", "two"); got.status != 200 || counter.Posts("initialize") != 2 {
		t.Errorf("the other run: %d, %d initializes, want its session kept", got.status, counter.Posts("initialize"))
	}
}

func TestListsAreShownOverHTTPAndSkipsAreRecorded(t *testing.T) {
	config := writeConfig(t, []server{entry("up", peers.Everything(t), nil)},
		[]rule{allow("mcp.up.host.127.0.0.1"), allow("mcp.up.tool.echo"), allow("mcp.up.resource.*"), allow("mcp.up.prompt.*")}, nil)
	data := t.TempDir()
	relay := serve(t, nil, "--config", config, "--data", data, "--allow-loopback")
	for path, parts := range map[string][]string{
		"tools":     {`"name":"echo"`, `"inputSchema":`},
		"resources": {`"resources":[{`, `"resource_templates":[`, `"uri":`},
		"prompts":   {`"prompts":[{`, `"name":`},
	} {
		got := relay.do(t, "GET", "/v1/servers/up/"+path, "", "Authorization", "Bearer "+relay.token)
		for _, part := range parts {
			if got.status != 200 || !strings.Contains(string(got.body), part) {
				t.Errorf("%s: %d %.300s, want %s", path, got.status, got.body, part)
			}
		}
		if path == "tools" && strings.Count(string(got.body), `"name":"`) != 1 {
			t.Errorf("tools without a rule are shown: %.300s", got.body)
		}
	}
	for _, record := range trail(t, data) {
		if record.About != "discover" || record.List == "" || record.Items == 0 && record.List != "resource_templates" {
			t.Errorf("record %+v, want one about discover that counts its items", record)
		}
	}
}
