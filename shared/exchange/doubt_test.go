package exchange_test

import (
	"net"
	"testing"

	"mcprelay/shared/call"
	"mcprelay/shared/session"
)

// A result is proof that the call ran, whatever status it comes with.
func TestAResultIsNeverTakenForALostSession(t *testing.T) {
	for _, status := range []int{400, 404} {
		p := handshakePeer(t, handshake{"tools/call": func(w net.Conn, g got) {
			write(w, status, "application/json", result(g, hello))
		}})
		_, err := process(t, newStore()).Call(t.Context(), request(t, p.url))
		refusal := refusalOf(t, err)
		if refusal.Reason != call.UpstreamStatus || refusal.MayHaveRun() != call.ImpactUnknown || p.posts("tools/call") != 1 {
			t.Errorf("%d: got %v, effect %s after %d POSTs, want upstream_status, unknown after 1", status, refusal, refusal.MayHaveRun(), p.posts("tools/call"))
		}
	}
}

func TestASessionIDIsNotQuoted(t *testing.T) {
	p := handshakePeer(t, handshake{"tools/call": func(w net.Conn, g got) {
		write(w, 500, "text/plain", "session "+g.Header.Get("Mcp-Session-Id")+" crashed")
	}})
	_, err := process(t, newStore()).Call(t.Context(), request(t, p.url))
	if refusal := refusalOf(t, err); string(refusal.Quote) != "session [session] crashed" {
		t.Errorf("got %q", refusal.Quote)
	}
}

// A server that was upgraded and rolled back is found again, though the store
// still holds the state of the upgrade.
func TestARolledBackServerIsOpenedAgain(t *testing.T) {
	refused := `{"jsonrpc":"2.0","id":ID,"error":{"code":-32022,"message":"Unsupported protocol version","data":{"supported":["2025-11-25"],"requested":"2026-07-28"}}}`
	p := handshakePeer(t, handshake{"tools/call": func(w net.Conn, g got) {
		if g.Header.Get("Mcp-Session-Id") == "" {
			saysJSON(400, refused)(w, g)
			return
		}
		answered(w, g)
	}})
	s := newStore()
	upgraded := session.State{Era: session.Modern, Version: "2026-07-28", Expires: s.now().Add(session.Lifetime), Ver: 1}
	s.set(sessionKey, upgraded)
	x := process(t, s)
	for i := range 2 {
		reply, err := x.Call(t.Context(), request(t, p.url))
		if err != nil || string(reply.Result) != hello {
			t.Fatalf("call %d: got %v, %s", i, err, reply.Result)
		}
	}
	if got := s.get(sessionKey); got.Era != session.Legacy || got.SessionID == "" {
		t.Errorf("the store holds %+v, want the session", got)
	}
	if got := p.posts("initialize"); got != 1 {
		t.Errorf("%d initializes, want 1", got)
	}
}
