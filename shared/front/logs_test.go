package front_test

import (
	"strings"
	"testing"
)

// TestAModernServerIsAskedForTheLogsOfOlderAgents: they have no member for it,
// so that nothing would come. Agents that take no stream get none, modern ones
// ask for themselves.
func TestAModernServerIsAskedForTheLogsOfOlderAgents(t *testing.T) {
	const both, info = "application/json, text/event-stream", `"io.modelcontextprotocol/logLevel":"info"`
	f, up, _ := newAll(t)
	for _, test := range []struct {
		name, accept, params string
		want                 string // of _meta; empty for no level
	}{
		{"with a stream", both, `{"name":"look"}`, info},
		{"with a member of its own", both, `{"name":"look","_meta":{"progressToken":7, "x":1.0}}`, `"progressToken":7,"x":1.0,` + info},
		{"with a level", both, `{"name":"look","_meta":{"io.modelcontextprotocol/logLevel":"error"}}`, `"io.modelcontextprotocol/logLevel":"error"`},
		{"without a stream", "application/json", `{"name":"look"}`, ""},
	} {
		w := ask(f, "POST", mcpPath, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":`+test.params+`}`, "Accept", test.accept)
		got := up.params("tools/call")
		if w.Code != 200 || !strings.Contains(got, test.want) || strings.Contains(got, "logLevel") != (test.want != "") || strings.Count(got, "logLevel") > 1 {
			t.Errorf("%s: %d, the server was asked %s, want %s", test.name, w.Code, got, test.want)
		}
	}
	w := modern(f, "tools/call", `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"look",`+meta+`}}`, "Mcp-Name", "look", "Accept", both)
	if got := up.params("tools/call"); w.Code != 200 || strings.Contains(got, "logLevel") {
		t.Errorf("a modern agent: %d %s, the server was asked %s", w.Code, w.Body, got)
	}
}
