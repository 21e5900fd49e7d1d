package e2e_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func TestAnUnusableConfigIsRefusedWithFileFieldAndReason(t *testing.T) {
	for _, test := range []struct{ name, text, field, reason string }{
		{"not JSON", `{"tenant":`, "", ""},
		{"unknown field", `{"tenant":"acme","serverz":[]}`, "serverz", ""},
		{"duplicate key", `{"tenant":"acme","tenant":"other"}`, "tenant", ""},
		{"no tenant", `{"servers":[]}`, "tenant", ""},
		{"plain http", `{"tenant":"acme","servers":[{"name":"up","config":{"endpoint":"http://mcp.example.com/mcp","auth":{"type":"none"}}}]}`, "servers[0].config.endpoint", "scheme"},
		{"loopback", `{"tenant":"acme","servers":[{"name":"up","config":{"endpoint":"http://127.0.0.1:9/mcp","auth":{"type":"none"}}}]}`, "servers[0].config.endpoint", ""},
		{"bad name", `{"tenant":"acme","servers":[{"name":"Up","config":{"endpoint":"https://mcp.example.com/mcp","auth":{"type":"none"}}}]}`, "servers[0].name", ""},
		{"unknown auth", `{"tenant":"acme","servers":[{"name":"up","config":{"endpoint":"https://mcp.example.com/mcp","auth":{"type":"magic"}}}]}`, "servers[0].config.auth.type", ""},
		{"secret without source", `{"tenant":"acme","servers":[{"name":"up","config":{"endpoint":"https://mcp.example.com/mcp","auth":{"type":"bearer","token_ref":"x"}}}]}`, "servers[0].config.auth.token_ref", "the entry's secrets"},
		{"over a cap", `{"tenant":"acme","servers":[{"name":"up","config":{"endpoint":"https://mcp.example.com/mcp","auth":{"type":"none"},"request_timeout_ms":600001}}]}`, "servers[0].config.request_timeout_ms", "600000"},
		{"unknown decision", `{"tenant":"acme","rules":[{"action":"mcp.up.tool.*","decision":"maybe"}]}`, "rules[0]", "maybe"},
		{"endpoint not listed", `{"tenant":"acme","servers":[{"name":"up","config":{"endpoint":"https://mcp.example.com/mcp","allowed_endpoints":["https://mcp.example.com/other"],"auth":{"type":"none"}}}]}`, "servers[0].config", ""},
		{"tool without effect", `{"tenant":"acme","servers":[{"name":"up","config":{"endpoint":"https://mcp.example.com/mcp","auth":{"type":"none"},"allowed_tools":["search"]}}]}`, "servers[0].config", "search"},
	} {
		t.Run(test.name, func(t *testing.T) {
			path := writeFile(t, []byte(test.text))
			_, errs, code := command(t, nil, "serve", "--config", path, "--data", t.TempDir(), "--listen", "127.0.0.1:0")
			if code != 1 {
				t.Fatalf("exit %d, want 1: %s", code, errs)
			}
			for _, part := range []string{path, test.field, test.reason} {
				if !strings.Contains(errs, part) {
					t.Errorf("the error %q does not name %q", errs, part)
				}
			}
		})
	}
}

func TestAConfigThatOthersCanWriteIsRefused(t *testing.T) {
	path := writeFile(t, []byte(`{"tenant":"acme"}`))
	if err := os.Chmod(path, 0o622); err != nil {
		t.Fatal(err)
	}
	if _, errs, code := command(t, nil, "serve", "--config", path, "--data", t.TempDir()); code != 1 || !strings.Contains(errs, path) {
		t.Errorf("writable by others: exit %d, %s", code, errs)
	}
	if err := os.Chmod(path, 0o600); err != nil {
		t.Fatal(err)
	}
	link := filepath.Join(t.TempDir(), "link.json")
	if err := os.Symlink(path, link); err != nil {
		t.Fatal(err)
	}
	if _, errs, code := command(t, nil, "serve", "--config", link, "--data", t.TempDir()); code != 1 || !strings.Contains(errs, link) {
		t.Errorf("a symlink: exit %d, %s", code, errs)
	}
}

func TestWrongUseEndsWithTwo(t *testing.T) {
	for _, args := range [][]string{
		{"serve"}, {"serve", "--nope"}, {"call"}, {"call", "a"}, {"nope"},
		{"call", "up", "echo", "{", "--config", "x"}, {"call", "up", "echo", `{"a":1,"a":2}`, "--config", "x"},
		{"audit", "--since", "yesterday", "--data", t.TempDir()}, {"serve", "--tour"}, {"serve", "--demo", "--config", "x"},
	} {
		if _, errs, code := command(t, nil, args...); code != 2 || strings.Count(strings.TrimSpace(errs), "\n") != 0 {
			t.Errorf("%v: exit %d, want 2 and one sentence: %s", args, code, errs)
		}
	}
}

func TestACallerOfTheConfigNeedsItsToken(t *testing.T) {
	path := writeFile(t, []byte(`{"tenant":"acme","callers":[{"subject":"dev","kind":"user","scopes":["call"],"token_env":"E2E_CALLER"}]}`))
	for _, value := range []string{"", "short"} {
		_, errs, code := command(t, []string{"E2E_CALLER=" + value}, "serve", "--config", path, "--data", t.TempDir(), "--listen", "127.0.0.1:0")
		if code != 1 || !strings.Contains(errs, "callers[0].token_env") || strings.Contains(errs, "E2E_CALLER") || (value != "" && strings.Contains(errs, value+"\n")) {
			t.Errorf("%q: exit %d, %s", value, code, errs)
		}
	}
}

func TestWhatHasNoEffectIsWarnedOf(t *testing.T) {
	path := writeFile(t, []byte(`{"tenant":"acme","rules":[{"action":"mcp.dosc.*","decision":"deny"}],"agents":[{"subject":"ci"}]}`))
	relay := serve(t, nil, "--config", path, "--data", t.TempDir())
	want := "relay: warning: " + path + ": rules[0].action: it matches nothing: no server has this name"
	if !slices.Contains(relay.lines, want) {
		t.Errorf("got\n%s\nwant %s", strings.Join(relay.lines, "\n"), want)
	}
}
