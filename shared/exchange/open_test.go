package exchange_test

import (
	"fmt"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"mcprelay/shared/call"
	"mcprelay/shared/exchange"
	"mcprelay/shared/session"
)

// handshake is a server by its answers to the methods of an opening. A method
// that it does not name is answered as a server of the era would.
type handshake map[string]script

func (h handshake) script(p func() *peer) script {
	return func(w net.Conn, g got) {
		method := g.Method
		if g.Verb == "DELETE" {
			method = g.Verb
		}
		if answer, ok := h[method]; ok {
			answer(w, g)
			return
		}
		p().legacy(answered)(w, g)
	}
}

func handshakePeer(t testing.TB, h handshake) *peer {
	var p *peer
	ready := make(chan struct{})
	p = newPeer(t, func(w net.Conn, g got) { <-ready; h.script(func() *peer { return p })(w, g) })
	close(ready)
	return p
}

func says(status int, kind, body string, headers ...string) script {
	return func(w net.Conn, g got) { write(w, status, kind, strings.ReplaceAll(body, "ID", g.ID), headers...) }
}

func saysJSON(status int, body string) script { return says(status, "application/json", body) }

func unsupported(status int, versions string) script {
	return saysJSON(status, `{"jsonrpc":"2.0","id":ID,"error":{"code":-32022,"message":"Unsupported protocol version","data":{"supported":`+versions+`,"requested":"2026-07-28"}}}`)
}

// anything answers every call, session or not.
var anything = script(answered)

func TestEraIsFoundByTheProbe(t *testing.T) {
	const D, I, N, C = "server/discover", "initialize", "notifications/initialized", "tools/call"
	legacyWay := []string{D, I, N, C}
	for name, tc := range map[string]struct {
		discover script
		want     []string // methods, in order
		era      session.Era
	}{
		"discovered":                       {saysJSON(200, `{"jsonrpc":"2.0","id":ID,"result":{"resultType":"complete","supportedVersions":["2026-07-28"]}}`), []string{D, C}, session.Modern},
		"discovered on a stream":           {streaming(event(`{"jsonrpc":"2.0","id":ID,"result":{"supportedVersions":["2026-07-28","2025-11-25"]}}`)), []string{D, C}, session.Modern},
		"discovered, newer ones too":       {saysJSON(200, `{"jsonrpc":"2.0","id":ID,"result":{"supportedVersions":["2027-01-01","2026-07-28"]}}`), []string{D, C}, session.Modern},
		"discovered without versions":      {saysJSON(200, `{"jsonrpc":"2.0","id":ID,"result":{"resultType":"complete"}}`), []string{D, C}, session.Modern},
		"discovered, legacy versions only": {saysJSON(200, `{"jsonrpc":"2.0","id":ID,"result":{"supportedVersions":["2025-11-25"]}}`), legacyWay, session.Legacy},
		"header mismatch":                  {saysJSON(400, `{"jsonrpc":"2.0","id":ID,"error":{"code":-32020,"message":"x"}}`), []string{D, C}, session.Modern},
		"missing capability":               {saysJSON(400, `{"jsonrpc":"2.0","id":null,"error":{"code":-32021,"message":"x"}}`), []string{D, C}, session.Modern},
		"refused version, legacy listed":   {unsupported(400, `["2025-11-25","2025-06-18"]`), legacyWay, session.Legacy},
		"refused version, itself listed":   {unsupported(400, `["2026-07-28","2025-06-18"]`), legacyWay, session.Legacy},
		"400 with an error":                {saysJSON(400, failure("null", -32000, "Mcp-Session-Id header is required")), legacyWay, session.Legacy},
		"400 without a body":               {says(400, "", ""), legacyWay, session.Legacy},
		"400 page":                         {says(400, "text/html", "<html>"), legacyWay, session.Legacy},
		"404":                              {says(404, "text/plain", "404 page not found"), legacyWay, session.Legacy},
		"405":                              {says(405, "", ""), legacyWay, session.Legacy},
		"unknown method, 404":              {saysJSON(404, failure("ID", -32601, "Method not found")), legacyWay, session.Legacy},
		"unknown method, 200":              {saysJSON(200, failure("ID", -32601, "Method not found")), legacyWay, session.Legacy},
		"internal error, 200":              {saysJSON(200, failure("ID", -32603, "x")), legacyWay, session.Legacy},
		"200 page":                         {says(200, "text/html", "<html>"), legacyWay, session.Legacy},
		"200 of another protocol":          {saysJSON(200, `{"Output":{},"Version":"1"}`), legacyWay, session.Legacy},
		"any result for anything":          {saysJSON(200, `{"jsonrpc":"2.0","id":ID,"result":{}}`), legacyWay, session.Legacy},
		"accepted, no answer":              {says(202, "", ""), legacyWay, session.Legacy},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := handshake{D: tc.discover}
			if tc.era == session.Modern {
				h[C] = anything
			}
			p := handshakePeer(t, h)
			s := newStore()
			reply, err := process(t, s).Call(t.Context(), request(t, p.url))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.want, p.methods()); diff != "" {
				t.Errorf("-want +got\n%s", diff)
			}
			if reply.Facts.Era != tc.era || s.get(originKey).Era != tc.era {
				t.Errorf("want era %s, got %s, stored %s", tc.era, reply.Facts.Era, s.get(originKey).Era)
			}
			if left := time.Until(s.get(originKey).Expires); left <= 23*time.Hour || left > session.VerdictLifetime {
				t.Errorf("the verdict expires in %v", left)
			}
		})
	}
}

