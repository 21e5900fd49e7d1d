package exchange_test

import (
	"net"
	"testing"

	"github.com/google/go-cmp/cmp"

	"mcprelay/shared/call"
	"mcprelay/shared/exchange"
	"mcprelay/shared/session"
)

// What a server may say in the place of an answer, each of which proves that
// nothing ran.
var notRun = map[string]script{
	"session": says(404, "text/plain", "session not found"),
	"version": unsupported(400, `["2025-06-18","2025-03-26"]`),
}

// TestARequestIsPutAtMostTwice, whatever the server says to it: two proofs that
// nothing ran are not followed by a third POST.
func TestARequestIsPutAtMostTwice(t *testing.T) {
	ends := map[string]call.Reason{"session": call.SessionLost, "version": call.NoCommonVersion}
	for first := range notRun {
		for second, want := range ends {
			for _, era := range []session.Era{session.Legacy, session.Modern} {
				if era == session.Modern && first == "session" {
					continue // it holds none
				}
				n := 0
				p := handshakePeer(t, handshake{"tools/call": func(w net.Conn, g got) {
					if n++; n == 1 {
						notRun[first](w, g)
						return
					}
					notRun[second](w, g)
				}})
				s := newStore()
				knows(s, era)
				reply, err := process(t, s).Call(t.Context(), request(t, p.url))
				refusal := refusalOf(t, err)
				if refusal.Reason != want || refusal.MayHaveRun() != call.ImpactNone {
					t.Errorf("%s, %s, %s: want %s, got %v", era, first, second, want, refusal)
				}
				if p.posts("tools/call") != 2 || reply.Facts.Posts != 2 || reply.Facts.Again != first {
					t.Errorf("%s, %s, %s: want 2 POSTs because of the %s, got %v, %+v", era, first, second, first, p.methods(), reply.Facts)
				}
				if lost := first == "session" || second == "session"; reply.Facts.Lost != lost {
					t.Errorf("%s, %s, %s: want lost %v, got %+v", era, first, second, lost, reply.Facts)
				}
			}
		}
	}
}

// TestARequestThatWasPutBeforeIsPutOnce: its budget is spent by an earlier call
// of the same kind.
func TestARequestThatWasPutBeforeIsPutOnce(t *testing.T) {
	once := func(r *exchange.Request) { r.Once = true }
	for name, want := range map[string]call.Reason{"session": call.SessionLost, "version": call.NoCommonVersion} {
		p := handshakePeer(t, handshake{"tools/call": notRun[name]})
		s := newStore()
		x := process(t, s)
		reply, err := x.Call(t.Context(), request(t, p.url, once))
		refusal := refusalOf(t, err)
		if refusal.Reason != want || refusal.MayHaveRun() != call.ImpactNone {
			t.Errorf("%s: want %s, got %v", name, want, refusal)
		}
		if p.posts("tools/call") != 1 || reply.Facts.Posts != 1 || reply.Facts.Again != "" || p.posts("initialize") != 1 {
			t.Errorf("%s: want one POST, got %v, %+v", name, p.methods(), reply.Facts)
		}
	}
	p := newPeer(t, modern(answered))
	if reply, err := process(t, nil).Call(t.Context(), request(t, p.url, once)); err != nil || string(reply.Result) != hello {
		t.Errorf("want the answer, got %v", err)
	}
}

func TestWhyThereIsASecondPostIsToldOnlyOfOne(t *testing.T) {
	undescribed := func(r *exchange.Request) { r.Described = false }
	p := newPeer(t, modern(func(w net.Conn, g got) {
		if g.Header.Get("Mcp-Method") == "" {
			unsupported(400, `["2026-07-28"]`)(w, g)
			return
		}
		answered(w, g)
	}))
	s := newStore()
	s.set(sessionKey, session.State{Era: session.Legacy, Version: "2025-11-25", SessionID: "old", Expires: s.now().Add(session.Lifetime), Ver: 1})
	reply, err := process(t, s).Call(t.Context(), request(t, p.url, undescribed))
	if err != exchange.ErrUndescribed || reply.Facts.Posts != 1 || reply.Facts.Again != "" {
		t.Errorf("got %v, %+v", err, reply.Facts)
	}
}

// TestCrowdWhoseVersionIsRefusedEndsItsSessionOnce: those that find it replaced
// leave that to whoever replaced it.
func TestCrowdWhoseVersionIsRefusedEndsItsSessionOnce(t *testing.T) {
	p := handshakePeer(t, handshake{"tools/call": func(w net.Conn, g got) {
		if g.Header.Get("Mcp-Session-Id") == "s-1" {
			unsupported(400, `["2025-06-18"]`)(w, g)
			return
		}
		answered(w, g)
	}, "initialize": says(200, "application/json", `{"jsonrpc":"2.0","id":ID,"result":{"protocolVersion":"2025-06-18"}}`, "Mcp-Session-Id: s-2")})
	s := newStore()
	knows(s, session.Legacy)
	s.set(sessionKey, session.State{Era: session.Legacy, Version: "2025-11-25", SessionID: p.open(), Expires: s.now().Add(session.Lifetime), Ver: 1})
	x := process(t, s)
	together(t, 16, func(int) (exchange.Reply, error) { return x.Call(t.Context(), request(t, p.url)) })
	var ended []string
	for _, g := range p.all() {
		if g.Verb == "DELETE" {
			ended = append(ended, g.Header.Get("Mcp-Session-Id")+" in "+g.Header.Get("Mcp-Protocol-Version"))
		}
	}
	if diff := cmp.Diff([]string{"s-1 in 2025-06-18"}, ended); diff != "" {
		t.Errorf("sessions that were given back: -want +got\n%s", diff)
	}
}
