package clients_test

import (
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"mcprelay/test/peers"
)

// bridge is mcp-remote between an endpoint and its own standard input and
// output.
func bridge(t *testing.T, endpoint, run string) mcp.Transport {
	t.Helper()
	arguments := []string{endpoint, "--allow-http", "--transport", "http-only"}
	for name, value := range headers(run) {
		arguments = append(arguments, "--header", name+": "+value)
	}
	return &mcp.CommandTransport{Command: program(t, peers.ClientRemote, arguments...)}
}

func TestMcpRemoteBridgesToWhatTheServersSay(t *testing.T) {
	s := startScene(t)
	for _, f := range faces() {
		t.Run(f.label, func(t *testing.T) {
			t.Parallel()
			run := runOf(t)
			s.walk(t, f, overGo(connect(t, bridge(t, s.url+f.path, run), "2025-11-25")), lists)
			s.wantTrail(t, f, run)
		})
	}
}
