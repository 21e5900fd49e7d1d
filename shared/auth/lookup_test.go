package auth_test

import (
	"crypto/rand"
	"errors"
	"testing"
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
