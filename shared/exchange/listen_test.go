package exchange_test

import (
	"net"
	"slices"
	"strings"
	"testing"
)

// TestASessionThatLogsIsToldThatSomebodyListens once, before the first call,
// and no other server is. A server that refuses it is called all the same.
func TestASessionThatLogsIsToldThatSomebodyListens(t *testing.T) {
	const D, I, N, L, C = "server/discover", "initialize", "notifications/initialized", "logging/setLevel", "tools/call"
	for name, tc := range map[string]struct {
		capabilities string
		session      []string
		setLevel     script
		want         []string
	}{
		"a session that logs":         {`{"tools":{},"logging":{}}`, []string{"Mcp-Session-Id: s"}, anything, []string{D, I, N, L, C, C}},
		"one that knows no level":     {`{"tools":{},"logging":{}}`, []string{"Mcp-Session-Id: s"}, saysJSON(200, `{"jsonrpc":"2.0","id":ID,"error":{"code":-32601,"message":"no"}}`), []string{D, I, N, L, C, C}},
		"one that is lost over it":    {`{"tools":{},"logging":{}}`, []string{"Mcp-Session-Id: s"}, says(404, "text/plain", "session not found"), []string{D, I, N, L, C, C}},
		"one that breaks over it":     {`{"tools":{},"logging":{}}`, []string{"Mcp-Session-Id: s"}, func(w net.Conn, _ got) { w.Close() }, []string{D, I, N, L, C, C}},
		"a session that does not log": {`{"tools":{}}`, []string{"Mcp-Session-Id: s"}, anything, []string{D, I, N, C, C}},
		"no session":                  {`{"tools":{},"logging":{}}`, nil, anything, []string{D, I, N, C, C}},
	} {
		t.Run(name, func(t *testing.T) {
			p := handshakePeer(t, handshake{
				"initialize": says(200, "application/json", `{"jsonrpc":"2.0","id":ID,"result":{"protocolVersion":"2025-11-25","capabilities":`+tc.capabilities+`}}`, tc.session...),
				L:            tc.setLevel, C: anything,
			})
			x := process(t, nil)
			for range 2 {
				if reply, err := x.Call(t.Context(), request(t, p.url)); err != nil || reply.Facts.Posts != 1 || reply.Facts.Lost {
					t.Fatalf("got %v, %+v", err, reply.Facts)
				}
			}
			if got := p.methods(); !slices.Equal(got, tc.want) {
				t.Errorf("the server saw %v, want %v", got, tc.want)
			}
			if !slices.Contains(tc.want, L) {
				return
			}
			if g := p.last(t, L); !strings.HasSuffix(string(g.Body), `"params":{"level":"info"}}`) || g.Header.Get("Mcp-Session-Id") != "s" || g.Header.Get("MCP-Protocol-Version") != "2025-11-25" {
				t.Errorf("it was told %s, %v", g.Body, g.Header)
			}
		})
	}
}
