package exchange_test

import (
	"net"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"mcprelay/shared/call"
	"mcprelay/shared/exchange"
	"mcprelay/shared/session"
)

// refusals are the ways in which servers refuse a version, and the version that
// is offered afterwards.
var refusals = map[string]struct {
	answer script
	offer  string
}{
	"code of its own":          {unsupported(400, `["2025-06-18","2025-03-26"]`), "2025-06-18"},
	"sentence with a list":     {saysJSON(400, failure("null", -32000, "Bad Request: Unsupported protocol version: VERSION (supported versions: 2025-06-18, 2025-03-26)")), "2025-06-18"},
	"with our id":              {saysJSON(400, failure("ID", -32000, "Unsupported protocol version. Supported: 2025-03-26")), "2025-03-26"},
	"with an id of its own":    {saysJSON(400, failure(`"server-error"`, -32600, "Bad Request: Unsupported protocol version: VERSION. Supported versions: 2024-11-05, 2025-03-26, 2025-06-18")), "2025-06-18"},
	"plain text":               {says(400, "text/plain; charset=utf-8", "Bad Request: Unsupported protocol version (supported versions: 2025-06-18,2025-03-26)\n"), "2025-06-18"},
	"no list":                  {says(400, "text/plain", "Bad Request: The MCP-Protocol-Version header value 'VERSION' is not supported."), "2025-11-25"},
	"no list, JSON":            {saysJSON(400, failure("null", -32000, "Bad Request: Unsupported MCP-Protocol-Version")), "2025-11-25"},
	"header called invalid":    {saysJSON(400, failure("null", -32600, "Invalid MCP-Protocol-Version header")), "2025-11-25"},
	"list in the data, 400":    {saysJSON(400, `{"jsonrpc":"2.0","id":null,"error":{"code":-32602,"message":"unsupported protocol version","data":{"supported":["2025-06-18","2024-11-05"]}}}`), "2025-06-18"},
	"the refused one is named": {saysJSON(400, failure("null", -32000, "Unsupported protocol version VERSION")), "2025-11-25"},
}

// refusing answers the first n calls so, telling the version that it was asked in.
func refusing(n int, answer script) script {
	return func(w net.Conn, g got) {
		if n--; n >= 0 {
			var b strings.Builder
			answer(fakeConn{Conn: w, Builder: &b}, g)
			head, body, _ := strings.Cut(b.String(), "\r\n\r\n")
			body = strings.ReplaceAll(body, "VERSION", g.Header.Get("Mcp-Protocol-Version"))
			_, kind, _ := strings.Cut(head, "Content-Type: ")
			kind, _, _ = strings.Cut(kind, "\r\n")
			write(w, map[bool]int{true: 200, false: 400}[strings.HasPrefix(head, "HTTP/1.1 200")], kind, body)
			return
		}
		answered(w, g)
	}
}

// TestModernVersionThatIsRefusedIsTurnedBack: nothing ran, so the call is put
// again, in a version that the server named or negotiates.
func TestModernVersionThatIsRefusedIsTurnedBack(t *testing.T) {
	for name, tc := range refusals {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := handshakePeer(t, handshake{"tools/call": refusing(1, tc.answer)})
			s := newStore()
			knows(s, session.Modern)
			reply, err := process(t, s).Call(t.Context(), request(t, p.url))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff([]string{"tools/call", "initialize", "notifications/initialized", "tools/call"}, p.methods()); diff != "" {
				t.Errorf("-want +got\n%s", diff)
			}
			if reply.Facts.Era != session.Legacy || reply.Facts.Posts != 2 || s.get(originKey).Era != session.Legacy {
				t.Errorf("got %+v, stored %+v", reply.Facts, s.get(originKey))
			}
			if body := string(p.last(t, "initialize").Body); !strings.Contains(body, `"protocolVersion":"`+tc.offer+`"`) {
				t.Errorf("want %s offered, got %s", tc.offer, body)
			}
		})
	}
}

