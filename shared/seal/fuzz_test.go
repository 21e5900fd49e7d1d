package seal_test

import (
	"errors"
	"testing"
	"time"

	"mcprelay/shared/seal"
)

// FuzzOpen: whatever an agent gives back, nothing opens but what was sealed,
// and the error is one of two.
func FuzzOpen(f *testing.F) {
	s, err := seal.New(key(7))
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, text, subject string, after int64) {
		b := bound()
		b.Subject = subject
		now := start.Add(time.Duration(after) * time.Second)
		switch got, err := s.Open(b, text, now); {
		case err == nil && (text != golden || subject != bound().Subject || got != goldenState):
			t.Errorf("%q opens for %q as %q", text, subject, got)
		case err != nil && (got != "" || !errors.Is(err, seal.ErrForged) && !errors.Is(err, seal.ErrExpired)):
			t.Errorf("%q: got %q, %v", text, got, err)
		}
		own, err := s.Seal(b, text, now)
		if err != nil {
			if len(text) <= seal.MaxState {
				t.Errorf("sealing %d bytes: %v", len(text), err)
			}
			return
		}
		if got, err := s.Open(b, own, now.Add(-time.Millisecond)); got != text || err != nil {
			t.Errorf("got %q, %v, want %q", got, err, text)
		}
		if _, err := s.Open(b, own, now); !errors.Is(err, seal.ErrExpired) {
			t.Errorf("got %v, want an expired state", err)
		}
	})
}
