package auth_test

import (
	"crypto/rand"
	"errors"
	"testing"
	"testing/iotest"
	"time"

	"mcprelay/shared/auth"
	"mcprelay/shared/call"
	"mcprelay/shared/token"
)

func TestExpiryCountsAtOnce(t *testing.T) {
	w := newWorld(t)
	w.store.change(w.keyID, func(r *token.Record) { r.Expires = w.clock.at.Add(5 * time.Second) })
	w.as(t, bearer(w.text), "ci")
	w.clock.at = w.clock.at.Add(5 * time.Second)
	w.as(t, bearer(w.text), "!unauthenticated")
	if len(w.store.asked) != 1 {
		t.Errorf("the store was asked %d times, want 1", len(w.store.asked))
	}
}

func TestRevocationCountsWithinTheCache(t *testing.T) {
	w := newWorld(t)
	w.as(t, bearer(w.text), "ci")
	w.store.change(w.keyID, func(r *token.Record) { r.RevokedAt = w.clock.at })
	w.clock.at = w.clock.at.Add(auth.CacheTTL - time.Nanosecond)
	w.as(t, bearer(w.text), "ci")
	w.clock.at = w.clock.at.Add(time.Nanosecond)
	w.as(t, bearer(w.text), "!unauthenticated")
	if len(w.store.asked) != 2 {
		t.Errorf("the store was asked %d times, want 2", len(w.store.asked))
	}
}

func TestUnknownKeyIDsAreKeptAsLong(t *testing.T) {
	w := newWorld(t)
	record := w.store.records[w.keyID]
	delete(w.store.records, w.keyID)
	w.as(t, bearer(w.text), "!unauthenticated")
	w.as(t, bearer(w.text), "!unauthenticated")
	if len(w.store.asked) != 1 {
		t.Errorf("the store was asked %d times, want 1", len(w.store.asked))
	}
	w.store.records[w.keyID] = record
	w.clock.at = w.clock.at.Add(auth.CacheTTL)
	w.as(t, bearer(w.text), "ci")
}

func TestAStoreThatFailsIsSaidSoAndAskedAgain(t *testing.T) {
	w := newWorld(t)
	w.store.err = errors.New("throttled")
	_, refusal := w.auth.Authenticate(t.Context(), bearer(w.text))
	if refusal == nil || refusal.Reason != call.AuthUnavailable || !errors.Is(refusal, w.store.err) {
		t.Errorf("got %v, want auth_unavailable", refusal)
	}
	w.store.err = nil
	w.as(t, bearer(w.text), "ci")
	w.store.err = errors.New("throttled")
	w.clock.at = w.clock.at.Add(auth.CacheTTL)
	w.as(t, bearer(w.text), "!auth_unavailable")
	w.as(t, bearer(configured), "dev")
}

func TestAFloodOfInventedKeyIDsKeepsTokensInUse(t *testing.T) {
	w := newWorld(t)
	w.as(t, bearer(w.text), "ci")
	for range 10_000 {
		invented, _, err := token.Mint(rand.Reader)
		if err != nil {
			t.Fatal(err)
		}
		if _, refusal := w.auth.Authenticate(t.Context(), bearer(invented)); refusal == nil {
			t.Fatal("an invented token is accepted")
		}
	}
	asked := len(w.store.asked)
	w.as(t, bearer(w.text), "ci")
	if len(w.store.asked) != asked {
		t.Error("the token in use was asked for again")
	}
	if known, unknown := w.auth.Kept(); known != 1 || unknown > auth.MaxKept {
		t.Errorf("%d records and %d key ids are kept, want 1 and at most %d", known, unknown, auth.MaxKept)
	}
}

func TestRecordsAreBounded(t *testing.T) {
	w := newWorld(t)
	for range auth.MaxKept + 10 {
		text, _ := w.mint(t)
		w.as(t, bearer(text), "ci")
	}
	if known, _ := w.auth.Kept(); known > auth.MaxKept {
		t.Errorf("%d records are kept, want at most %d", known, auth.MaxKept)
	}
}

// Room is made of what is no longer used; where all is, of a quarter.
func TestRoomIsMadeOfWhatIsOverFirst(t *testing.T) {
	w := newWorld(t)
	fill := func(n int) {
		for range n {
			text, _ := w.mint(t)
			w.as(t, bearer(text), "ci")
		}
	}
	fill(auth.MaxKept)
	if known, _ := w.auth.Kept(); known != auth.MaxKept {
		t.Errorf("%d records are kept, want %d", known, auth.MaxKept)
	}
	fill(1)
	if known, _ := w.auth.Kept(); known != auth.MaxKept/4*3+1 {
		t.Errorf("%d records are kept, want three quarters and the new one", known)
	}
	fill(auth.MaxKept/4 - 1)
	w.clock.at = w.clock.at.Add(auth.CacheTTL)
	fill(1)
	if known, _ := w.auth.Kept(); known != 1 {
		t.Errorf("%d records are kept when the time of the others is over, want 1", known)
	}
}

// What the store says last is what is kept, in one place only.
func TestATokenThatIsDeletedIsForgotten(t *testing.T) {
	w := newWorld(t)
	w.as(t, bearer(w.text), "ci")
	record := w.store.records[w.keyID]
	delete(w.store.records, w.keyID)
	w.clock.at = w.clock.at.Add(auth.CacheTTL)
	w.as(t, bearer(w.text), "!unauthenticated")
	if known, unknown := w.auth.Kept(); known != 0 || unknown != 1 {
		t.Errorf("%d records and %d key ids are kept, want 0 and 1", known, unknown)
	}
	w.store.records[w.keyID] = record
	w.clock.at = w.clock.at.Add(auth.CacheTTL)
	w.as(t, bearer(w.text), "ci")
	if known, unknown := w.auth.Kept(); known != 1 || unknown != 0 {
		t.Errorf("%d records and %d key ids are kept, want 1 and 0", known, unknown)
	}
}

// Only a flood is told when to come back; a store that fails does not know.
func TestAFloodIsToldWhenToComeBack(t *testing.T) {
	w := newWorld(t)
	w.store.err = errors.New("throttled")
	if _, refusal := w.auth.Authenticate(t.Context(), bearer(w.text)); refusal == nil || refusal.RetryAfter != 0 {
		t.Errorf("got %+v", refusal)
	}
	w.store.err = nil
	for range auth.MaxUnknown {
		invented, _, err := token.Mint(rand.Reader)
		if err != nil {
			t.Fatal(err)
		}
		w.auth.Authenticate(t.Context(), bearer(invented))
	}
	_, refusal := w.auth.Authenticate(t.Context(), bearer(w.text))
	if refusal == nil || refusal.Reason != call.AuthUnavailable || refusal.RetryAfter != 1 {
		t.Errorf("got %+v, want auth_unavailable for a second", refusal)
	}
}

func TestATokenNeedsRandomness(t *testing.T) {
	if text, caller, err := auth.Local("acme", iotest.ErrReader(errors.New("dry"))); err == nil || text != "" || caller.Principal.Known() {
		t.Errorf("got %q, %+v, %v", text, caller, err)
	}
}
