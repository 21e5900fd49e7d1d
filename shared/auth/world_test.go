package auth_test

import (
	"context"
	"crypto/rand"
	"fmt"
	"net/http"
	"sync"
	"testing"
	"time"

	"mcprelay/shared/auth"
	"mcprelay/shared/call"
	"mcprelay/shared/token"
)

// tokens is a store that counts what it is asked.
type tokens struct {
	mu      sync.Mutex
	records map[string]token.Record
	err     error
	asked   []string
}

func (s *tokens) Token(_ context.Context, keyID string) (token.Record, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.asked = append(s.asked, keyID)
	if s.err != nil {
		return token.Record{}, s.err
	}
	if record, ok := s.records[keyID]; ok {
		return record, nil
	}
	return token.Record{}, fmt.Errorf("reading a token: %w", token.ErrUnknown)
}

// change replaces the record of a key id.
func (s *tokens) change(keyID string, f func(*token.Record)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	record := s.records[keyID]
	f(&record)
	s.records[keyID] = record
}

// clock is a time that only a test moves.
type clock struct{ at time.Time }

func (c *clock) now() time.Time { return c.at }

// world is an authenticator and all that it depends on.
type world struct {
	store *tokens
	clock *clock
	auth  *auth.Authenticator
	text  string // a service token in the store
	keyID string
}

// nobody is the last reason of all, of a record that should not be there. What
// is refused for it alone was not refused where it should have been.
const nobody = "the record of the credential names no caller"

const configured = "dev-token-of-sixteen+"

func newWorld(t *testing.T) *world {
	t.Helper()
	w := &world{store: &tokens{records: make(map[string]token.Record)}, clock: &clock{time.Date(2026, 8, 1, 12, 0, 0, 0, time.UTC)}}
	w.text, w.keyID = w.mint(t)
	caller, err := auth.NewCaller(configured, call.Principal{Tenant: "acme", Subject: "dev", Kind: call.KindUser, Scopes: []call.Scope{call.ScopeCall}})
	if err != nil {
		t.Fatal(err)
	}
	w.auth = auth.New(auth.Options{Tokens: w.store, Callers: []auth.Caller{caller}, Now: w.clock.now})
	return w
}

// mint puts a new token into the store.
func (w *world) mint(t *testing.T) (text, keyID string) {
	t.Helper()
	text, keyID, err := token.Mint(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	w.store.records[keyID] = token.Record{
		KeyID: keyID, Hash: token.Hash(text), Tenant: "acme", Subject: "ci", Kind: call.KindServiceToken, Scopes: []call.Scope{call.ScopeCall, call.ScopeAuditRead},
	}
	return text, keyID
}

func bearer(s string) http.Header { return http.Header{"Authorization": {"Bearer " + s}} }

func pair(id, secret string) http.Header {
	return http.Header{auth.HeaderClientID: {id}, auth.HeaderClientSecret: {secret}}
}

// as wants the subject, or the reason where want begins with "!".
func (w *world) as(t *testing.T, h http.Header, want string) {
	t.Helper()
	p, refusal := w.auth.Authenticate(t.Context(), h)
	got := p.Subject
	if refusal != nil {
		got = "!" + string(refusal.Reason)
		if p.Known() {
			t.Errorf("a refusal came with the principal %+v", p)
		}
	}
	if refusal != nil && refusal.Detail == nobody {
		t.Errorf("%v is refused for nothing but that it names nobody", h)
	}
	if got != want {
		t.Errorf("%v: got %s (%v), want %s", h, got, refusal, want)
	}
}
