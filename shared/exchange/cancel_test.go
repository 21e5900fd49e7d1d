package exchange_test

import (
	"context"
	"encoding/json"
	"net"
	"strings"
	"testing"
	"time"

	"mcprelay/shared/call"
	"mcprelay/shared/exchange"
	"mcprelay/shared/session"
)

const cancelled = "notifications/cancelled"

// checkCancelled holds what the server's own record must say of a request that
// was cancelled.
func checkCancelled(t *testing.T, p *peer, method, reason string) {
	t.Helper()
	if p.posts(cancelled) != 1 || p.posts(method) != 1 {
		t.Fatalf("want one %s and one cancellation, got %v", method, p.methods())
	}
	asked, told := p.last(t, method), p.last(t, cancelled)
	want := `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":` + asked.ID + `,"reason":"` + reason + `"}}`
	if string(told.Body) != want {
		t.Errorf("want %s\ngot  %s", want, told.Body)
	}
	if told.Conn == asked.Conn {
		t.Error("the cancellation came on the connection of the request")
	}
	for _, name := range []string{"Mcp-Session-Id", "Mcp-Protocol-Version", "Authorization", "Content-Type", "Accept"} {
		if told.Header.Get(name) != asked.Header.Get(name) {
			t.Errorf("%s: want %q, got %q", name, asked.Header.Get(name), told.Header.Get(name))
		}
	}
}

func TestLegacyServerIsToldOfTheEndOfTime(t *testing.T) {
	gone := make(chan error, 64)
	for name, tc := range waiting(gone) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newLegacyPeer(t, func(w net.Conn, g got) {
				if g.Method == cancelled {
					write(w, 202, "", "")
					return
				}
				tc.answer(w, g)
			})
			x := process(t, newStore())
			if _, err := x.Call(soon(t, patience), request(t, p.url)); reasonOf(t, err) != tc.late {
				t.Fatalf("want %s, got %v", tc.late, err)
			}
			checkCancelled(t, p, "tools/call", "the caller's time is up")
			if <-gone == nil {
				t.Error("the connection was kept")
			}
		})
	}
}

func TestLegacyServerIsToldThatTheCallerLeft(t *testing.T) {
	gone := make(chan error, 64)
	for name, tc := range waiting(gone) {
		t.Run(name, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			p := newLegacyPeer(t, func(w net.Conn, g got) {
				if g.Method == cancelled {
					write(w, 202, "", "")
					return
				}
				cancel()
				tc.answer(w, g)
			})
			reply, err := process(t, nil).Call(ctx, request(t, p.url))
			refusal := refusalOf(t, err)
			if refusal.Reason != call.Cancelled || refusal.MayHaveRun() != call.ImpactUnknown {
				t.Errorf("want cancelled with impact unknown, got %v with %s", refusal, refusal.MayHaveRun())
			}
			if !reply.Facts.Cancelled || reply.Facts.Posts != 1 || reply.Facts.Status == 202 {
				t.Errorf("got %+v", reply.Facts)
			}
			checkCancelled(t, p, "tools/call", "the caller went away")
			<-gone
		})
	}
}

func TestListOfALegacyServerIsCancelledToo(t *testing.T) {
	gone := make(chan error, 1)
	wait := silent(openHead, gone)
	p := newLegacyPeer(t, func(w net.Conn, g got) {
		if g.Method == cancelled {
			write(w, 202, "", "")
			return
		}
		wait(w, g)
	})
	_, facts, err := process(t, nil).List(soon(t, patience), request(t, p.url))
	if reasonOf(t, err) != call.ListFailed || !facts.Cancelled {
		t.Errorf("got %v, %+v", err, facts)
	}
	checkCancelled(t, p, "tools/list", "the caller's time is up")
	<-gone
}

