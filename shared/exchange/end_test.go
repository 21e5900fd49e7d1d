package exchange_test

import (
	"context"
	"net"
	"net/http"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"mcprelay/shared/call"
	"mcprelay/shared/exchange"
	"mcprelay/shared/session"
)

var owner = session.Owner{Tenant: "acme", Server: "docs", Subject: "ci", Kind: "service_token", Run: "r1"}

// ending is a session that is to be ended.
func ending(id string) session.State {
	return session.State{Era: session.Legacy, Version: "2025-06-18", SessionID: id, Owner: owner, Ver: 3}
}

func TestEndDeletesTheSession(t *testing.T) {
	authorize := func(r *exchange.Request) {
		r.Authorize = func(h http.Header) { h.Set("Authorization", "Bearer abc") }
		r.Operation, r.Tool = call.OperationClose, ""
	}
	for name, tc := range map[string]struct {
		answer script
		want   call.Reason
	}{
		"200": {says(200, "", ""), call.OK},
		"202 chunked": {func(w net.Conn, g got) {
			send(w, "HTTP/1.1 202 Accepted\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n")
		}, call.OK},
		"204":           {func(w net.Conn, g got) { send(w, "HTTP/1.1 204 No Content\r\n\r\n") }, call.OK},
		"200 page":      {says(200, "text/html", "<html>"), call.OK},
		"404":           {says(404, "text/plain", "session not found"), call.OK},
		"405":           {says(405, "", "", "Allow: POST"), call.OK},
		"400":           {saysJSON(400, failure("null", -32000, "no")), call.UpstreamStatus},
		"503":           {says(503, "", "", "Retry-After: 7"), call.UpstreamStatus},
		"401":           {says(401, "", ""), call.UpstreamUnauthorized},
		"redirect":      {says(307, "", "", "Location: https://evil.example/"), call.Redirect},
		"reset":         {func(w net.Conn, g got) { w.Close() }, call.ResetBeforeHead},
		"other grammar": {func(w net.Conn, g got) { send(w, "SSH-2.0-x\r\n"); w.Close() }, call.Protocol},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newPeer(t, tc.answer)
			facts, err := process(t, nil).End(t.Context(), request(t, p.url, authorize), ending("s-9"))
			if got := reasonOf(t, err); got != tc.want {
				t.Errorf("want %s, got %v", tc.want, err)
			}
			if name == "503" && refusalOf(t, err).RetryAfter != 7 {
				t.Errorf("got %+v", err)
			}
			if diff := cmp.Diff([]string{"DELETE"}, p.methods()); diff != "" {
				t.Errorf("-want +got\n%s", diff)
			}
			g := p.all()[0]
			for name, want := range map[string]string{"Mcp-Session-Id": "s-9", "Mcp-Protocol-Version": "2025-06-18", "Authorization": "Bearer abc", "Via": "1.1 mcprelay"} {
				if got := g.Header.Get(name); got != want {
					t.Errorf("%s: want %s, got %q", name, want, got)
				}
			}
			if len(g.Body) != 0 || facts.Posts != 0 || facts.Era != session.Legacy || facts.Version != "2025-06-18" || facts.BytesOut == 0 {
				t.Errorf("got %+v with a body of %d bytes", facts, len(g.Body))
			}
		})
	}
}

func TestEndOfWhatHoldsNoSessionSendsNothing(t *testing.T) {
	p := newPeer(t, says(200, "", ""))
	for _, s := range []session.State{{}, ending(""), {Era: session.Modern, Version: "2026-07-28"}} {
		if facts, err := process(t, nil).End(t.Context(), request(t, p.url), s); err != nil || facts.BytesOut != 0 {
			t.Errorf("%+v: got %v", s, err)
		}
	}
	if _, err := process(t, nil).End(t.Context(), request(t, p.url), ending("a\r\nHost: b")); reasonOf(t, err) != call.Internal {
		t.Errorf("want an id that no header carries refused, got %v", err)
	}
	if p.connections() != 0 {
		t.Error("something was sent")
	}
}

func TestEndIsBoundedByClose(t *testing.T) {
	gone := make(chan error, 1)
	p := newPeer(t, silent("", gone))
	begin := time.Now()
	_, err := process(t, nil).End(t.Context(), request(t, p.url, func(r *exchange.Request) { r.Close = patience }), ending("s"))
	if took := time.Since(begin); reasonOf(t, err) != call.HeadTimeout || took < patience || took > patience+2*time.Second {
		t.Errorf("got %v after %v", err, took)
	}
	<-gone
}

