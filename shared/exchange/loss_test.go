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

// lossy is a legacy server that holds sessions and answers the first calls
// with odd.
func lossy(t testing.TB, times int, odd script) *peer {
	left := times
	return handshakePeer(t, handshake{"tools/call": func(w net.Conn, g got) {
		if left > 0 {
			left--
			odd(w, g)
			return
		}
		answered(w, g)
	}})
}

var lossShapes = map[string]script{
	"404 plain":                 says(404, "text/plain; charset=utf-8", "session not found\n"),
	"404 empty":                 says(404, "", ""),
	"404 -32001":                saysJSON(404, failure("null", -32001, "Session not found")),
	"404 -32001 with our id":    saysJSON(404, failure("ID", -32001, "Session not found")),
	"404 -32600 about sessions": saysJSON(404, failure("null", -32600, "Session terminated")),
	"400 -32000":                saysJSON(400, failure("null", -32000, "Bad Request: No valid session ID provided")),
	"400 not initialized":       saysJSON(400, failure("null", -32000, "Bad Request: Server not initialized")),
	"400 with our id":           saysJSON(400, failure("ID", -32000, "Invalid session ID")),
	"400 header required":       saysJSON(400, failure("null", -32000, "Bad Request: Mcp-Session-Id header is required")),
	"400 with an id of its own": saysJSON(400, failure(`"server-error"`, -32600, "Bad Request: No valid session ID provided")),
	"404 with an id of its own": saysJSON(404, failure(`"server-error"`, -32600, "Not Found: Session has been terminated")),
	"404 JSON of another kind":  saysJSON(404, `{"detail":"Not Found"}`),
	"400 plain":                 says(400, "text/plain", "Missing or unknown session"),
	"200 -32600":                saysJSON(200, failure("ID", -32600, "Unknown session id; client should reinitialize")),
	"200 -32600 on a stream":    streaming(event(failure("ID", -32600, "Unknown session id"))),
	"200 -32600 without an id":  saysJSON(200, failure("null", -32600, "Unknown session id")),
	"200 not found":             saysJSON(200, failure("ID", -32600, "Session not found")),
	"200 id not found":          saysJSON(200, failure("ID", -32600, "Error: MCP session id not found: s-1")),
	"200 expired":               saysJSON(200, failure("ID", -32600, "Your session has expired, please connect again")),
	"200 none valid":            saysJSON(200, failure("ID", -32600, "Bad Request: No valid session Id provided")),
	"200 handshake forgotten":   saysJSON(200, failure("ID", -32600, "Invalid Request: server not initialized")),
	"200 handshake wanted":      saysJSON(200, failure("ID", -32600, "The server was restarted; please re-initialize.")),
}

func TestLostSessionIsOpenedAgainAndAskedOnceMore(t *testing.T) {
	for name, shape := range lossShapes {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := lossy(t, 1, shape)
			s := newStore()
			reply, err := process(t, s).Call(t.Context(), request(t, p.url))
			if err != nil {
				t.Fatal(err)
			}
			want := []string{"server/discover", "initialize", "notifications/initialized", "tools/call", "initialize", "notifications/initialized", "tools/call"}
			if diff := cmp.Diff(want, p.methods()); diff != "" {
				t.Errorf("-want +got\n%s", diff)
			}
			if string(reply.Result) != hello || reply.Facts.Posts != 2 || reply.Facts.Session != exchange.SessionRenewed || !reply.Facts.Lost || reply.Facts.Again != exchange.AgainSession {
				t.Errorf("got %s, %+v", reply.Result, reply.Facts)
			}
			if all := p.all(); all[4].Header.Get("Mcp-Session-Id") != "" || all[6].Header.Get("Mcp-Session-Id") != "s-2" {
				t.Error("the lost session was sent again")
			}
			if got := s.get(sessionKey); got.SessionID != "s-2" || s.saves != 3 {
				t.Errorf("want s-2 stored over s-1, got %+v after %d saves", got, s.saves)
			}
		})
	}
}

