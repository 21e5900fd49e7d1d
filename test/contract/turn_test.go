package contract_test

import (
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"mcprelay/shared/call"
	"mcprelay/shared/turn"
)

func turnChecks() []check {
	return []check{
		{"a turn is read back as it was stored", nothing, turnReadBack},
		{"a turn is stored over the one that was read", nothing, turnVersions},
		{"a turn that has expired is remembered, then forgotten", nothing, turnForgotten},
		{"a turn that was forgotten is not stored again", nothing, turnOfBefore},
		{"the turns of two runs do not meet", nothing, turnRuns},
		{"a turn over 350 KB is refused", nothing, turnBound},
		{"a turn is opened, used once and ended", nothing, turnLife},
		{"one of 64 writers stores a run's first turn", concurrency, turnRace},
		{"one of 64 writers stores the next turn", concurrency, turnRaceOver},
		{"one of 64 calls spends a turn of one call", concurrency, turnRaceToSpend},
		{"of 64 turns that are opened at once one can be used", concurrency, turnRaceToOpen},
	}
}

// freshTurn is a turn of a run that no other check uses.
func freshTurn() turn.Turn {
	return turn.Turn{
		ID: "t", Tenant: newTenant(), Kind: "user", Subject: "ci", Run: "run-1", Mode: turn.Build,
		Offers: []turn.Offer{{Server: "docs", Tool: "sucht é\u2028\"<", Digest: "d"}, {Server: "docs", Tool: "list"}},
		Single: true, Opened: now(), Expires: now().Add(time.Minute),
	}
}

// putTurn stores a turn under its key and wants it to be stored.
func putTurn(t *testing.T, s store, as turn.Turn) turn.Turn {
	t.Helper()
	got, err := s.PutTurn(t.Context(), as.Key(), as)
	must(t, err)
	if got.Ver <= as.Ver {
		t.Errorf("version %d is stored over %d", got.Ver, as.Ver)
	}
	want := as
	want.Ver = got.Ver
	wantTurn(t, got, want)
	return got
}

func wantTurn(t *testing.T, got, want turn.Turn) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("turn (-want +got):\n%s", diff)
	}
}

// readTurn wants a turn to be what a store knows under its key.
func readTurn(t *testing.T, s store, key turn.Key, want turn.Turn) {
	t.Helper()
	got, err := s.Turn(t.Context(), key)
	must(t, err)
	wantTurn(t, got, want)
}

// notOver wants a turn not to be stored.
func notOver(t *testing.T, s store, as turn.Turn) {
	t.Helper()
	got, err := s.PutTurn(t.Context(), as.Key(), as)
	wantErr(t, err, turn.ErrConflict)
	wantTurn(t, got, turn.Turn{})
}

func turnReadBack(t *testing.T, p peer, s store) {
	first := freshTurn()
	readTurn(t, s, first.Key(), turn.Turn{})
	stored := putTurn(t, s, first)
	readTurn(t, s, first.Key(), stored)
	readTurn(t, p.open(t), first.Key(), stored)
}

func turnVersions(t *testing.T, p peer, s store) {
	first := putTurn(t, s, freshTurn())
	again := first
	again.Ver = 0
	notOver(t, s, again)
	next := first
	next.ID, next.Used, next.Offers = "next", true, nil
	next = putTurn(t, p.open(t), next)
	notOver(t, s, first)
	again.Ver = next.Ver + 1
	notOver(t, s, again)
	readTurn(t, s, first.Key(), next)
	unknown := freshTurn()
	unknown.Ver = first.Ver
	notOver(t, s, unknown)
	readTurn(t, s, unknown.Key(), turn.Turn{})
}

func turnForgotten(t *testing.T, _ peer, s store) {
	old := freshTurn()
	old.Expires = now().Add(-turn.Remembered).Add(time.Minute)
	old = putTurn(t, s, old)
	readTurn(t, s, old.Key(), old)
	old.Expires = now().Add(-turn.Remembered).Add(-time.Second)
	old = putTurn(t, s, old)
	readTurn(t, s, old.Key(), turn.Turn{})
	next := freshTurn()
	next.Tenant = old.Tenant
	readTurn(t, s, next.Key(), putTurn(t, s, next))
}

func turnOfBefore(t *testing.T, _ peer, s store) {
	old := freshTurn()
	old.Expires = now().Add(-turn.Remembered).Add(-time.Second)
	old = putTurn(t, s, old)
	next := freshTurn()
	next.Tenant = old.Tenant
	next = putTurn(t, s, next)
	notOver(t, s, old)
	readTurn(t, s, next.Key(), next)
}

func turnRuns(t *testing.T, _ peer, s store) {
	tenant := newTenant()
	for _, p := range [][4]string{
		{tenant, "user", "ci", "run"}, {tenant, "user", "ci", "Run"}, {tenant, "user", "ci", ""}, {tenant, "user", "cir", "un"},
		{tenant, "service_token", "ci", "run"}, {newTenant(), "user", "ci", "run"},
	} {
		one := freshTurn()
		one.Tenant, one.Kind, one.Subject, one.Run = p[0], p[1], p[2], p[3]
		readTurn(t, s, one.Key(), putTurn(t, s, one))
	}
}