func TestLegacyVersionThatIsRefusedIsNegotiatedAgain(t *testing.T) {
	for name, tc := range refusals {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := handshakePeer(t, handshake{"tools/call": refusing(1, tc.answer)})
			s := newStore()
			knows(s, session.Legacy)
			s.set(sessionKey, session.State{Era: session.Legacy, Version: "2025-11-25", SessionID: p.open(), Expires: s.now().Add(session.Lifetime), Ver: 1})
			reply, err := process(t, s).Call(t.Context(), request(t, p.url))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff([]string{"tools/call", "initialize", "notifications/initialized", "DELETE", "tools/call"}, p.methods()); diff != "" {
				t.Errorf("-want +got\n%s", diff)
			}
			if reply.Facts.Session != exchange.SessionRenewed || s.get(sessionKey).SessionID != "s-2" || p.last(t, "tools/call").Header.Get("Mcp-Session-Id") != "s-2" {
				t.Errorf("got %+v, stored %+v", reply.Facts, s.get(sessionKey))
			}
			if reply.Facts.Again != exchange.AgainVersion || reply.Facts.Lost || p.sessions() != 1 || p.holds("s-1") {
				t.Errorf("want s-1 ended, got %+v and %d open sessions", reply.Facts, p.sessions())
			}
		})
	}
}

// TestServerWithoutSessionsNegotiatesAgain: what was lost and what is opened
// look the same.
func TestServerWithoutSessionsNegotiatesAgain(t *testing.T) {
	p := handshakePeer(t, handshake{
		"initialize": saysJSON(200, `{"jsonrpc":"2.0","id":ID,"result":{"protocolVersion":"2025-11-25"}}`),
		"tools/call": refusing(1, refusals["no list"].answer),
	})
	s := newStore()
	reply, err := process(t, s).Call(t.Context(), request(t, p.url))
	if err != nil || reply.Facts.Posts != 2 || reply.Facts.Session != exchange.SessionNone || p.posts("initialize") != 2 {
		t.Errorf("got %v, %+v, %v", err, reply.Facts, p.methods())
	}
}

func TestVersionThatIsAlwaysRefusedFailsFast(t *testing.T) {
	for name, tc := range refusals {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := handshakePeer(t, handshake{"tools/call": refusing(99, tc.answer)})
			s := newStore()
			knows(s, session.Modern)
			reply, err := process(t, s).Call(t.Context(), request(t, p.url))
			refusal := refusalOf(t, err)
			if refusal.Reason != call.NoCommonVersion || refusal.MayHaveRun() != call.ImpactNone || reply.Facts.Posts != 2 || p.posts("tools/call") != 2 {
				t.Errorf("got %v with %s after %v", refusal, refusal.MayHaveRun(), p.methods())
			}
		})
	}
}