func TestSessionLostTwiceFailsFast(t *testing.T) {
	for name, shape := range lossShapes {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := lossy(t, 99, shape)
			s := newStore()
			s.set(sessionKey, session.State{Era: session.Legacy, Version: "2025-11-25", SessionID: p.open(), Expires: s.now().Add(session.Lifetime), Ver: 1})
			reply, err := process(t, s).Call(t.Context(), request(t, p.url))
			refusal := refusalOf(t, err)
			if refusal.Reason != call.SessionLost || refusal.MayHaveRun() != call.ImpactNone {
				t.Errorf("want no_session with impact none, got %v with %s", refusal, refusal.MayHaveRun())
			}
			if p.posts("tools/call") != 2 || reply.Facts.Posts != 2 || p.posts("initialize") != 1 {
				t.Errorf("want 2 calls and 1 initialize, got %v", p.methods())
			}
		})
	}
}

// TestOtherErrorsAreNoLoss: they may be about sessions of the tool's own, or
// of a server that was sent no session id.
func TestOtherErrorsAreNoLoss(t *testing.T) {
	for name, tc := range map[string]struct {
		shape script
		want  call.Reason // OK: the error is the answer
	}{
		"404 page":                   {says(404, "text/html", "<html>session</html>"), call.UpstreamStatus},
		"404 page by its bytes":      {says(404, "text/plain", " <!doctype html>"), call.UpstreamStatus},
		"404 -32601":                 {saysJSON(404, failure("ID", -32601, "Method not found in this session")), call.OK},
		"404 -32602":                 {saysJSON(404, failure("ID", -32602, "no such tool")), call.OK},
		"400 -32602 about a session": {saysJSON(400, failure("ID", -32602, "session_id is required")), call.OK},
		"400 -32000 otherwise":       {saysJSON(400, failure("ID", -32000, "no")), call.OK},
		"400 page about sessions":    {says(400, "text/html", "<html>your session expired"), call.UpstreamStatus},
		"400 plain otherwise":        {says(400, "text/plain", "no"), call.UpstreamStatus},
		"200 -32000 about a session": {saysJSON(200, failure("ID", -32000, "the browser session is closed")), call.OK},
		"200 -32001":                 {saysJSON(200, failure("ID", -32001, "request timed out")), call.OK},
		"200 -32600 shell":           {saysJSON(200, failure("ID", -32600, "shell session exited with 1")), call.OK},
		"200 -32600 browser":         {saysJSON(200, failure("ID", -32600, "the browser session expired")), call.OK},
		"200 -32600 terminal":        {saysJSON(200, failure("ID", -32600, "Terminal session not found")), call.OK},
		"200 -32600 login":           {saysJSON(200, failure("ID", -32600, "no valid session for user 7")), call.OK},
		"200 -32600 database":        {saysJSON(200, failure("ID", -32600, "written, now reinitialize the database")), call.OK},
		"200 -32600 machine":         {saysJSON(200, failure("ID", -32600, "the mail server not initialized")), call.OK},
		"200 -32600 on a stream":     {streaming(event(failure("ID", -32600, "ssh session closed"))), call.OK},
		"200 -32600 far behind":      {saysJSON(200, failure("ID", -32600, strings.Repeat("x", 2048)+". Session not found")), call.OK},
		"200 -32602 words of a loss": {saysJSON(200, failure("ID", -32602, "Session not found")), call.OK},
		"202 -32600 words of a loss": {saysJSON(202, failure("ID", -32600, "Session not found")), call.OK},
		"200 isError about sessions": {saysJSON(200, `{"jsonrpc":"2.0","id":ID,"result":{"isError":true,"content":[{"type":"text","text":"session not found"}]}}`), call.OK},
		"500 about sessions":         {saysJSON(500, failure("ID", -32600, "session not found")), call.OK},
		"403 about sessions":         {saysJSON(403, failure("ID", -32600, "session not found")), call.UpstreamUnauthorized},
		"410":                        {says(410, "text/plain", "session gone"), call.UpstreamStatus},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := lossy(t, 99, tc.shape)
			reply, err := process(t, newStore()).Call(t.Context(), request(t, p.url))
			if got := reasonOf(t, err); got != tc.want {
				t.Errorf("want %s, got %v", tc.want, err)
			}
			if p.posts("tools/call") != 1 || reply.Facts.Posts != 1 || p.posts("initialize") != 1 {
				t.Errorf("want it asked once, got %v", p.methods())
			}
		})
	}
}

