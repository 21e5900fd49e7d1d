package clients_test

import (
	"bytes"
	"encoding/json"
	"net"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"mcprelay/test/peers"
)

// configured is what `relay connect` prints for a client of this scene.
func configured(t *testing.T, arguments ...string) []byte {
	t.Helper()
	binary, err := build()
	if err != nil {
		t.Fatal(err)
	}
	out, err := exec.Command(binary, append([]string{"connect"}, arguments...)...).Output()
	if err != nil {
		t.Fatalf("relay connect %s: %v", arguments, err)
	}
	return out
}

// of gives the one object behind these members of a client's file.
func of(t *testing.T, file []byte, members ...string) object {
	t.Helper()
	var found object
	if err := json.Unmarshal(file, &found); err != nil {
		t.Fatalf("%v in %s", err, file)
	}
	for _, member := range members {
		inner, ok := found[member].(object)
		if !ok {
			t.Fatalf("no %s in %s", member, file)
		}
		found = inner
	}
	return found
}

// started is the child process that an entry of a client's file names, as the
// client starts it: npx is replaced by the program that it would fetch.
func started(t *testing.T, entry object, environment ...string) mcp.Transport {
	t.Helper()
	var arguments []string
	for _, argument := range entry["args"].([]any) {
		arguments = append(arguments, argument.(string))
	}
	_, script := peers.Client(t, peers.ClientRemote)
	text, err := os.ReadFile(filepath.Join(filepath.Dir(script), "..", "package.json"))
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"-y", "mcp-remote@" + of(t, text)["version"].(string)}
	if entry["command"] != "npx" || len(arguments) < 2 || !slices.Equal(arguments[:2], want) {
		t.Fatalf("the entry starts %v %s, want npx %s", entry["command"], arguments, want)
	}
	command := program(t, peers.ClientRemote, arguments[2:]...)
	command.Env = append(command.Env, environment...)
	return &mcp.CommandTransport{Command: command}
}

// elsewhere is the relay at an address of this machine that is neither of the
// two that every client takes for it.
func elsewhere(t *testing.T, relay string) string {
	t.Helper()
	target, err := url.Parse(relay)
	if err != nil {
		t.Fatal(err)
	}
	listener, err := net.Listen("tcp", "127.0.0.2:0")
	if err != nil {
		t.Fatal(err)
	}
	proxy := &httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) {
		r.SetURL(target)
		r.Out.Host = r.In.Host
	}}
	server := httptest.NewUnstartedServer(proxy)
	_ = server.Listener.Close()
	server.Listener = listener
	server.Start()
	t.Cleanup(server.Close)
	return server.URL
}

func TestThePrintedBridgesReachTheServers(t *testing.T) {
	s := startScene(t)
	other := elsewhere(t, s.url)
	header := filepath.Join(t.TempDir(), "relay header")
	if err := os.WriteFile(header, []byte("Authorization: Bearer "+token+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	variable := "RELAY_AUTHORIZATION=Bearer " + token
	for _, test := range []struct {
		name, client, member, entry string
		face                        face
		options, environment        []string
	}{
		{"zed", "zed", "context_servers", "relay", allServers(), []string{"--url", s.url}, []string{variable}},
		{"stdio", "stdio", "mcpServers", "relay", allServers(), []string{"--url", s.url}, []string{variable}},
		{"zed, one server, a file", "zed", "context_servers", "relay-every", oneServer("every"), []string{"--url", s.url, "--server", "every", "--header-file", header}, nil},
		{"stdio, one server, another address", "stdio", "mcpServers", "relay-every", oneServer("every"), []string{"--url", other, "--server", "every"}, []string{variable}},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			file := configured(t, append([]string{test.client}, test.options...)...)
			bridge := started(t, of(t, file, test.member, test.entry), test.environment...)
			s.walk(t, test.face, overGo(connect(t, bridge, "2025-11-25")), lists)
		})
	}
}

// parsedTOML is a TOML text as JSON, by the parser of Python's library.
func parsedTOML(t *testing.T, text []byte) []byte {
	t.Helper()
	command := exec.CommandContext(t.Context(), peers.Tool(t, "python"), "-c", "import json, sys, tomllib; json.dump(tomllib.load(sys.stdin.buffer), sys.stdout)")
	command.Stdin = bytes.NewReader(text)
	return output(t, command)
}

// The token stands where the client puts it: each has its own word for that.
func TestThePrintedAddressesAndHeadersAreTheRelays(t *testing.T) {
	s := startScene(t)
	for client, test := range map[string]struct{ member, word string }{
		"claude-code": {"mcpServers", "${RELAY_TOKEN}"},
		"cursor":      {"mcpServers", "${env:RELAY_TOKEN}"},
		"vscode":      {"servers", "${input:relay-token}"},
		"codex":       {"mcp_servers", ""},
	} {
		t.Run(client, func(t *testing.T) {
			file, sent := configured(t, client, "--url", s.url, "--server", "every"), ""
			if client == "codex" {
				file = parsedTOML(t, file)
			}
			entry := of(t, file, test.member, "relay-every")
			switch {
			case client != "codex":
				sent, _ = of(t, file, test.member, "relay-every", "headers")["Authorization"].(string)
				sent = strings.ReplaceAll(sent, test.word, token)
			case cmp.Equal(entry, object{"url": entry["url"], "bearer_token_env_var": "RELAY_TOKEN"}):
				sent = "Bearer " + token
			}
			if sent != "Bearer "+token {
				t.Fatalf("the client would send %q by %v", sent, entry)
			}
			endpoint, _ := entry["url"].(string)
			session := connect(t, overHTTP(endpoint, map[string]string{"Authorization": sent}), "2025-11-25")
			s.compare(t, oneServer("every"), overGo(session), stepOf("every", "echo"))
		})
	}
}
