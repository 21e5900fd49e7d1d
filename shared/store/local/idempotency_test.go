package local_test

import (
	"testing"
	"time"

	"mcprelay/shared/idempotency"
)

func keyRecord(until time.Time) idempotency.Record {
	return idempotency.Record{Digest: "d", CallID: "one", Until: until, Expires: until}
}

// After the crash of a machine nobody else could tell that a call may have run.
func TestAKeyIsOnTheDiskWhenItsCallBegins(t *testing.T) {
	s := open(t, t.TempDir())
	cleaned(t, s)
	if _, err := s.Save(t.Context(), "S#x", expired(time.Now().Add(time.Hour))); err != nil {
		t.Fatal(err)
	}
	if s.Full() {
		t.Fatal("the write before waits for the disk: the test proves nothing")
	}
	r := keyRecord(time.Now().Add(time.Hour))
	if _, mine, err := s.BeginKey(t.Context(), "I#x", r); err != nil || !mine || !s.Full() {
		t.Errorf("began %v, %v, on the disk %v", mine, err, s.Full())
	}
	r.State = idempotency.Done
	if err := s.EndKey(t.Context(), "I#x", r); err != nil || s.Full() {
		t.Errorf("ended with %v, on the disk %v: what is lost of it is a call that counts as lost", err, s.Full())
	}
}

func TestForgottenKeysAreDeletedWhenTheFolderIsOpened(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir)
	for key, until := range map[idempotency.Key]time.Time{"I#old": time.Now().Add(-time.Minute), "I#new": time.Now().Add(time.Hour)} {
		if _, mine, err := s.BeginKey(t.Context(), key, keyRecord(until)); err != nil || !mine {
			t.Fatalf("%s began %v, %v", key, mine, err)
		}
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	s = open(t, dir)
	cleaned(t, s)
	var left string
	if err := raw(t, dir).QueryRowContext(t.Context(), "SELECT group_concat(key) FROM idempotency").Scan(&left); err != nil || left != "I#new" {
		t.Errorf("got %q and %v, want the new one alone", left, err)
	}
}