func TestServerThatWasSentNoSessionCannotLoseIt(t *testing.T) {
	for name, shape := range lossShapes {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := handshakePeer(t, handshake{
				"initialize": saysJSON(200, `{"jsonrpc":"2.0","id":ID,"result":{"protocolVersion":"2025-06-18"}}`),
				"tools/call": shape,
			})
			reply, _ := process(t, newStore()).Call(t.Context(), request(t, p.url))
			if p.posts("tools/call") != 1 || reply.Facts.Posts != 1 || p.posts("initialize") != 1 {
				t.Errorf("want it asked once, got %v", p.methods())
			}
		})
	}
}

func TestModernNotFoundIsTheAnswer(t *testing.T) {
	p := newPeer(t, modern(saysJSON(404, failure("ID", -32601, "Method not found"))))
	reply, err := process(t, nil).Call(t.Context(), request(t, p.url))
	if err != nil {
		t.Fatal(err)
	}
	if reply.Error == nil || reply.Error.Code != -32601 || reply.Facts.Status != 404 || reply.Facts.Posts != 1 {
		t.Errorf("got %+v, %+v", reply.Error, reply.Facts)
	}
}

// TestFailedRenewal: the call that met the loss was not executed, so nothing was.
func TestFailedRenewal(t *testing.T) {
	for name, tc := range map[string]struct {
		again script
		want  call.Reason
	}{
		"initialize fails":   {says(500, "", ""), call.InitializeFailed},
		"initialize refused": {says(401, "", ""), call.UpstreamUnauthorized},
		"initialize is gone": {saysJSON(404, failure("ID", -32601, "Method not found")), call.InitializeFailed},
	} {
		t.Run(name, func(t *testing.T) {
			p := handshakePeer(t, handshake{"initialize": tc.again, "tools/call": says(404, "", "")})
			s := newStore()
			knows(s, session.Legacy)
			s.set(sessionKey, session.State{Era: session.Legacy, Version: "2025-11-25", SessionID: "old", Expires: s.now().Add(session.Lifetime), Ver: 1})
			reply, err := process(t, s).Call(t.Context(), request(t, p.url))
			refusal := refusalOf(t, err)
			if refusal.Reason != tc.want || refusal.MayHaveRun() != call.ImpactNone || reply.Facts.Posts != 1 {
				t.Errorf("want %s with impact none, got %v with %s", tc.want, refusal, refusal.MayHaveRun())
			}
		})
	}
}

// TestSecondAskingMayFailInItsOwnWay: what is known of the first says nothing
// of the second.
func TestSecondAskingMayFailInItsOwnWay(t *testing.T) {
	calls := 0
	p := handshakePeer(t, handshake{"tools/call": func(w net.Conn, g got) {
		if calls++; calls == 1 {
			says(404, "", "")(w, g)
			return
		}
		w.Close()
	}})
	reply, err := process(t, newStore()).Call(t.Context(), request(t, p.url))
	refusal := refusalOf(t, err)
	if refusal.Reason != call.ResetBeforeHead || refusal.MayHaveRun() != call.ImpactUnknown || reply.Facts.Posts != 2 {
		t.Errorf("got %v with %s after %d POSTs", refusal, refusal.MayHaveRun(), reply.Facts.Posts)
	}
}

func TestSessionRenewedElsewhereIsTakenOver(t *testing.T) {
	p := newLegacyPeer(t, answered)
	s := newStore()
	one, two := process(t, s), process(t, s)
	for _, x := range []*exchange.Exchange{one, two} {
		if _, err := x.Call(t.Context(), request(t, p.url)); err != nil {
			t.Fatal(err)
		}
	}
	p.loseAll()
	for _, x := range []*exchange.Exchange{one, two} {
		reply, err := x.Call(t.Context(), request(t, p.url))
		if err != nil {
			t.Fatal(err)
		}
		if reply.Facts.Posts != 2 {
			t.Errorf("want 2 POSTs, got %d", reply.Facts.Posts)
		}
	}
	if p.posts("initialize") != 2 || p.sessions() != 1 {
		t.Errorf("want the first to renew for both, got %v", p.methods())
	}
}

