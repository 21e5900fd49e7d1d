package clients_test

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"mcprelay/test/peers"
)

// scene is a relay in front of three servers, and the servers themselves.
type scene struct {
	relay
	direct map[string]ask // by server name, without the relay
}

// servers are the scene's, in the order of lists.
var servers = []string{"child", "every", "go-sdk"}

// startScene starts all of it for the length of a test.
func startScene(t *testing.T) scene {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	every, sdk := peers.Everything(t), peers.GoStateless(t)
	var rules []map[string]any
	for _, server := range servers {
		for _, right := range []string{"host.127.0.0.1", "process", "tool.*", "resource.*", "prompt.*"} {
			rules = append(rules, map[string]any{"action": "mcp." + server + "." + right, "decision": "allow"})
		}
	}
	none := map[string]any{"type": "none"}
	s := scene{direct: map[string]ask{
		"child":  overGo(connect(t, &mcp.CommandTransport{Command: exec.Command(self, notesArgument)}, "")),
		"every":  overGo(connect(t, overHTTP(every, nil), "")),
		"go-sdk": overGo(connect(t, overHTTP(sdk, nil), "")),
	}}
	s.relay = startRelay(t, map[string]any{
		"tenant": "acme",
		"servers": []any{
			map[string]any{"name": "go-sdk", "config": map[string]any{"endpoint": sdk, "auth": none}},
			map[string]any{"name": "every", "config": map[string]any{"endpoint": every, "auth": none}},
			map[string]any{"name": "child", "config": map[string]any{"command": self, "args": []string{notesArgument}}},
		},
		"rules":   rules,
		"callers": []any{map[string]any{"subject": "dev", "kind": "user", "scopes": []string{"call"}, "token_env": "CLIENTS_TOKEN"}},
	})
	return s
}

// face is one of the relay's MCP endpoints, and how it names what servers have.
type face struct {
	label   string
	path    string
	servers []string
}

// allServers is the endpoint where names carry their server.
func allServers() face { return face{"all", "/v1/mcp", servers} }

// oneServer is the endpoint of a server, where names are its own.
func oneServer(name string) face {
	return face{name, "/v1/servers/" + name + "/mcp", []string{name}}
}

func (f face) all() bool { return f.label == "all" }

// name is that of a tool or prompt on this face.
func (f face) name(server, name string) string {
	if !f.all() {
		return name
	}
	return server + "__" + name
}

// uri is that of a resource on this face; of a template the expressions stay.
func (f face) uri(server, uri string) string {
	if !f.all() {
		return uri
	}
	shown, expression := "mcprelay://resource/v1/"+server+"/", false
	for _, b := range []byte(uri) {
		expression = expression || b == '{'
		if expression || plain(b) {
			shown += string(b)
		} else {
			shown += fmt.Sprintf("%%%02X", b)
		}
		expression = expression && b != '}'
	}
	return shown
}

// plain reports whether RFC 3986, section 2.3, leaves a byte as it is.
func plain(b byte) bool {
	return b >= 'a' && b <= 'z' || b >= 'A' && b <= 'Z' || b >= '0' && b <= '9' || b == '-' || b == '.' || b == '_' || b == '~'
}

// object is JSON as it came.
type object = map[string]any

// rewritten is a server's result as the face shows it: the URIs of resources
// carry their server, wherever they stand.
func (f face) rewritten(server string, value any) any {
	switch v := value.(type) {
	case object:
		for key, member := range v {
			if uri, ok := member.(string); ok && (key == "uri" || key == "uriTemplate") {
				v[key] = f.uri(server, uri)
				continue
			}
			v[key] = f.rewritten(server, member)
		}
	case []any:
		for i, member := range v {
			v[i] = f.rewritten(server, member)
		}
	}
	return value
}

// bare is a result without what every hop says for itself: who answered, and
// how long it may be kept.
func bare(t *testing.T, text []byte) object {
	t.Helper()
	var o object
	if err := json.Unmarshal(text, &o); err != nil {
		t.Fatalf("%q: %v", text, err)
	}
	for _, key := range []string{"_meta", "ttlMs", "cacheScope", "resultType", "nextCursor"} {
		delete(o, key)
	}
	return o
}