// TestWhatIsNeverCancelled: nothing was asked, the answer came, or the protocol
// forbids it.
func TestWhatIsNeverCancelled(t *testing.T) {
	gone := make(chan error, 8)
	for name, tc := range map[string]struct {
		shake handshake
		ctx   func(context.Context) (context.Context, context.CancelFunc)
	}{
		"initialize": {handshake{"initialize": silent("", gone)}, nil},
		"probe":      {handshake{"server/discover": silent("", gone)}, nil},
		"stream that ended early": {handshake{"tools/call": streaming("")}, func(ctx context.Context) (context.Context, context.CancelFunc) {
			return context.WithCancel(ctx)
		}},
		"reset": {handshake{"tools/call": func(w net.Conn, g got) { w.Close() }}, func(ctx context.Context) (context.Context, context.CancelFunc) {
			return context.WithCancel(ctx)
		}},
		"over the bound": {handshake{"tools/call": endless(jsonHead, strings.Repeat("x", 1<<16))}, func(ctx context.Context) (context.Context, context.CancelFunc) {
			return context.WithCancel(ctx)
		}},
	} {
		t.Run(name, func(t *testing.T) {
			p := handshakePeer(t, tc.shake)
			ctx, cancel := context.WithTimeout(t.Context(), patience)
			if tc.ctx != nil {
				ctx, cancel = tc.ctx(t.Context())
			}
			defer cancel()
			reply, err := process(t, nil).Call(ctx, request(t, p.url))
			if err == nil || reply.Facts.Cancelled || p.posts(cancelled) != 0 {
				t.Errorf("got %v, %+v, %v", err, reply.Facts, p.methods())
			}
		})
	}
	var leave context.CancelFunc
	p := newLegacyPeer(t, func(w net.Conn, g got) {
		send(w, "%s%s", openHead, event(result(g, hello)))
		leave() // with the answer under way
	})
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	leave = func() {}
	reply, err := process(t, nil).Call(ctx, request(t, p.url))
	if err != nil || string(reply.Result) != hello {
		t.Fatalf("got %v", err)
	}
	cancel()
	if p.posts(cancelled) != 0 || reply.Facts.Cancelled {
		t.Errorf("an answered call was cancelled: %v", p.methods())
	}
}

// TestCancellationIsBounded: the server's answer to it is not waited for long,
// and what it is does not change what the caller is told.
func TestCancellationIsBounded(t *testing.T) {
	gone := make(chan error, 8)
	for name, tc := range map[string]struct {
		answer script
		close  time.Duration
		told   bool // in the facts
		posts  int
	}{
		"no answer":        {silent("", gone), 0, false, 1},
		"short bound":      {silent("", gone), time.Nanosecond, false, 0},
		"refused":          {says(405, "", ""), 0, false, 1},
		"unauthorized":     {says(401, "", ""), 0, false, 1},
		"reset":            {func(w net.Conn, g got) { w.Close() }, 0, false, 1},
		"200 with a body":  {saysJSON(200, "null"), 0, true, 1},
		"stream":           {func(w net.Conn, g got) { send(w, "%s", openHead) }, 0, true, 1},
		"session not held": {says(404, "text/plain", "session not found"), 0, false, 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			wait := silent("", make(chan error, 1))
			p := newLegacyPeer(t, func(w net.Conn, g got) {
				if g.Method == cancelled {
					tc.answer(w, g)
					return
				}
				wait(w, g)
			})
			begin := time.Now()
			reply, err := process(t, nil).Call(soon(t, patience), request(t, p.url, func(r *exchange.Request) { r.Close = tc.close }))
			if took := time.Since(begin); took > patience+2*time.Second {
				t.Errorf("it took %v", took)
			}
			if reasonOf(t, err) != call.HeadTimeout || reply.Facts.Status != 0 {
				t.Errorf("got %v, %+v", err, reply.Facts)
			}
			if reply.Facts.Cancelled != tc.told || p.posts(cancelled) != tc.posts || p.posts("tools/call") != 1 || p.posts("initialize") != 1 {
				t.Errorf("told %v, %v", reply.Facts.Cancelled, p.methods())
			}
		})
	}
}

// TestProcessesDoNotShareIDs: they share sessions, and a cancellation must name
// one request.
func TestProcessesDoNotShareIDs(t *testing.T) {
	p := newLegacyPeer(t, answered)
	s := newStore()
	seen := map[string]bool{}
	for range 8 {
		x := process(t, s)
		for range 3 {
			if _, err := x.Call(t.Context(), request(t, p.url)); err != nil {
				t.Fatal(err)
			}
		}
	}
	for _, g := range p.all() {
		if g.Method != "tools/call" {
			continue
		}
		if seen[g.ID] {
			t.Errorf("id %s came twice in one session", g.ID)
		}
		seen[g.ID] = true
		var n int32
		if err := json.Unmarshal([]byte(g.ID), &n); err != nil || n <= 0 {
			t.Errorf("id %s does not fit servers with 32 bits for it", g.ID)
		}
	}
	if p.sessions() != 1 || s.get(sessionKey).Era != session.Legacy {
		t.Errorf("want one session, got %d", p.sessions())
	}
}