func TestLostSessionThatTheStoreStillHasIsReplaced(t *testing.T) {
	p := newLegacyPeer(t, answered)
	s := newStore()
	x := process(t, s)
	if _, err := x.Call(t.Context(), request(t, p.url)); err != nil {
		t.Fatal(err)
	}
	p.loseAll()
	s.deaf = true
	reply, err := x.Call(t.Context(), request(t, p.url))
	if err != nil || reply.Facts.Session != exchange.SessionRenewed || s.get(sessionKey).SessionID != "s-2" {
		t.Errorf("got %v, %+v, stored %+v", err, reply.Facts, s.get(sessionKey))
	}
}

func TestServerThatRefusesToEndASessionIsNoFailure(t *testing.T) {
	for name, answer := range map[string]script{
		"405": says(405, "", ""), "404": says(404, "text/plain", "no"), "reset": func(w net.Conn, g got) { w.Close() },
		"202 chunked": func(w net.Conn, g got) {
			send(w, "HTTP/1.1 202 Accepted\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n")
		},
	} {
		s := newStore()
		winner := session.State{Era: session.Legacy, Version: "2025-06-18", SessionID: "winner", Expires: s.now().Add(session.Lifetime)}
		p := handshakePeer(t, handshake{
			"notifications/initialized": func(w net.Conn, g got) { // while we open, another process does
				_, _ = s.Save(t.Context(), sessionKey, winner)
				write(w, 202, "", "")
			},
			"DELETE":     answer,
			"tools/call": anything,
		})
		reply, err := process(t, s).Call(t.Context(), request(t, p.url))
		if err != nil || reply.Facts.Session != exchange.SessionReused || reply.Facts.Version != "2025-06-18" || reply.Facts.Status != 200 {
			t.Errorf("%s: got %v, %+v", name, err, reply.Facts)
		}
		if got := p.last(t, "tools/call").Header.Get("Mcp-Session-Id"); got != "winner" {
			t.Errorf("%s: the call was sent with %s", name, got)
		}
		if want := []string{"server/discover", "initialize", "notifications/initialized", "DELETE", "tools/call"}; !cmp.Equal(want, p.methods()) {
			t.Errorf("%s: got %v", name, p.methods())
		}
	}
}

func TestLegacyVerdictIsDroppedWhenTheServerKnowsNoHandshake(t *testing.T) {
	p := handshakePeer(t, handshake{
		"server/discover": modern(nil),
		"initialize":      saysJSON(404, failure("ID", -32601, "Method not found")),
		"tools/call":      anything,
	})
	s := newStore()
	knows(s, session.Legacy)
	x := process(t, s)
	if _, err := x.Call(t.Context(), request(t, p.url)); reasonOf(t, err) != call.InitializeFailed {
		t.Fatalf("want the stale verdict to fail loudly, got %v", err)
	}
	for _, x := range []*exchange.Exchange{x, process(t, s)} {
		reply, err := x.Call(t.Context(), request(t, p.url))
		if err != nil || reply.Facts.Era != session.Modern {
			t.Errorf("want the next call to probe, got %v, %+v", err, reply.Facts)
		}
	}
}

func TestModernVerdictIsDroppedWhenTheServerAnswersLikeALegacyOne(t *testing.T) {
	p := newLegacyPeer(t, answered)
	s := newStore()
	knows(s, session.Modern)
	s.set(sessionKey, s.get(originKey)) // as after a change of era
	x := process(t, s)
	_, err := x.Call(t.Context(), request(t, p.url))
	if reasonOf(t, err) != call.UpstreamStatus || p.posts("tools/call") != 1 || p.posts("initialize") != 0 {
		t.Fatalf("want one loud failure, got %v, %v", err, p.methods())
	}
	for _, x := range []*exchange.Exchange{x, process(t, s)} {
		reply, err := x.Call(t.Context(), request(t, p.url))
		if err != nil || reply.Facts.Era != session.Legacy {
			t.Errorf("want the next call to probe, got %v, %+v", err, reply.Facts)
		}
	}
}