// TestFailedOpening: the agent's request never leaves, and nothing is learned.
func TestFailedOpening(t *testing.T) {
	const D, I, N = "server/discover", "initialize", "notifications/initialized"
	reset := func(w net.Conn, g got) { w.Close() }
	for name, tc := range map[string]struct {
		shake  handshake
		reason call.Reason
		status int
	}{
		"401 to the probe":             {handshake{D: says(401, "", "")}, call.UpstreamUnauthorized, 401},
		"403 to the probe":             {handshake{D: says(403, "", "")}, call.UpstreamUnauthorized, 403},
		"429 to the probe":             {handshake{D: says(429, "", "", "Retry-After: 7")}, call.InitializeFailed, 429},
		"500 to the probe":             {handshake{D: says(500, "", "")}, call.InitializeFailed, 500},
		"500 and an error":             {handshake{D: saysJSON(500, failure("ID", -32603, "x"))}, call.InitializeFailed, 500},
		"503 to the probe":             {handshake{D: says(503, "text/html", "<html>")}, call.InitializeFailed, 503},
		"redirect of the probe":        {handshake{D: says(307, "", "", "Location: /mcp/")}, call.Redirect, 307},
		"reset of the probe":           {handshake{D: reset}, call.InitializeFailed, 0},
		"cut probe":                    {handshake{D: streaming("")}, call.InitializeFailed, 200},
		"no version in common":         {handshake{D: unsupported(400, `["2099-01-01"]`)}, call.NoCommonVersion, 0},
		"versions not listed":          {handshake{D: saysJSON(400, failure("ID", -32022, "x"))}, call.NoCommonVersion, 0},
		"discovered, none in common":   {handshake{D: saysJSON(200, `{"jsonrpc":"2.0","id":ID,"result":{"supportedVersions":["2099-01-01"]}}`)}, call.NoCommonVersion, 0},
		"initialize refused":           {handshake{I: saysJSON(200, failure("ID", -32603, "x"))}, call.InitializeFailed, 200},
		"initialize 404":               {handshake{I: says(404, "", "")}, call.InitializeFailed, 404},
		"initialize 401":               {handshake{I: says(401, "", "")}, call.UpstreamUnauthorized, 401},
		"initialize 503":               {handshake{I: says(503, "", "", "Retry-After: 7")}, call.InitializeFailed, 503},
		"initialize page":              {handshake{I: says(200, "text/html", "<html>")}, call.InitializeFailed, 200},
		"initialize not JSON-RPC":      {handshake{I: saysJSON(200, `{"Output":{},"Version":"1"}`)}, call.InitializeFailed, 200},
		"initialize cut":               {handshake{I: streaming("")}, call.InitializeFailed, 200},
		"initialize reset":             {handshake{I: reset}, call.InitializeFailed, 0},
		"initialize, unknown version":  {handshake{I: saysJSON(200, `{"jsonrpc":"2.0","id":ID,"result":{"protocolVersion":"1999-01-01"}}`)}, call.NoCommonVersion, 0},
		"initialize, modern version":   {handshake{I: saysJSON(200, `{"jsonrpc":"2.0","id":ID,"result":{"protocolVersion":"2026-07-28"}}`)}, call.NoCommonVersion, 0},
		"initialize, no version":       {handshake{I: saysJSON(200, `{"jsonrpc":"2.0","id":ID,"result":{}}`)}, call.NoCommonVersion, 0},
		"initialize, version refused":  {handshake{I: saysJSON(400, failure("ID", -32022, "x"))}, call.NoCommonVersion, 0},
		"initialize, none in common":   {handshake{I: saysJSON(200, `{"jsonrpc":"2.0","id":ID,"error":{"code":-32602,"message":"x","data":{"supported":["1999-01-01"]}}}`)}, call.NoCommonVersion, 0},
		"initialize, two session ids":  {handshake{I: says(200, "application/json", `{"jsonrpc":"2.0","id":ID,"result":{"protocolVersion":"2025-11-25"}}`, "Mcp-Session-Id: a", "Mcp-Session-Id: b")}, call.InitializeFailed, 0},
		"initialized refused":          {handshake{N: says(400, "", "")}, call.InitializeFailed, 400},
		"initialized 401":              {handshake{N: says(401, "", "")}, call.UpstreamUnauthorized, 401},
		"initialized redirected":       {handshake{N: says(302, "", "", "Location: https://login.example.com/")}, call.Redirect, 302},
		"initialize, body over bounds": {handshake{I: endless("HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n\r\n", strings.Repeat(" ", 1<<16))}, call.InitializeFailed, 200},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := handshakePeer(t, tc.shake)
			s := newStore()
			reply, err := process(t, s).Call(t.Context(), request(t, p.url))
			refusal := refusalOf(t, err)
			if refusal.Reason != tc.reason || refusal.Status != tc.status {
				t.Errorf("want %s with status %d, got %v with %d", tc.reason, tc.status, refusal, refusal.Status)
			}
			if refusal.MayHaveRun() != call.ImpactNone {
				t.Errorf("want impact none, got %s", refusal.MayHaveRun())
			}
			if p.posts("tools/call") != 0 || reply.Facts.Posts != 0 {
				t.Error("the agent's request left")
			}
			if p.posts(I) > 1 || p.posts(D) > 1 {
				t.Errorf("the handshake was repeated: %v", p.methods())
			}
			if len(s.states) != 0 {
				t.Errorf("something was stored: %v", s.states)
			}
		})
	}
}

