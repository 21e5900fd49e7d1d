package main

import (
	"bytes"
	"encoding/json"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// execute runs the command as a person would.
func execute(t *testing.T, args ...string) (stdout, stderr string, err error) {
	t.Helper()
	var out, errs bytes.Buffer
	command := root()
	command.SetOut(&out)
	command.SetErr(&errs)
	command.SetArgs(args)
	err = command.ExecuteContext(t.Context())
	return out.String(), errs.String(), err
}

func parsed(t *testing.T, text string) map[string]any {
	t.Helper()
	var value map[string]any
	if err := json.Unmarshal([]byte(text), &value); err != nil {
		t.Fatalf("%v in %s", err, text)
	}
	return value
}

const everything, docs = "http://127.0.0.1:8080/v1/mcp", "http://127.0.0.1:8080/v1/servers/docs/mcp"

func TestJSONOfEachClientIsWhatTheClientReads(t *testing.T) {
	header := func(value string) map[string]any { return map[string]any{"Authorization": "Bearer " + value} }
	bridge := func(url string) map[string]any {
		return map[string]any{"command": "npx", "args": []any{
			"-y", "mcp-remote@0.15.1", url, "--transport", "http-only", "--allow-http", "--header", "Authorization:${RELAY_AUTHORIZATION}",
		}}
	}
	input := map[string]any{"type": "promptString", "id": "relay-token", "description": "Token for the relay", "password": true}
	for client, file := range map[string]func(name, url string) map[string]any{
		"claude-code": func(name, url string) map[string]any {
			return map[string]any{"mcpServers": map[string]any{name: map[string]any{"type": "http", "url": url, "headers": header("${RELAY_TOKEN}")}}}
		},
		"cursor": func(name, url string) map[string]any {
			return map[string]any{"mcpServers": map[string]any{name: map[string]any{"url": url, "headers": header("${env:RELAY_TOKEN}")}}}
		},
		"vscode": func(name, url string) map[string]any {
			return map[string]any{
				"inputs":  []any{input},
				"servers": map[string]any{name: map[string]any{"type": "http", "url": url, "headers": header("${input:relay-token}")}},
			}
		},
		"zed": func(name, url string) map[string]any {
			return map[string]any{"context_servers": map[string]any{name: bridge(url)}}
		},
		"stdio": func(name, url string) map[string]any {
			return map[string]any{"mcpServers": map[string]any{name: bridge(url)}}
		},
	} {
		all, _, err := execute(t, "connect", client)
		if diff := cmp.Diff(file("relay", everything), parsed(t, all)); diff != "" || err != nil {
			t.Errorf("%s: %v, (-want +got):\n%s", client, err, diff)
		}
		one, _, err := execute(t, "connect", client, "--server", "docs")
		if diff := cmp.Diff(file("relay-docs", docs), parsed(t, one)); diff != "" || err != nil {
			t.Errorf("%s of one server: %v, (-want +got):\n%s", client, err, diff)
		}
	}
}

// A table whose header and pairs have this form is TOML 1.0 (Table, Bare Keys,
// Basic Strings).
var tomlTable = regexp.MustCompile(`^\[mcp_servers\.([A-Za-z0-9_-]+)\]\n((?:[a-z_]+ = "[ !#-\[\]-~]*"\n)+)$`)

func TestTOMLOfCodexIsOneTableOfStrings(t *testing.T) {
	for _, test := range []struct {
		args      []string
		name, url string
	}{
		{nil, "relay", everything},
		{[]string{"--server", "docs"}, "relay-docs", docs},
		{[]string{"--url", "https://relay.example.com/a&b'c/"}, "relay", "https://relay.example.com/a&b'c/v1/mcp"},
	} {
		out, _, err := execute(t, append([]string{"connect", "codex"}, test.args...)...)
		table := tomlTable.FindStringSubmatch(out)
		if err != nil || table == nil {
			t.Fatalf("%v: %v, not a table of strings: %s", test.args, err, out)
		}
		want := "url = \"" + test.url + "\"\nbearer_token_env_var = \"RELAY_TOKEN\"\n"
		if table[1] != test.name || table[2] != want {
			t.Errorf("%v: table %s of %s, want %s of %s", test.args, table[1], table[2], test.name, want)
		}
	}
}

func TestABridgeMayReadTheHeaderFromAFile(t *testing.T) {
	for client, key := range map[string]string{"zed": "context_servers", "stdio": "mcpServers"} {
		out, note, err := execute(t, "connect", client, "--header-file", "/run/user/relay header")
		if err != nil {
			t.Fatal(err)
		}
		args := parsed(t, out)[key].(map[string]any)["relay"].(map[string]any)["args"].([]any)
		if want := []any{"--header-file", "/run/user/relay header"}; !cmp.Equal(args[len(args)-2:], want) || slices.Contains(args, any("--header")) {
			t.Errorf("%s: got %v, want %v at the end", client, args, want)
		}
		if !strings.Contains(note, "/run/user/relay header") || strings.Contains(note, headerVariable) {
			t.Errorf("%s says %s", client, note)
		}
	}
}

func TestABridgeToAnEncryptedAddressIsHeldToIt(t *testing.T) {
	for _, client := range []string{"zed", "stdio"} {
		out, _, err := execute(t, "connect", client, "--url", "https://http.example.com")
		if err != nil || strings.Contains(out, "--allow-http") {
			t.Errorf("%s: %v, %s", client, err, out)
		}
	}
}

func TestWhereItBelongsIsSaidBesideIt(t *testing.T) {
	for client, words := range map[string][]string{
		"claude-code": {".mcp.json", "RELAY_TOKEN"}, "codex": {"config.toml", "RELAY_TOKEN"}, "cursor": {".cursor/mcp.json", "RELAY_TOKEN"},
		"vscode": {".vscode/mcp.json", "asks"}, "zed": {"settings.json", "RELAY_AUTHORIZATION"}, "stdio": {"mcp.json", "RELAY_AUTHORIZATION", "--header-file"},
	} {
		_, note, err := execute(t, "connect", client)
		for _, word := range words {
			if err != nil || !strings.Contains(note, word) {
				t.Errorf("%s: %v, %s lacks %s", client, err, note, word)
			}
		}
	}
	for _, name := range clientNames() {
		if _, ok := clients(name); !ok {
			t.Errorf("%s is listed and not known", name)
		}
	}
}

func TestATokenGoesNowhereInTheClear(t *testing.T) {
	for _, test := range []struct{ url, want string }{
		{"https://relay.example.com", "https://relay.example.com"},
		{"https://relay.example.com/prod/", "https://relay.example.com/prod"},
		{"http://localhost:8080", "http://localhost:8080"},
		{"http://[::1]:8080/", "http://[::1]:8080"},
		{"http://127.0.0.2", "http://127.0.0.2"},
		{"http://relay.example.com", ""},
		{"http://10.0.0.1", ""},
		{"ftp://localhost", ""},
		{"//localhost", ""},
		{"localhost:8080", ""},
		{"https://", ""},
		{"https://user:secret@relay.example.com", ""},
		{"https://relay.example.com/?a=b", ""},
		{"https://relay.example.com/?", ""},
		{"https://relay.example.com/#a", ""},
		{"https://relay.example.com/${HOME}", ""},
		{"https://relay.example.com/a b", ""},
		{"https://relay.example.com/\x01", ""},
	} {
		got, err := relayURL(test.url)
		if got != test.want || (err == nil) != (test.want != "") {
			t.Errorf("%q: got %q and %v, want %q", test.url, got, err, test.want)
		}
		if err != nil && strings.Contains(err.Error(), "secret") {
			t.Errorf("%q is quoted in %v", test.url, err)
		}
	}
}

func TestAWrongConnectIsAMistakeOfTheCommandLine(t *testing.T) {
	for _, args := range [][]string{
		{}, {"emacs"}, {"codex", "cursor"}, {"codex", "--url", "http://relay.example.com"}, {"codex", "--server", "Docs"},
		{"codex", "--header-file", "/run/relay"}, {"zed", "--header-file", "${HOME}/relay"},
	} {
		out, _, err := execute(t, append([]string{"connect"}, args...)...)
		if _, ok := err.(*usageError); !ok || out != "" {
			t.Errorf("%v: got %v and %q, want a usage error alone", args, err, out)
		}
	}
}