// TestRefusedVersionIsChangedOnce: -32022 says that the request did not run.
func TestRefusedVersionIsChangedOnce(t *testing.T) {
	p := handshakePeer(t, handshake{"tools/call": func(w net.Conn, g got) {
		if g.Header.Get("Mcp-Session-Id") == "" {
			unsupported(400, `["2025-11-25"]`)(w, g)
			return
		}
		answered(w, g)
	}})
	for name, key := range map[string]session.Key{"verdict": originKey, "session": sessionKey} {
		s := newStore()
		knows(s, session.Modern)
		s.set(key, s.get(originKey))
		reply, err := process(t, s).Call(t.Context(), request(t, p.url))
		if err != nil || reply.Facts.Era != session.Legacy || reply.Facts.Posts != 2 || reply.Facts.Session != exchange.SessionNew {
			t.Errorf("%s: want a change to legacy and a second POST, got %v, %+v", name, err, reply.Facts)
		}
		if s.get(originKey).Era != session.Legacy || s.get(sessionKey).Era != session.Legacy {
			t.Errorf("%s: what is stored was not changed: %v", name, s.states)
		}
	}
}

func TestVersionRefusedInBothErasIsNoCommonVersion(t *testing.T) {
	p := handshakePeer(t, handshake{"tools/call": unsupported(400, `["2025-11-25","2025-06-18"]`)})
	s := newStore()
	knows(s, session.Modern)
	reply, err := process(t, s).Call(t.Context(), request(t, p.url))
	refusal := refusalOf(t, err)
	if refusal.Reason != call.NoCommonVersion || refusal.MayHaveRun() != call.ImpactNone || reply.Facts.Posts != 2 {
		t.Errorf("got %v with %s after %d POSTs", refusal, refusal.MayHaveRun(), reply.Facts.Posts)
	}
}

func TestLegacySessionOfAServerThatBecameModern(t *testing.T) {
	p := newPeer(t, modern(func(w net.Conn, g got) {
		if g.Header.Get("Mcp-Method") == "" {
			unsupported(400, `["2026-07-28"]`)(w, g)
			return
		}
		answered(w, g)
	}))
	s := newStore()
	knows(s, session.Legacy)
	s.set(sessionKey, session.State{Era: session.Legacy, Version: "2025-11-25", SessionID: "old", Expires: s.now().Add(session.Lifetime), Ver: 1})
	for want := 2; want > 0; want-- {
		reply, err := process(t, s).Call(t.Context(), request(t, p.url))
		if err != nil || reply.Facts.Era != session.Modern || reply.Facts.Posts != want {
			t.Errorf("want %d POSTs in the modern era, got %v, %+v", want, err, reply.Facts)
		}
	}
	if diff := cmp.Diff([]string{"tools/call", "DELETE", "tools/call", "tools/call"}, p.methods()); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
	if got := p.all()[1].Header.Get("Mcp-Session-Id"); got != "old" {
		t.Errorf("want the session given back that is not used any more, got %q", got)
	}
}

func TestVersionRefusedTwiceIsNoCommonVersion(t *testing.T) {
	for name, versions := range map[string]string{"none listed": `[]`, "unknown": `["2099-01-01"]`, "itself": `["2026-07-28"]`} {
		p := newPeer(t, modern(unsupported(400, versions)))
		reply, err := process(t, nil).Call(t.Context(), request(t, p.url))
		refusal := refusalOf(t, err)
		if refusal.Reason != call.NoCommonVersion || refusal.MayHaveRun() != call.ImpactNone || reply.Facts.Posts != 1 {
			t.Errorf("%s: got %v with %s after %d POSTs", name, refusal, refusal.MayHaveRun(), reply.Facts.Posts)
		}
	}
}
