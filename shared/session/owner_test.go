package session_test

import (
	"encoding/json"
	"strings"
	"testing"

	"mcprelay/shared/call"
	"mcprelay/shared/session"
)

var owner = session.Owner{Tenant: "acme", Server: "docs", Subject: "ci", Kind: "service_token", Run: "r1"}

func TestRunKeyDiffersWhereOnePartDiffers(t *testing.T) {
	seen := map[session.Key]string{}
	for name, key := range map[string]session.Key{
		"whole":   session.RunKey("acme", "user", "ci", "r1"),
		"tenant":  session.RunKey("other", "user", "ci", "r1"),
		"kind":    session.RunKey("acme", "other", "ci", "r1"),
		"subject": session.RunKey("acme", "user", "other", "r1"),
		"run":     session.RunKey("acme", "user", "ci", "r2"),
		"moved":   session.RunKey("acme", "user", "cir", "1"),
	} {
		if other, ok := seen[key]; ok {
			t.Errorf("%s and %s have one key", name, other)
		}
		if !strings.HasPrefix(string(key), "R#") || len(key) != 45 || strings.Contains(string(key), "acme") {
			t.Errorf("%s: key %q", name, key)
		}
		seen[key] = name
	}
}

func TestStateBelongsToTheRunOfItsOwner(t *testing.T) {
	s := session.State{Era: session.Legacy, SessionID: "s-1", Owner: owner}
	if got, want := s.RunKey(), session.RunKey("acme", "service_token", "ci", "r1"); got != want {
		t.Errorf("want %s, got %s", want, got)
	}
	other := s
	other.Owner.Server = "mail"
	if other.RunKey() != s.RunKey() {
		t.Error("a run has one key a server")
	}
	for name, change := range map[string]func(*session.State){
		"no run":        func(s *session.State) { s.Owner.Run = "" },
		"no session id": func(s *session.State) { s.SessionID = "" },
		"nothing":       func(s *session.State) { *s = session.State{} },
	} {
		changed := s
		change(&changed)
		if got := changed.RunKey(); got != "" {
			t.Errorf("%s: got %s", name, got)
		}
	}
}

func TestOwnerAndOffersAreKeptInJSON(t *testing.T) {
	s := session.State{Era: session.Legacy, SessionID: "s-1", Owner: owner, Offers: call.Announced | call.OffersPrompts}
	text, err := json.Marshal(s)
	const want = `{"era":"legacy","session_id":"s-1","owner":{"tenant":"acme","server":"docs","subject":"ci","kind":"service_token","run":"r1"},"offers":9}`
	if err != nil || string(text) != want {
		t.Errorf("want %s, got %s, %v", want, text, err)
	}
	var back session.State
	if err := json.Unmarshal(text, &back); err != nil || back != s {
		t.Errorf("came back as %+v, %v", back, err)
	}
	if text, _ := json.Marshal(session.State{}); string(text) != `{}` {
		t.Errorf("nothing is stored as %s", text)
	}
}

func TestOwnerDoesNotMakeAnotherSession(t *testing.T) {
	s := session.State{Era: session.Legacy, SessionID: "s-1"}
	owned := s
	owned.Owner, owned.Offers = owner, call.Announced
	if !s.Is(owned) {
		t.Error("the same opening counts as two")
	}
}

// FuzzCheckID checks that an id which is accepted can travel in a header and
// come back the same, and that an error never shows it.
func FuzzCheckID(f *testing.F) {
	for _, id := range []string{"5f2b9d6e-0d0e-4a35", "", "a b", "a\r\nHost: b", "a\x80", "\x7f", "~!", strings.Repeat("x", 1024), strings.Repeat("x", 1025)} {
		f.Add(id)
	}
	f.Fuzz(func(t *testing.T, id string) {
		err := session.CheckID(id)
		visible := len(id) > 0 && len(id) <= session.MaxID
		for _, b := range []byte(id) {
			visible = visible && b > ' ' && b < 0x7f
		}
		if (err == nil) != visible {
			t.Fatalf("%q: got %v", id, err)
		}
		if err != nil && len(id) > 12 && strings.Contains(err.Error(), id) {
			t.Fatalf("the error shows the id: %v", err)
		}
	})
}