func turnBound(t *testing.T, p peer, s store) {
	large := freshTurn()
	large.Offers = []turn.Offer{{Server: "docs", Tool: strings.Repeat("x", turn.MaxSize)}}
	large = putTurn(t, s, large)
	readTurn(t, s, large.Key(), large)
	over := large
	over.Offers = []turn.Offer{{Server: "docs", Tool: strings.Repeat("x", 350<<10)}}
	_, err := s.PutTurn(t.Context(), over.Key(), over)
	wantErr(t, err, p.tooLarge)
	readTurn(t, s, large.Key(), large)
}

// wantReason wants a refusal of a reason; the empty one is none.
func wantReason(t *testing.T, got *call.Refusal, want call.Reason) {
	t.Helper()
	if got == nil && want != "" || got != nil && got.Reason != want {
		t.Errorf("got refusal %v, want %q", got, want)
	}
}

// askedOf is a call that a fresh turn offers.
func askedOf(of turn.Turn) turn.Asked {
	return turn.Asked{Key: of.Key(), Server: "docs", Tool: of.Offers[0].Tool, Digest: "d", Now: now()}
}

func turnLife(t *testing.T, p peer, s store) {
	other := p.open(t)
	of, refusal := turn.Open(t.Context(), s, freshTurn(), now())
	wantReason(t, refusal, "")
	checked, refusal := turn.Check(t.Context(), other, of.ID, askedOf(of))
	wantReason(t, refusal, "")
	wantReason(t, turn.Spend(t.Context(), other, checked, askedOf(of)), "")
	wantReason(t, turn.Spend(t.Context(), s, of, askedOf(of)), call.TurnUsed)
	next, refusal := turn.Open(t.Context(), other, of, now())
	wantReason(t, refusal, "")
	_, refusal = turn.Check(t.Context(), s, of.ID, askedOf(of))
	wantReason(t, refusal, call.TurnEnded)
	_, refusal = turn.Check(t.Context(), s, next.ID, askedOf(of))
	wantReason(t, refusal, "")
	wantReason(t, turn.End(t.Context(), s, next.ID, turn.Caller{Tenant: of.Tenant, Kind: of.Kind, Subject: of.Subject}), "")
	_, refusal = turn.Check(t.Context(), other, next.ID, askedOf(of))
	wantReason(t, refusal, call.TurnEnded)
}

// raceToPut lets 64 writers with handles of their own store turns over one, and
// wants the winner's to be there.
func raceToPut(t *testing.T, p peer, over turn.Turn) {
	t.Helper()
	handles := []store{p.open(t), p.open(t), p.open(t), p.open(t)}
	var mu sync.Mutex
	var winner turn.Turn
	n := race(t, 64, turn.ErrConflict, func(i int) error {
		mine := over
		mine.ID = newID(now())
		got, err := handles[i%len(handles)].PutTurn(t.Context(), mine.Key(), mine)
		if err == nil {
			mu.Lock()
			defer mu.Unlock()
			winner = got
		}
		return err
	})
	if n != 1 {
		t.Fatalf("%d of 64 stored it, want one", n)
	}
	readTurn(t, handles[0], over.Key(), winner)
}

func turnRace(t *testing.T, p peer, _ store) { raceToPut(t, p, freshTurn()) }

func turnRaceOver(t *testing.T, p peer, s store) {
	old := freshTurn()
	old.Expires = now().Add(-turn.Remembered).Add(-time.Second)
	old = putTurn(t, s, old)
	next := freshTurn()
	next.Tenant = old.Tenant
	raceToPut(t, p, next) // over one that is forgotten
	there, err := s.Turn(t.Context(), next.Key())
	must(t, err)
	raceToPut(t, p, there)
}

func turnRaceToSpend(t *testing.T, p peer, s store) {
	of, refusal := turn.Open(t.Context(), s, freshTurn(), now())
	wantReason(t, refusal, "")
	handles := []store{p.open(t), p.open(t), p.open(t), p.open(t)}
	errUsed := errors.New("it was used")
	if n := race(t, 64, errUsed, func(i int) error {
		refusal := turn.Spend(t.Context(), handles[i%len(handles)], of, askedOf(of))
		if refusal != nil && refusal.Reason == call.TurnUsed {
			return errUsed
		}
		if refusal != nil {
			return refusal
		}
		return nil
	}); n != 1 {
		t.Errorf("%d of 64 calls were made, want one", n)
	}
}

func turnRaceToOpen(t *testing.T, p peer, s store) {
	handles := []store{p.open(t), p.open(t), p.open(t), p.open(t)}
	as := freshTurn()
	var mu sync.Mutex
	var all []turn.Turn
	race(t, 64, nil, func(i int) error {
		got, refusal := turn.Open(t.Context(), handles[i%len(handles)], as, now())
		if refusal != nil {
			return refusal
		}
		mu.Lock()
		defer mu.Unlock()
		all = append(all, got)
		return nil
	})
	usable := 0
	for _, of := range all {
		if _, refusal := turn.Check(t.Context(), s, of.ID, askedOf(of)); refusal == nil {
			usable++
		}
	}
	if len(all) != 64 || usable != 1 {
		t.Errorf("%d were opened and %d of them can be used, want 64 and one", len(all), usable)
	}
}