func TestEndedSessionIsNotUsedAgainByThisProcess(t *testing.T) {
	p := newLegacyPeer(t, answered)
	s := newStore()
	x := process(t, s)
	if _, err := x.Call(t.Context(), request(t, p.url)); err != nil {
		t.Fatal(err)
	}
	state := s.get(sessionKey)
	s.set(sessionKey, session.State{}) // as whoever ends it does first
	if _, err := x.End(t.Context(), request(t, p.url), state); err != nil || p.sessions() != 0 {
		t.Fatalf("got %v, %d sessions", err, p.sessions())
	}
	reply, err := x.Call(t.Context(), request(t, p.url))
	if err != nil || reply.Facts.Session != exchange.SessionNew || reply.Facts.Posts != 1 {
		t.Errorf("want a new session at once, got %v, %+v", err, reply.Facts)
	}
}

func TestOwnerIsSavedWithTheSessionAlone(t *testing.T) {
	owned := func(r *exchange.Request) { r.Owner = owner }
	for name, p := range map[string]*peer{"legacy": newLegacyPeer(t, answered), "modern": newPeer(t, modern(answered))} {
		s := newStore()
		if _, err := process(t, s).Call(t.Context(), request(t, p.url, owned)); err != nil {
			t.Fatal(err)
		}
		got := s.get(sessionKey)
		if name == "legacy" && (got.Owner != owner || got.RunKey() != session.RunKey("acme", "service_token", "ci", "r1")) {
			t.Errorf("stored %+v", got)
		}
		if name == "modern" && got.Era != "" || s.get(originKey).Owner != (session.Owner{}) {
			t.Errorf("%s: stored %+v, %+v", name, got, s.get(originKey))
		}
		p.loseAll()
		if _, err := process(t, s).Call(t.Context(), request(t, p.url, owned)); err != nil {
			t.Fatal(err)
		}
		if got := s.get(sessionKey); name == "legacy" && got.Owner != owner {
			t.Errorf("renewed as %+v", got)
		}
	}
}

// TestSessionThatComesToNothingIsEnded: it was opened, and nobody will use it.
func TestSessionThatComesToNothingIsEnded(t *testing.T) {
	const I, N = "initialize", "notifications/initialized"
	for name, shake := range map[string]handshake{
		"notification refused": {N: says(400, "", "")},
		"notification reset":   {N: func(w net.Conn, g got) { w.Close() }},
		"unknown version":      {I: says(200, "application/json", `{"jsonrpc":"2.0","id":ID,"result":{"protocolVersion":"1999-01-01"}}`, "Mcp-Session-Id: s-1")},
	} {
		p := handshakePeer(t, shake)
		if _, err := process(t, nil).Call(t.Context(), request(t, p.url)); err == nil {
			t.Errorf("%s: want a failure", name)
		}
		all := p.all()
		if g := all[len(all)-1]; g.Verb != "DELETE" || g.Header.Get("Mcp-Session-Id") != "s-1" {
			t.Errorf("%s: got %v", name, p.methods())
		}
	}
}

// TestSpareSessionIsEndedThoughTheCallerLeft: the loser of a race has no time
// left, and its session would stay open.
func TestSpareSessionIsEndedThoughTheCallerLeft(t *testing.T) {
	ctx, leave := context.WithCancel(t.Context())
	defer leave()
	p := handshakePeer(t, handshake{"notifications/initialized": func(w net.Conn, g got) {
		leave()
		_, _ = w.Read(make([]byte, 1)) // until the relay goes
		w.Close()
	}})
	_, err := process(t, newStore()).Call(ctx, request(t, p.url))
	if refusal := refusalOf(t, err); refusal.Reason != call.Cancelled || refusal.MayHaveRun() != call.ImpactNone {
		t.Errorf("got %v", refusal)
	}
	if diff := cmp.Diff([]string{"server/discover", "initialize", "notifications/initialized", "DELETE"}, p.methods()); diff != "" || p.sessions() != 0 {
		t.Errorf("%d sessions are open, -want +got\n%s", p.sessions(), diff)
	}
}
