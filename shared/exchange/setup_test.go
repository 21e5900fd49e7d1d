package exchange_test

import (
	"context"
	"encoding/json"
	"errors"
	"sync"
	"testing"
	"time"

	"mcprelay/shared/call"
	"mcprelay/shared/egress"
	"mcprelay/shared/endpoint"
	"mcprelay/shared/exchange"
	"mcprelay/shared/session"
	"mcprelay/shared/wire"
)

// store keeps states the way the real ones do: conditionally.
type store struct {
	mu     sync.Mutex
	states map[session.Key]session.State
	now    func() time.Time
	loads  int
	saves  int
	first  int64
	broken bool // every method fails
	deaf   bool // the next load fails
	lazy   bool // what has expired is given all the same
	mute   bool // saving fails
}

var errStore = errors.New("the store is down")

func newStore() *store { return &store{states: map[session.Key]session.State{}, now: time.Now} }

func (s *store) Load(_ context.Context, key session.Key) (session.State, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.loads++
	if s.broken || s.deaf {
		s.deaf = false
		return session.State{}, errStore
	}
	if state := s.states[key]; s.lazy || state.Live(s.now()) {
		return state, nil
	}
	return session.State{}, nil
}

func (s *store) Save(_ context.Context, key session.Key, state session.State) (session.State, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.saves++
	if s.broken || s.mute {
		return session.State{}, errStore
	}
	have := s.states[key]
	if !have.Live(s.now()) {
		have = session.State{} // as if it had been deleted by now
	}
	if have.Ver != state.Ver {
		return session.State{}, session.ErrConflict
	}
	s.first++
	state.Ver = max(have.Ver+1, s.first)
	s.states[key] = state
	return state, nil
}

func (s *store) get(key session.Key) session.State {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.states[key]
}

func (s *store) set(key session.Key, state session.State) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.states[key] = state
}

// process is one process of the relay: what it knows, it does not share.
func process(t testing.TB, sessions exchange.Sessions, change ...func(*exchange.Config)) *exchange.Exchange {
	t.Helper()
	c := exchange.Config{Sessions: sessions, Version: "1.2.3"}
	for _, f := range change {
		f(&c)
	}
	if c.Guard == nil {
		c.Guard = egress.New(egress.Config{Loopback: true})
	}
	guard := c.Guard
	t.Cleanup(func() { guard.Close() })
	return exchange.New(c)
}

const (
	sessionKey = session.Key("S#caller")
	originKey  = session.Key("O#server")
)

// request is a call of the tool echo.
func request(t testing.TB, url string, change ...func(*exchange.Request)) exchange.Request {
	t.Helper()
	to, err := endpoint.Parse(url, endpoint.Options{Loopback: true})
	if err != nil {
		t.Fatalf("endpoint %s: %v", url, err)
	}
	route, err := egress.New(egress.Config{Loopback: true}).Resolve(t.Context(), to, egress.Rules{})
	if err != nil {
		t.Fatalf("resolving %s: %v", url, err)
	}
	r := exchange.Request{
		Tenant: "acme", Server: "docs", Route: route,
		Session: sessionKey, Origin: originKey,
		Asked:     wire.Asked{Operation: call.OperationToolsCall, Tool: "echo", Arguments: json.RawMessage(`{"text":"hi"}`)},
		Described: true, Open: 5 * time.Second,
	}
	for _, f := range change {
		f(&r)
	}
	return r
}

// reasonOf is the reason of an error, or ok.
func reasonOf(t testing.TB, err error) call.Reason {
	t.Helper()
	if err == nil {
		return call.OK
	}
	return refusalOf(t, err).Reason
}

func refusalOf(t testing.TB, err error) *call.Refusal {
	t.Helper()
	var refusal *call.Refusal
	if !errors.As(err, &refusal) {
		t.Fatalf("want a *call.Refusal, got %T %v", err, err)
	}
	return refusal
}

// soon gives a context whose end is a moment away.
func soon(t testing.TB, d time.Duration) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), d)
	t.Cleanup(cancel)
	return ctx
}

// knows puts what an earlier call found out into the store.
func knows(s *store, era session.Era) {
	state := session.State{Era: era, Version: "2026-07-28", Opened: time.Now(), Expires: time.Now().Add(time.Hour), Ver: 1}
	if era == session.Legacy {
		state.Version = "2025-11-25"
	}
	s.set(originKey, state)
}
