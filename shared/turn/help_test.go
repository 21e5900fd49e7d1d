package turn_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"mcprelay/shared/call"
	"mcprelay/shared/turn"
)

var errStore = errors.New("the store is down")

// memory keeps turns in memory, and fails as a test says.
type memory struct {
	mu        sync.Mutex
	turns     map[turn.Key]turn.Turn
	reads     int
	writes    int
	failRead  int // the read that fails, counted from 1; 0 for none
	failWrite int
	conflicts int // how many writes find another turn
}

func (m *memory) Turn(_ context.Context, key turn.Key) (turn.Turn, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.reads++; m.reads == m.failRead {
		return turn.Turn{}, errStore
	}
	return m.turns[key], nil
}

func (m *memory) PutTurn(_ context.Context, key turn.Key, t turn.Turn) (turn.Turn, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.writes++; m.writes == m.failWrite {
		return turn.Turn{}, errStore
	}
	if m.conflicts > 0 || m.turns[key].Ver != t.Ver {
		m.conflicts--
		return turn.Turn{}, turn.ErrConflict
	}
	if m.turns == nil {
		m.turns = map[turn.Key]turn.Turn{}
	}
	t.Ver++
	m.turns[key] = t
	return t, nil
}

var at = time.Date(2026, 11, 30, 17, 25, 29, 0, time.UTC)

// wanted is a turn as a runtime asks for it.
func wanted() turn.Turn {
	return turn.Turn{
		Tenant: "acme", Kind: "user", Subject: "ci", Run: "run-1", Mode: turn.Build,
		Offers: []turn.Offer{{"docs", "search", "d-search"}, {"docs", "save", "d-save"}, {"mail", "list", ""}},
	}
}

// opened opens a turn and wants it to be.
func opened(t *testing.T, m *memory, as turn.Turn) turn.Turn {
	t.Helper()
	got, refusal := turn.Open(t.Context(), m, as, at)
	if refusal != nil {
		t.Fatal(refusal)
	}
	return got
}

// asked is a call of a tool in the run of the turn, of the digest that the turn
// offers.
func asked(of turn.Turn, server, tool string, effect call.Effect) turn.Asked {
	a := turn.Asked{Key: of.Key(), Server: server, Tool: tool, Digest: "d-" + tool, Effect: effect, Now: at.Add(time.Minute)}
	return a
}

// save is the call of a tool that writes.
func save(of turn.Turn) turn.Asked { return asked(of, "docs", "save", call.EffectWrite) }

// wantReason wants a refusal of a reason; the empty one is none.
func wantReason(t *testing.T, name string, got *call.Refusal, want call.Reason) {
	t.Helper()
	switch {
	case got == nil && want != "":
		t.Errorf("%s: got no refusal, want %s", name, want)
	case got != nil && got.Reason != want:
		t.Errorf("%s: got %v, want %q", name, got, want)
	}
}