func TestRetryAfterOfAFailedOpeningIsKept(t *testing.T) {
	p := handshakePeer(t, handshake{"server/discover": says(429, "", "", "Retry-After: 7")})
	_, err := process(t, nil).Call(t.Context(), request(t, p.url))
	if refusal := refusalOf(t, err); refusal.RetryAfter != 7 {
		t.Errorf("want 7, got %d", refusal.RetryAfter)
	}
}

func TestNotificationIsAcceptedByAny2xx(t *testing.T) {
	for name, accept := range map[string]script{
		"202 empty":                  says(202, "", ""),
		"200 empty":                  says(200, "", ""),
		"204":                        func(w net.Conn, g got) { send(w, "HTTP/1.1 204 No Content\r\n\r\n") },
		"200 null":                   saysJSON(200, "null"),
		"202 text":                   says(202, "text/plain; charset=UTF-8", "Accepted"),
		"200 page":                   says(200, "text/html", "<html>"),
		"202 in an unknown encoding": says(202, "application/json", "x", "Content-Encoding: br"),
		"202 chunked": func(w net.Conn, g got) {
			send(w, "HTTP/1.1 202 Accepted\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n")
		},
		"200 stream that stays open":  func(w net.Conn, g got) { send(w, "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n") },
		"202 body that never comes":   func(w net.Conn, g got) { send(w, "HTTP/1.1 202 Accepted\r\nContent-Length: 5\r\n\r\n") },
		"202 and the connection ends": func(w net.Conn, g got) { send(w, "HTTP/1.1 202 Accepted\r\nConnection: close\r\n\r\n"); w.Close() },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := handshakePeer(t, handshake{"notifications/initialized": accept})
			reply, err := process(t, nil).Call(t.Context(), request(t, p.url))
			if err != nil {
				t.Fatal(err)
			}
			if reply.Facts.Session != exchange.SessionNew || p.posts("notifications/initialized") != 1 {
				t.Errorf("session %s, %v", reply.Facts.Session, p.methods())
			}
		})
	}
}

