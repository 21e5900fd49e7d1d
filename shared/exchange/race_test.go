package exchange_test

import (
	"context"
	"net"
	"sync"
	"testing"

	"mcprelay/shared/call"
	"mcprelay/shared/exchange"
	"mcprelay/shared/session"
)

// together runs n calls at once and gives how each said that it opened.
func together(t *testing.T, n int, one func(i int) (exchange.Reply, error)) map[string]int {
	t.Helper()
	var mu sync.Mutex
	how := map[string]int{}
	var all sync.WaitGroup
	begin := make(chan struct{})
	for i := range n {
		all.Go(func() {
			<-begin
			reply, err := one(i)
			mu.Lock()
			defer mu.Unlock()
			if err != nil {
				t.Errorf("call %d: %v", i, err)
				return
			}
			how[reply.Facts.Session]++
		})
	}
	close(begin)
	all.Wait()
	return how
}

const crowd = 64

func TestCrowdInOneProcessOpensOnce(t *testing.T) {
	p := newLegacyPeer(t, answered)
	x := process(t, newStore())
	how := together(t, crowd, func(int) (exchange.Reply, error) { return x.Call(t.Context(), request(t, p.url)) })
	if how[exchange.SessionNew] != 1 || how[exchange.SessionReused] != crowd-1 {
		t.Errorf("want 1 new and the rest reused, got %v", how)
	}
	if p.posts("server/discover") != 1 || p.posts("initialize") != 1 || p.posts("notifications/initialized") != 1 || p.posts("tools/call") != crowd {
		t.Errorf("want one handshake, got %d, %d, %d", p.posts("server/discover"), p.posts("initialize"), p.posts("notifications/initialized"))
	}
	x = process(t, nil)
	m := newPeer(t, modern(answered))
	together(t, crowd, func(int) (exchange.Reply, error) { return x.Call(t.Context(), request(t, m.url)) })
	if m.posts("server/discover") != 1 || m.posts("tools/call") != crowd {
		t.Errorf("want one probe, got %d", m.posts("server/discover"))
	}
}

// TestCrowdOfProcesses: each may open, one is stored, the others end theirs.
func TestCrowdOfProcessesKeepsOneSession(t *testing.T) {
	p := newLegacyPeer(t, answered)
	s := newStore()
	processes := make([]*exchange.Exchange, crowd)
	for i := range processes {
		processes[i] = process(t, s)
	}
	for round := range 3 {
		how := together(t, crowd, func(i int) (exchange.Reply, error) { return processes[i].Call(t.Context(), request(t, p.url)) })
		fresh := how[exchange.SessionNew] + how[exchange.SessionRenewed]
		if round == 0 && how[exchange.SessionNew] != 1 || round == 1 && fresh != 0 || round == 2 && how[exchange.SessionRenewed] != 1 {
			t.Errorf("round %d: got %v", round, how)
		}
		if p.sessions() != 1 || s.get(sessionKey).Era != session.Legacy || !p.holds(s.get(sessionKey).SessionID) {
			t.Errorf("round %d: %d sessions are open, stored %+v", round, p.sessions(), s.get(sessionKey))
		}
		if round == 1 {
			p.loseAll()
		}
	}
	ended := 0
	for _, g := range p.all() {
		if g.Verb == "DELETE" {
			ended++
			if g.Header.Get("Mcp-Session-Id") == "" || g.Header.Get("Mcp-Protocol-Version") != "2025-11-25" || len(g.Body) != 0 {
				t.Errorf("DELETE was sent with %v", g.Header)
			}
		}
	}
	if want := p.posts("initialize") - 2; ended != want {
		t.Errorf("want %d sessions ended, got %d", want, ended)
	}
}

func TestCrowdThatLostItsSessionOpensOnce(t *testing.T) {
	p := newLegacyPeer(t, answered)
	x := process(t, newStore())
	if _, err := x.Call(t.Context(), request(t, p.url)); err != nil {
		t.Fatal(err)
	}
	p.loseAll()
	how := together(t, crowd, func(int) (exchange.Reply, error) {
		reply, err := x.Call(t.Context(), request(t, p.url))
		if reply.Facts.Posts > 2 {
			t.Errorf("asked %d times", reply.Facts.Posts)
		}
		return reply, err
	})
	if how[exchange.SessionRenewed] != 1 || p.posts("initialize") != 2 || p.sessions() != 1 {
		t.Errorf("want one renewal, got %v, %d initialize", how, p.posts("initialize"))
	}
}

func TestCallersNeverShareASession(t *testing.T) {
	var mu sync.Mutex
	sent := map[string]map[string]bool{} // session id -> callers
	p := newLegacyPeer(t, func(w net.Conn, g got) {
		mu.Lock()
		id := g.Header.Get("Mcp-Session-Id")
		if sent[id] == nil {
			sent[id] = map[string]bool{}
		}
		sent[id][string(g.Body[len(g.Body)-20:])] = true
		mu.Unlock()
		answered(w, g)
	})
	s := newStore()
	x := process(t, s)
	together(t, crowd, func(i int) (exchange.Reply, error) {
		caller := string(rune('a' + i%8))
		r := request(t, p.url)
		r.Session = session.KeyOf(session.Parts{Principal: caller})
		r.Arguments = []byte(`{"c":"` + caller + `","pad":"........"}`)
		return x.Call(t.Context(), r)
	})
	if len(sent) != 8 {
		t.Errorf("want 8 sessions, got %d", len(sent))
	}
	for id, callers := range sent {
		if len(callers) != 1 {
			t.Errorf("session %s was used by %d callers", id, len(callers))
		}
	}
}

// TestLeaderThatLeaves hands the opening to one that waits.
func TestLeaderThatLeaves(t *testing.T) {
	leads := make(chan struct{})
	first := true
	p := handshakePeer(t, handshake{"initialize": func(w net.Conn, g got) {
		if first {
			first = false
			close(leads)
			_, _ = w.Read(make([]byte, 1)) // until the relay goes
			w.Close()
			return
		}
		write(w, 200, "application/json", result(g, `{"protocolVersion":"2025-11-25"}`))
	}, "tools/call": anything})
	x := process(t, newStore())
	ctx, leave := context.WithCancel(t.Context())
	var all sync.WaitGroup
	all.Go(func() {
		if _, err := x.Call(ctx, request(t, p.url)); reasonOf(t, err) != call.Cancelled {
			t.Errorf("want the leader cancelled, got %v", err)
		}
	})
	<-leads
	for range 4 {
		all.Go(func() {
			if _, err := x.Call(t.Context(), request(t, p.url)); err != nil {
				t.Error(err)
			}
		})
	}
	leave()
	all.Wait()
	if p.posts("initialize") != 2 {
		t.Errorf("want the leader's and one more, got %d", p.posts("initialize"))
	}
}
