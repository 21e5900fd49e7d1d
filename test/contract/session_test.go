package contract_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"mcprelay/shared/session"
)

func sessionChecks() []check {
	return []check{
		{"a key without a session is the zero state", nothing, noSession},
		{"a session is read back as it was saved", nothing, sessionIsReadBack},
		{"a session is saved over the one it came from", nothing, saveOver},
		{"a session is not saved over a newer one", nothing, saveOverNewer},
		{"a new session is not saved over a live one", nothing, saveNewOverLive},
		{"an expired session is not loaded", nothing, expiredSession},
		{"a new session is saved over an expired one, under another version", nothing, saveOverExpired},
		{"one of many first saves wins", concurrency, firstSaveRace},
		{"one of many renewals wins", concurrency, renewalRace},
		{"another handle reuses a session", nothing, sessionOfOtherHandle},
		{"keys do not run into each other", nothing, sessionKeys},
		{"a session over 350 KB is refused", nothing, sessionBound},
	}
}

func newKey() session.Key {
	return session.KeyOf(session.Parts{Tenant: newTenant(), Server: "docs", Endpoint: "https://mcp.example.com/v1"})
}

func opened() session.State {
	return session.State{
		Era: session.Legacy, Version: "2025-11-25", SessionID: "3f2a-\"quoted\"-<&>",
		Opened: now(), Expires: time.Now().UTC().Truncate(time.Second).Add(time.Hour),
	}
}

// wantState wants a state, whatever its version.
func wantState(t *testing.T, got, want session.State) {
	t.Helper()
	if diff := cmp.Diff(want, got, cmpopts.IgnoreFields(session.State{}, "Ver")); diff != "" {
		t.Errorf("state (-want +got):\n%s", diff)
	}
}

func load(t *testing.T, s store, key session.Key) session.State {
	t.Helper()
	state, err := s.Load(t.Context(), key)
	must(t, err)
	return state
}

func save(t *testing.T, s store, key session.Key, state session.State) session.State {
	t.Helper()
	saved, err := s.Save(t.Context(), key, state)
	must(t, err)
	return saved
}

func noSession(t *testing.T, _ peer, s store) {
	if got := load(t, s, newKey()); got != (session.State{}) {
		t.Errorf("got %+v, want the zero state", got)
	}
}

func sessionIsReadBack(t *testing.T, _ peer, s store) {
	key := newKey()
	state := opened()
	saved := save(t, s, key, state)
	loaded := load(t, s, key)
	wantState(t, saved, state)
	if saved.Ver == 0 || loaded != saved {
		t.Errorf("got %+v, want what Save gave back: %+v", loaded, saved)
	}
}

func saveOver(t *testing.T, _ peer, s store) {
	key := newKey()
	first := save(t, s, key, opened())
	next := first
	next.SessionID = "another"
	second := save(t, s, key, next)
	if second.Ver == first.Ver {
		t.Errorf("both saves have version %d", first.Ver)
	}
	wantState(t, load(t, s, key), next)
}

func saveOverNewer(t *testing.T, _ peer, s store) {
	key := newKey()
	first := save(t, s, key, opened())
	second := save(t, s, key, first)
	late := first
	late.SessionID = "late"
	_, err := s.Save(t.Context(), key, late)
	wantErr(t, err, session.ErrConflict)
	if got := load(t, s, key); got != second {
		t.Errorf("got %+v, want the winner's %+v", got, second)
	}
	gone := newKey()
	_, err = s.Save(t.Context(), gone, first)
	wantErr(t, err, session.ErrConflict)
	if got := load(t, s, gone); got != (session.State{}) {
		t.Errorf("a save that lost left %+v", got)
	}
}

func saveNewOverLive(t *testing.T, _ peer, s store) {
	key := newKey()
	first := save(t, s, key, opened())
	_, err := s.Save(t.Context(), key, opened())
	wantErr(t, err, session.ErrConflict)
	if got := load(t, s, key); got != first {
		t.Errorf("got %+v, want the first %+v", got, first)
	}
}

func expiredSession(t *testing.T, _ peer, s store) {
	for _, ago := range []time.Duration{0, time.Second, 100 * time.Hour} {
		key, state := newKey(), opened()
		state.Expires = time.Now().UTC().Add(-ago)
		save(t, s, key, state)
		if got := load(t, s, key); got != (session.State{}) {
			t.Errorf("expired %v ago: got %+v, want the zero state", ago, got)
		}
	}
}

func saveOverExpired(t *testing.T, _ peer, s store) {
	key, state := newKey(), opened()
	state.Expires = time.Now().UTC().Add(-time.Minute)
	old := save(t, s, key, state)
	state = opened()
	fresh := save(t, s, key, state)
	wantState(t, load(t, s, key), state)
	// Whoever still holds the old state must not overwrite the new one.
	if fresh.Ver == old.Ver {
		t.Errorf("both sessions have version %d", old.Ver)
	}
	_, err := s.Save(t.Context(), key, old)
	wantErr(t, err, session.ErrConflict)
}

func firstSaveRace(t *testing.T, _ peer, s store) {
	key := newKey()
	winners := race(t, racers, session.ErrConflict, func(int) error {
		_, err := s.Save(t.Context(), key, opened())
		return err
	})
	if winners != 1 {
		t.Errorf("got %d winners, want 1", winners)
	}
}

func renewalRace(t *testing.T, _ peer, s store) {
	key := newKey()
	first := save(t, s, key, opened())
	winners := race(t, racers, session.ErrConflict, func(int) error {
		_, err := s.Save(t.Context(), key, first)
		return err
	})
	if winners != 1 {
		t.Errorf("got %d winners, want 1", winners)
	}
}

func sessionOfOtherHandle(t *testing.T, p peer, s store) {
	other, key := p.open(t), newKey()
	first := save(t, s, key, opened())
	if got := load(t, other, key); got != first {
		t.Errorf("got %+v, want %+v", got, first)
	}
	second := save(t, other, key, first)
	if got := load(t, s, key); got != second {
		t.Errorf("got %+v, want %+v", got, second)
	}
	_, err := s.Save(t.Context(), key, first)
	wantErr(t, err, session.ErrConflict)
}

func sessionKeys(t *testing.T, _ peer, s store) {
	key := newKey()
	save(t, s, key, opened())
	for _, other := range []session.Key{key + "x", key[:len(key)-1], session.Key(strings.ToLower(string(key))), session.OriginKey("t", "docs", "e")} {
		if got := load(t, s, other); got != (session.State{}) {
			t.Errorf("%s: got %+v, want the zero state", other, got)
		}
	}
}

func sessionBound(t *testing.T, p peer, s store) {
	key, state := newKey(), opened()
	state.SessionID = strings.Repeat("x", 350<<10)
	_, err := s.Save(t.Context(), key, state)
	wantErr(t, err, p.tooLarge)
	if got := load(t, s, key); got != (session.State{}) {
		t.Error("a session that was refused is loaded")
	}
}