func TestNegotiatedVersionAndSessionAreSentAfterwards(t *testing.T) {
	for _, version := range []string{"2025-11-25", "2025-06-18", "2025-03-26"} {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			p := handshakePeer(t, handshake{
				"initialize": says(200, "application/json", `{"jsonrpc":"2.0","id":ID,"result":{"protocolVersion":"`+version+`"}}`, "MCP-SESSION-ID: opaque~1"),
				"tools/call": anything,
			})
			s := newStore()
			reply, err := process(t, s).Call(t.Context(), request(t, p.url))
			if err != nil {
				t.Fatal(err)
			}
			if first := p.last(t, "initialize"); first.Header.Get("Mcp-Protocol-Version") != "2025-11-25" || first.Header.Get("Mcp-Session-Id") != "" {
				t.Errorf("initialize was sent with %v", first.Header)
			}
			for _, method := range []string{"notifications/initialized", "tools/call"} {
				h := p.last(t, method).Header
				if h.Get("Mcp-Protocol-Version") != version || h.Get("Mcp-Session-Id") != "opaque~1" {
					t.Errorf("%s was sent with %v", method, h)
				}
				if h.Get("Mcp-Method") != "" || h.Get("Mcp-Name") != "" {
					t.Errorf("%s has headers of the other era: %v", method, h)
				}
			}
			stored := s.get(sessionKey)
			if stored.Version != version || stored.SessionID != "opaque~1" || stored.Era != session.Legacy || reply.Facts.Version != version {
				t.Errorf("stored %+v, told %s", stored, reply.Facts.Version)
			}
			if left := time.Until(stored.Expires); left <= 0 || left > session.Lifetime {
				t.Errorf("the session expires in %v", left)
			}
		})
	}
}

func TestSecondProcessReusesTheStoredSession(t *testing.T) {
	p := newLegacyPeer(t, answered)
	s := newStore()
	var how []string
	for range 3 {
		x := process(t, s)
		for range 2 {
			reply, err := x.Call(t.Context(), request(t, p.url))
			if err != nil {
				t.Fatal(err)
			}
			how = append(how, reply.Facts.Session)
		}
	}
	want := []string{exchange.SessionNew, "reused", "reused", "reused", "reused", "reused"}
	if diff := cmp.Diff(want, how); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
	if p.posts("initialize") != 1 || p.posts("server/discover") != 1 || p.posts("tools/call") != 6 {
		t.Errorf("want one initialize, got %v", p.methods())
	}
}