// TestWordsAboutVersionsProveNothingElsewhere: the tool may have run, so it is
// asked once.
func TestWordsAboutVersionsProveNothingElsewhere(t *testing.T) {
	const said = "Unsupported protocol version (supported versions: 2025-06-18)"
	const listing = `{"jsonrpc":"2.0","id":ID,"error":{"code":-32602,"message":"Unsupported protocol version","data":{"supported":["2025-06-18"],"requested":"2026-07-28"}}}`
	for name, tc := range map[string]struct {
		answer script
		want   call.Reason // OK: the error or result is the answer
	}{
		"200 without a list":          {saysJSON(200, failure("ID", -32000, said)), call.OK},
		"200 with a list":             {saysJSON(200, listing), call.OK},
		"200 with a list of others":   {saysJSON(200, `{"jsonrpc":"2.0","id":ID,"error":{"code":-32000,"message":"protocol version 3 is not supported","data":{"supported":["1","2","2025-06-18"]}}}`), call.OK},
		"200 and a stream":            {streaming(event(listing)), call.OK},
		"202 with a list":             {saysJSON(202, listing), call.OK},
		"404 with a list":             {saysJSON(404, listing), call.OK},
		"500 with a list":             {saysJSON(500, listing), call.OK},
		"200 with another list":       {saysJSON(200, `{"jsonrpc":"2.0","id":ID,"error":{"code":-32602,"message":"unknown tool version","data":{"supported":["2025-06-18"]}}}`), call.OK},
		"500":                         {saysJSON(500, failure("ID", -32000, said)), call.OK},
		"500 text":                    {says(500, "text/plain", said), call.UpstreamStatus},
		"409 text":                    {says(409, "text/plain", said), call.UpstreamStatus},
		"400 page":                    {says(400, "text/html", "<html>"+said), call.UpstreamStatus},
		"400 about an argument":       {saysJSON(400, failure("ID", -32602, "protocol_version: value is not supported")), call.OK},
		"400 -32602 without versions": {saysJSON(400, failure("ID", -32602, "the protocol version of the device is not supported")), call.OK},
		"400 about other versions":    {says(400, "text/plain", "unsupported API version 2025-06-18"), call.UpstreamStatus},
		"a result":                    {saysJSON(400, `{"jsonrpc":"2.0","id":ID,"result":{"isError":true,"content":[{"type":"text","text":"`+said+`"}]}}`), call.UpstreamStatus},
		"legacy code with 200":        {unsupported(200, `["2025-06-18"]`), call.OK},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if name == "legacy code with 200" {
				p := handshakePeer(t, handshake{"tools/call": refusing(1, tc.answer)})
				s := newStore()
				knows(s, session.Modern)
				if reply, err := process(t, s).Call(t.Context(), request(t, p.url)); err != nil || reply.Facts.Posts != 2 || reply.Facts.Again != exchange.AgainVersion {
					t.Errorf("modern: want the code believed, got %v, %+v", err, reply.Facts)
				}
			} else {
				p := newPeer(t, modern(tc.answer))
				reply, err := process(t, nil).Call(t.Context(), request(t, p.url))
				if got := reasonOf(t, err); got != tc.want || p.posts("tools/call") != 1 || reply.Facts.Posts != 1 || p.posts("initialize") != 0 {
					t.Errorf("modern: want %s, got %v after %v", tc.want, err, p.methods())
				}
			}
			if strings.HasPrefix(name, "legacy") {
				tc.answer = saysJSON(200, failure("ID", -32022, "mine"))
			}
			p := newLegacyPeer(t, tc.answer)
			reply, err := process(t, nil).Call(t.Context(), request(t, p.url))
			if got := reasonOf(t, err); got != tc.want || p.posts("tools/call") != 1 || reply.Facts.Posts != 1 || p.posts("initialize") != 1 {
				t.Errorf("legacy: want %s, got %v after %v", tc.want, err, p.methods())
			}
		})
	}
}

func TestInitializeIsOfferedAVersionThatTheServerNames(t *testing.T) {
	asked := func(version string) script {
		return func(w net.Conn, g got) {
			if strings.Contains(string(g.Body), `"protocolVersion":"`+version+`"`) {
				write(w, 200, "application/json", result(g, `{"protocolVersion":"`+version+`"}`), "Mcp-Session-Id: s")
				return
			}
			saysJSON(400, `{"jsonrpc":"2.0","id":ID,"error":{"code":-32602,"message":"x","data":{"supported":["`+version+`","1999-01-01"],"requested":"2025-11-25"}}}`)(w, g)
		}
	}
	p := handshakePeer(t, handshake{"initialize": asked("2024-11-05"), "tools/call": anything})
	reply, err := process(t, nil).Call(t.Context(), request(t, p.url))
	if err != nil || reply.Facts.Version != "2024-11-05" || p.posts("initialize") != 2 || p.last(t, "tools/call").Header.Get("Mcp-Protocol-Version") != "2024-11-05" {
		t.Errorf("got %v, %+v, %v", err, reply.Facts, p.methods())
	}
	// One that is refused as well is the end: no list is worked through.
	p = handshakePeer(t, handshake{"initialize": saysJSON(400, failure("ID", -32000, "Unsupported protocol version, supported are 2025-06-18, 2025-03-26, 2024-11-05"))})
	_, err = process(t, nil).Call(t.Context(), request(t, p.url))
	if reasonOf(t, err) != call.NoCommonVersion || p.posts("initialize") != 2 || p.posts("tools/call") != 0 {
		t.Errorf("got %v, %v", err, p.methods())
	}
}

