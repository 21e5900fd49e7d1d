package local_test

import (
	"strings"
	"testing"
	"time"

	"mcprelay/shared/turn"
)

// After the crash of a machine what was ended or used must not come back.
func TestATurnIsOnTheDiskWhenItIsStored(t *testing.T) {
	s := open(t, t.TempDir())
	cleaned(t, s)
	if err := s.Sub(t.Context(), "B#x"); err != nil || s.Full() {
		t.Fatalf("taken back with %v, on the disk %v: the test proves nothing", err, s.Full())
	}
	if _, err := s.PutTurn(t.Context(), "N#x", turn.Turn{ID: "t", Expires: time.Now()}); err != nil || !s.Full() {
		t.Errorf("stored with %v, on the disk %v", err, s.Full())
	}
}

// A call must not wait for the disk twice: its intent does.
func TestACountDoesNotWaitForTheDisk(t *testing.T) {
	s := open(t, t.TempDir())
	cleaned(t, s)
	if _, err := s.PutTurn(t.Context(), "N#x", turn.Turn{ID: "t", Expires: time.Now()}); err != nil || !s.Full() {
		t.Fatalf("stored with %v, on the disk %v: the test proves nothing", err, s.Full())
	}
	if added, err := s.Add(t.Context(), "B#x", 1, time.Now().Add(time.Hour)); err != nil || !added || s.Full() {
		t.Errorf("counted %v, %v, on the disk %v", added, err, s.Full())
	}
}

func TestForgottenTurnsAndCountersAreDeletedWhenTheFolderIsOpened(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir)
	for name, expires := range map[string]time.Time{"old": time.Now().Add(-time.Minute), "new": time.Now().Add(time.Hour)} {
		if _, err := s.PutTurn(t.Context(), turn.Key(name), turn.Turn{ID: "t", Expires: expires.Add(-turn.Remembered)}); err != nil {
			t.Fatal(err)
		}
		if _, err := s.Add(t.Context(), name, 1, expires); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	s = open(t, dir)
	cleaned(t, s)
	for _, table := range []string{"turns", "counters"} {
		var left string
		if err := raw(t, dir).QueryRowContext(t.Context(), "SELECT group_concat(key) FROM "+table).Scan(&left); err != nil || left != "new" {
			t.Errorf("%s: got %q and %v, want the new one alone", table, left, err)
		}
	}
}

func TestATurnThatCannotBeReadIsAnError(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir)
	if _, err := s.PutTurn(t.Context(), "N#x", turn.Turn{ID: "t", Expires: time.Now()}); err != nil {
		t.Fatal(err)
	}
	if _, err := raw(t, dir).ExecContext(t.Context(), "UPDATE turns SET body = '{'"); err != nil {
		t.Fatal(err)
	}
	if got, err := s.Turn(t.Context(), "N#x"); err == nil || !strings.Contains(err.Error(), "reading a turn") {
		t.Errorf("got %+v and %v, want an error", got, err)
	}
}