func TestSecondProcessBelievesTheStoredVerdict(t *testing.T) {
	p := newPeer(t, modern(answered))
	s := newStore()
	for range 3 {
		reply, err := process(t, s).Call(t.Context(), request(t, p.url))
		if err != nil {
			t.Fatal(err)
		}
		if reply.Facts.Session != exchange.SessionNone || reply.Facts.Version != "2026-07-28" {
			t.Errorf("got %+v", reply.Facts)
		}
	}
	if p.posts("server/discover") != 1 || p.posts("tools/call") != 3 {
		t.Errorf("want one probe, got %v", p.methods())
	}
}

func TestWarmCallReadsAndWritesNothingOfTheStore(t *testing.T) {
	for name, p := range map[string]*peer{"modern": newPeer(t, modern(answered)), "legacy": newLegacyPeer(t, answered)} {
		s := newStore()
		x := process(t, s)
		if _, err := x.Call(t.Context(), request(t, p.url)); err != nil {
			t.Fatal(err)
		}
		loads, saves := s.loads, s.saves
		if _, err := x.Call(t.Context(), request(t, p.url)); err != nil {
			t.Fatal(err)
		}
		if s.loads != loads || s.saves != saves {
			t.Errorf("%s: a warm call made %d loads and %d saves", name, s.loads-loads, s.saves-saves)
		}
	}
}

func TestExpiredVerdictIsProbedAgain(t *testing.T) {
	var legacyNow = true
	p := handshakePeer(t, handshake{"server/discover": func(w net.Conn, g got) {
		if legacyNow {
			write(w, http.StatusBadRequest, "", "")
			return
		}
		modern(answered)(w, g)
	}, "tools/call": anything})
	now := time.Now()
	s := newStore()
	s.lazy = true
	clock := func() time.Time { return now }
	s.now = clock
	x := process(t, s, func(c *exchange.Config) { c.Now = clock })
	eras := []session.Era{}
	for range 2 {
		reply, err := x.Call(t.Context(), request(t, p.url))
		if err != nil {
			t.Fatal(err)
		}
		eras = append(eras, reply.Facts.Era)
		now = now.Add(session.Lifetime + time.Second)
		legacyNow = false
	}
	if fmt.Sprint(eras) != "[legacy modern]" || s.get(originKey).Era != session.Modern {
		t.Errorf("want the upgrade to be noticed and stored, got %v, %v", eras, s.states)
	}
}

func TestStoreThatFailsCostsAnOpeningAndNoAnswer(t *testing.T) {
	for name, s := range map[string]*store{"all": {broken: true}, "saves": {mute: true}} {
		t.Run(name, func(t *testing.T) {
			s.states, s.now = map[session.Key]session.State{}, time.Now
			p := newLegacyPeer(t, answered)
			x := process(t, s)
			for _, want := range []string{exchange.SessionUnsaved, exchange.SessionReused} {
				reply, err := x.Call(t.Context(), request(t, p.url))
				if err != nil {
					t.Fatal(err)
				}
				if reply.Facts.Session != want {
					t.Errorf("want %s, got %s", want, reply.Facts.Session)
				}
			}
		})
	}
}

func TestServerWithoutSessionsIsInitializedOnce(t *testing.T) {
	p := handshakePeer(t, handshake{
		"initialize": saysJSON(200, `{"jsonrpc":"2.0","id":ID,"result":{"protocolVersion":"2025-06-18"}}`),
		"tools/call": anything,
	})
	s := newStore()
	for range 2 {
		reply, err := process(t, s).Call(t.Context(), request(t, p.url))
		if err != nil {
			t.Fatal(err)
		}
		if reply.Facts.Session != exchange.SessionNone || reply.Facts.Era != session.Legacy {
			t.Errorf("got %+v", reply.Facts)
		}
	}
	if p.posts("initialize") != 1 {
		t.Errorf("want one initialize, got %v", p.methods())
	}
}
