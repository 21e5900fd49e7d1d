package exchange_test

import (
	"encoding/json"
	"net"
	"slices"
	"strings"
	"testing"
	"time"

	"mcprelay/shared/call"
	"mcprelay/shared/exchange"
	"mcprelay/shared/session"
)

const logs = `{"tools":{},"logging":{}}`

// talkative is a server with sessions that announces what it is given, and
// takes setLevel as it is told.
func talkative(t *testing.T, capabilities string, setLevel script, headers ...string) *peer {
	t.Helper()
	return handshakePeer(t, handshake{
		"initialize":       says(200, "application/json", `{"jsonrpc":"2.0","id":ID,"result":{"protocolVersion":"2025-11-25","capabilities":`+capabilities+`}}`, headers...),
		"logging/setLevel": setLevel, "tools/call": anything,
	})
}

// TestAColdCallIsThreePostsWhateverTheServerAnnounces: no more than what opens a
// session, for an agent that is told of things as for one that is not.
func TestAColdCallIsThreePostsWhateverTheServerAnnounces(t *testing.T) {
	for _, capabilities := range []string{logs, `{"tools":{}}`} {
		for _, notify := range []func(string, json.RawMessage){nil, func(string, json.RawMessage) {}} {
			p := talkative(t, capabilities, anything, "Mcp-Session-Id: s")
			s := newStore()
			knows(s, session.Legacy)
			reply, err := process(t, s).Call(t.Context(), request(t, p.url, func(r *exchange.Request) { r.Notify = notify }))
			if err != nil || reply.Facts.Posts != 1 || reply.Facts.Session != exchange.SessionNew {
				t.Fatalf("got %v, %+v", err, reply.Facts)
			}
			if got, want := p.methods(), []string{"initialize", "notifications/initialized", "tools/call"}; !slices.Equal(got, want) {
				t.Errorf("%s: the server saw %v, want %v", capabilities, got, want)
			}
		}
	}
}

// TestALevelIsSetInTheCallersSession, which is opened for it and used for the
// calls after it. What has no session, or no logs, is told nothing.
func TestALevelIsSetInTheCallersSession(t *testing.T) {
	const D, I, N, L, C = "server/discover", "initialize", "notifications/initialized", "logging/setLevel", "tools/call"
	s := []string{"Mcp-Session-Id: s"}
	for name, tc := range map[string]struct {
		capabilities string
		session      []string
		want         []string
	}{
		"a session that logs":         {logs, s, []string{D, I, N, L, L, C}},
		"a session that does not log": {`{"tools":{}}`, s, []string{D, I, N, C}},
		"no session":                  {logs, nil, []string{D, I, N, C}},
	} {
		t.Run(name, func(t *testing.T) {
			p := talkative(t, tc.capabilities, anything, tc.session...)
			x := process(t, nil)
			for _, level := range []string{"debug", "error"} {
				reply, err := x.SetLevel(t.Context(), request(t, p.url), level)
				told := slices.Contains(tc.want, L)
				if err != nil || reply.Error != nil || (reply.Facts.Posts == 1) != told || (len(reply.Result) > 0) != told || reply.Facts.Era != session.Legacy {
					t.Fatalf("%s: got %v, %+v", level, err, reply)
				}
			}
			if _, err := x.Call(t.Context(), request(t, p.url)); err != nil {
				t.Fatal(err)
			}
			if got := p.methods(); !slices.Equal(got, tc.want) {
				t.Errorf("the server saw %v, want %v", got, tc.want)
			}
			if !slices.Contains(tc.want, L) {
				return
			}
			if g := p.last(t, L); !strings.HasSuffix(string(g.Body), `"params":{"level":"error"}}`) || g.Header.Get("Mcp-Session-Id") != "s" || g.Header.Get("MCP-Protocol-Version") != "2025-11-25" {
				t.Errorf("it was told %s, %v", g.Body, g.Header)
			}
		})
	}
}

func TestALevelIsNothingToAModernServer(t *testing.T) {
	p := handshakePeer(t, handshake{"server/discover": saysJSON(200, `{"jsonrpc":"2.0","id":ID,"result":{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":`+logs+`}}`)})
	reply, err := process(t, nil).SetLevel(t.Context(), request(t, p.url), "debug")
	if err != nil || reply.Result != nil || reply.Facts.Posts != 0 || !slices.Equal(p.methods(), []string{"server/discover"}) {
		t.Errorf("got %v, %+v, the server saw %v", err, reply, p.methods())
	}
}

// TestALevelThatIsNotTakenCostsNothingButItself: a session that was lost over it
// is opened anew once.
func TestALevelThatIsNotTakenCostsNothingButItself(t *testing.T) {
	for name, tc := range map[string]struct {
		setLevel script
		reason   call.Reason
		code     int64
		posts    int
	}{
		"no such method": {saysJSON(200, `{"jsonrpc":"2.0","id":ID,"error":{"code":-32601,"message":"no"}}`), call.OK, -32601, 1},
		"a lost session": {says(404, "text/plain", "session not found"), call.SessionLost, 0, 2},
		"a broken line":  {func(w net.Conn, _ got) { w.Close() }, call.ResetBeforeHead, 0, 1},
		"silence":        {func(net.Conn, got) {}, call.HeadTimeout, 0, 1},
	} {
		t.Run(name, func(t *testing.T) {
			p := talkative(t, logs, tc.setLevel, "Mcp-Session-Id: s")
			x := process(t, nil)
			reply, err := x.SetLevel(soon(t, 400*time.Millisecond), request(t, p.url), "debug")
			if got := reasonOf(t, err); got != tc.reason || tc.code != 0 && (reply.Error == nil || reply.Error.Code != tc.code) {
				t.Errorf("got %v, %+v, want %s", err, reply.Error, tc.reason)
			}
			if got := p.posts("logging/setLevel"); got != tc.posts || reply.Facts.Posts != tc.posts {
				t.Errorf("told %d times, %d counted, want %d", got, reply.Facts.Posts, tc.posts)
			}
			if reply, err := x.Call(t.Context(), request(t, p.url)); err != nil || reply.Facts.Posts != 1 {
				t.Errorf("the call after it: %v, %+v", err, reply.Facts)
			}
		})
	}
}

func TestAWordThatIsNoLevelIsNotSent(t *testing.T) {
	for _, level := range []string{"", "loud", `info","x":"`} {
		if _, err := process(t, nil).SetLevel(t.Context(), request(t, "http://127.0.0.1:1/mcp"), level); reasonOf(t, err) != call.Internal {
			t.Errorf("%q: got %v", level, err)
		}
	}
}
