package e2e_test

import (
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"mcprelay/shared/call"
	"mcprelay/test/peers"
)

// everythingProcess is server-everything as a child process.
func everythingProcess(t *testing.T) server {
	t.Helper()
	node, err := exec.LookPath("node")
	if err != nil {
		t.Fatal("node is not installed: see the README")
	}
	module := filepath.Join(peers.CacheDir(), "npm", "node_modules", "@modelcontextprotocol", "server-everything", "dist", "index.js")
	module, err = filepath.Abs(module)
	if err != nil {
		t.Fatal(err)
	}
	return server{
		"name":    "up",
		"config":  map[string]any{"command": node, "args": []string{module, "stdio"}, "env": map[string]string{"EVERYTHING_TOKEN": "up-token"}, "effects": map[string]string{"echo": "read"}},
		"secrets": map[string]string{"up-token": "STDIO_TEST_TOKEN"},
	}
}

func TestAServerThatIsAProcessIsCalledThroughBothWays(t *testing.T) {
	config := writeConfig(t, []server{everythingProcess(t)},
		[]rule{allow("mcp.up.process"), allow("mcp.up.tool.*"), allow("secret.use.up-token")}, nil)
	data := t.TempDir()
	env := []string{"STDIO_TEST_TOKEN=a-secret-of-the-child", "RELAY_SIDE_VARIABLE=stays-with-the-relay"}
	relay := serve(t, env, "--config", config, "--data", data)

	got := relay.post(t, "/v1/servers/up/tools/echo", `{"arguments":{"message":"1.0 <&>"}}`)
	if got.status != 200 || !strings.Contains(string(got.body), "1.0 <&>") {
		t.Fatalf("echo: %d %s", got.status, got.body)
	}
	// The tool prints the child's whole environment.
	shown := relay.post(t, "/v1/servers/up/tools/get-env", `{"arguments":{}}`)
	body := string(shown.body)
	if shown.status != 200 || !strings.Contains(body, "EVERYTHING_TOKEN") {
		t.Errorf("the child does not see its variable: %d %s", shown.status, body)
	}
	for _, foreign := range []string{"a-secret-of-the-child", "stays-with-the-relay", "PATH", "HOME"} {
		if strings.Contains(body, foreign) {
			t.Errorf("%s came back: %s", foreign, body)
		}
	}
	if record := last(t, data); record.Outcome != call.Answered || !strings.HasPrefix(record.Address, "pid ") || record.Masked == 0 || record.Host != "" || record.Rule != "mcp.up.tool.*" {
		t.Errorf("record %+v, want the child's number and the masked secret", record)
	}

	out, errs, code := command(t, env, "call", "up", "echo", `{"message":"by the command"}`, "--config", config, "--data", t.TempDir())
	if code != 0 || !strings.Contains(out, "by the command") {
		t.Errorf("relay call: exit %d, %q, %s", code, out, errs)
	}
}

func TestAProcessNeedsItsRuleAndItsCommand(t *testing.T) {
	env := []string{"STDIO_TEST_TOKEN=a-secret-of-the-child"}
	for _, test := range []struct {
		name, command string
		rules         []rule
		reason        call.Reason
	}{
		{"no rule for the process", "", []rule{allow("mcp.up.host.*"), allow("mcp.up.tool.*"), allow("secret.use.up-token")}, call.NoRule},
		{"no such command", "/nowhere/server", []rule{allow("mcp.up.process"), allow("mcp.up.tool.*"), allow("secret.use.up-token")}, call.ProcessFailed},
	} {
		t.Run(test.name, func(t *testing.T) {
			entry := everythingProcess(t)
			if test.command != "" {
				entry.with("command", test.command)
			}
			data := t.TempDir()
			relay := serve(t, env, "--config", writeConfig(t, []server{entry}, test.rules, map[string]any{"explain_refusals": true}), "--data", data)
			if got := relay.post(t, "/v1/servers/up/tools/echo", `{"arguments":{"message":"hi"}}`); got.status < 400 || !strings.Contains(string(got.body), string(test.reason)) {
				t.Errorf("got %d %s, want %s", got.status, got.body, test.reason)
			}
			if record := last(t, data); record.Reason != test.reason {
				t.Errorf("recorded %s, want %s", record.Reason, test.reason)
			}
		})
	}
}