// TestLegacyVerdictAboutAModernServerIsHealed: initialize has no effect, so the
// same call may go on.
func TestLegacyVerdictAboutAModernServerIsHealed(t *testing.T) {
	p := newPeer(t, modern(func(w net.Conn, g got) {
		if g.Header.Get("Mcp-Method") == "" {
			unsupported(400, `["2026-07-28"]`)(w, g)
			return
		}
		answered(w, g)
	}))
	s := newStore()
	knows(s, session.Legacy)
	reply, err := process(t, s).Call(t.Context(), request(t, p.url))
	if err != nil || reply.Facts.Era != session.Modern || reply.Facts.Posts != 1 || s.get(originKey).Era != session.Modern {
		t.Errorf("got %v, %+v, %v", err, reply.Facts, p.methods())
	}
	if diff := cmp.Diff([]string{"initialize", "tools/call"}, p.methods()); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
}

// TestStaleModernVerdictFailsLoudlyOnceAndHeals, in each way that a server from
// before has to say that it wants a session.
func TestStaleModernVerdictFailsLoudlyOnceAndHeals(t *testing.T) {
	for name, odd := range map[string]script{
		"404 text":                  says(404, "text/plain", "session not found"),
		"404 -32001 with our id":    saysJSON(404, failure("ID", -32001, "Session not found")),
		"405":                       says(405, "", ""),
		"400 empty":                 says(400, "", ""),
		"400 without an id":         saysJSON(400, failure("null", -32000, "Bad Request: Server not initialized")),
		"400 with our id":           saysJSON(400, failure("ID", -32000, "Mcp-Session-Id header is required")),
		"400 with an id of its own": saysJSON(400, failure(`"server-error"`, -32600, "Bad Request: Missing session ID")),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := handshakePeer(t, handshake{"tools/call": func(w net.Conn, g got) {
				if g.Header.Get("Mcp-Session-Id") == "" {
					odd(w, g)
					return
				}
				answered(w, g)
			}})
			s := newStore()
			knows(s, session.Modern)
			x := process(t, s)
			reply, err := x.Call(t.Context(), request(t, p.url))
			if err == nil && reply.Error == nil || reply.Facts.Posts != 1 || p.posts("initialize") != 0 {
				t.Errorf("want one loud failure, got %v, %v", err, p.methods())
			}
			for _, x := range []*exchange.Exchange{x, process(t, s)} {
				reply, err := x.Call(t.Context(), request(t, p.url))
				if err != nil || reply.Facts.Era != session.Legacy || string(reply.Result) != hello {
					t.Errorf("want the next call to open it, got %v, %+v", err, reply.Facts)
				}
			}
		})
	}
	// A tool's own error leaves the verdict alone.
	p := newPeer(t, modern(saysJSON(400, failure("ID", -32602, "session_id is required"))))
	s := newStore()
	x := process(t, s)
	for range 2 {
		if reply, err := x.Call(t.Context(), request(t, p.url)); err != nil || reply.Error == nil {
			t.Errorf("got %v", err)
		}
	}
	if p.posts("server/discover") != 1 {
		t.Errorf("the verdict was dropped: %v", p.methods())
	}
}
