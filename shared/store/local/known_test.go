package local_test

import (
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"mcprelay/shared/audit"
	"mcprelay/shared/store/local"
)

// Whoever asks, and wherever the first record of a call is by then.
func TestACallIsBegunAndEndedOnce(t *testing.T) {
	for _, age := range []time.Duration{0, time.Minute, 24 * time.Hour} {
		for _, folded := range []bool{false, true} {
			for _, writer := range []string{"own", "other", "closed", "killed"} {
				t.Run(fmt.Sprint(age, " ", writer, " folded ", folded), func(t *testing.T) {
					begun, whole := recordAt("acme", time.Now().Add(-age)), recordAt("acme", time.Now().Add(-age))
					s, first := beside(t, writer, func(s *local.Store) {
						must(t, s.Intent(t.Context(), begun))
						must(t, s.Final(t.Context(), ended(whole)))
						if folded {
							must(t, s.Fold())
						}
					})
					for _, r := range []audit.Record{begun, whole} {
						if err := s.Intent(t.Context(), r); !errors.Is(err, local.ErrExists) {
							t.Errorf("a second intent: got %v, want %v", err, local.ErrExists)
						}
					}
					if err := s.Final(t.Context(), ended(whole)); !errors.Is(err, local.ErrAlreadyFinal) {
						t.Errorf("a second final: got %v, want %v", err, local.ErrAlreadyFinal)
					}
					must(t, s.Final(t.Context(), ended(begun)))
					for _, s := range []*local.Store{first, s} {
						if err := s.Final(t.Context(), ended(begun)); !errors.Is(err, local.ErrAlreadyFinal) && !errors.Is(err, local.ErrClosed) {
							t.Errorf("a final after the intent's: got %v, want %v", err, local.ErrAlreadyFinal)
						}
					}
					if got := records(t, s, audit.Filter{}); len(got) != 2 || got[0].State != audit.StateFinal || got[1].State != audit.StateFinal {
						t.Errorf("got %v, want two finals", got)
					}
				})
			}
		}
	}
}

// beside lets a store write, and gives one that finds what it wrote: itself,
// or that of another process, while the first lives or after its end.
func beside(t *testing.T, writer string, write func(*local.Store)) (later, first *local.Store) {
	t.Helper()
	dir := t.TempDir()
	first = held(t, dir)
	if writer == "other" { // open all the while
		later = held(t, dir)
	}
	write(first)
	switch writer {
	case "own":
		return first, first
	case "other":
		return later, first
	case "closed":
		must(t, first.Close())
	case "killed":
		must(t, first.Abandon())
	}
	return held(t, dir), first
}

// forget makes a store forget every call before: it folds enough others.
func forget(t *testing.T, s *local.Store) {
	t.Helper()
	r := record("other")
	for range 3 {
		for i := range local.Recent {
			r.CallID = numbered(time.Now().UnixNano() + int64(i))
			must(t, s.Final(t.Context(), r))
			if i%4000 == 0 {
				must(t, s.Fold())
			}
		}
		must(t, s.Fold())
	}
}

// What is forgotten in memory is found in SQLite.
func TestACallThatWasForgottenIsStillEndedOnce(t *testing.T) {
	s := held(t, t.TempDir())
	fresh := time.Now().Add(time.Second) // for sure after the opening
	begun, whole := recordAt("acme", fresh), recordAt("acme", fresh)
	must(t, s.Intent(t.Context(), begun))
	must(t, s.Final(t.Context(), ended(whole)))
	forget(t, s)
	if err := s.Intent(t.Context(), begun); !errors.Is(err, local.ErrExists) {
		t.Errorf("a second intent: got %v, want %v", err, local.ErrExists)
	}
	if err := s.Final(t.Context(), ended(whole)); !errors.Is(err, local.ErrAlreadyFinal) {
		t.Errorf("a second final: got %v, want %v", err, local.ErrAlreadyFinal)
	}
	must(t, s.Final(t.Context(), ended(begun)))
	if err := s.Final(t.Context(), ended(begun)); !errors.Is(err, local.ErrAlreadyFinal) {
		t.Errorf("a final after the intent's: got %v, want %v", err, local.ErrAlreadyFinal)
	}
}

// An answer of SQLite's counts only while nothing has been forgotten since.
func TestACallThatIsEndedAndForgottenWhileSQLiteIsAskedIsEndedOnce(t *testing.T) {
	s := held(t, t.TempDir())
	r := ended(recordAt("acme", time.Now().Add(-time.Minute)))
	asked := false
	s.OnAsk(func() {
		if asked {
			return
		}
		asked = true
		must(t, s.Final(t.Context(), r))
		forget(t, s)
	})
	if err := s.Final(t.Context(), r); !errors.Is(err, local.ErrAlreadyFinal) {
		t.Errorf("got %v, want %v", err, local.ErrAlreadyFinal)
	}
}

// A call that only this process can know costs no look at SQLite or at others.
func TestAFreshCallAsksNobody(t *testing.T) {
	dir := t.TempDir()
	s := held(t, dir)
	asked := 0
	s.OnAsk(func() { asked++ })
	// minted is a call of a time after the opening of the store.
	minted := func(after time.Duration) audit.Record { return recordAt("acme", time.Now().Add(after)) }
	want := func(when string, questions int, r audit.Record) {
		t.Helper()
		asked = 0
		must(t, s.Intent(t.Context(), r))
		must(t, s.Final(t.Context(), r))
		if asked != questions {
			t.Errorf("%s: %d questions, want %d", when, asked, questions)
		}
	}
	want("minted before the opening", 2, minted(-time.Second))
	want("minted since", 0, minted(time.Second))
	other := held(t, dir)
	want("beside a process that writes nothing", 0, minted(time.Second))
	must(t, other.Final(t.Context(), record("acme")))
	want("beside another process", 2, record("acme"))
	must(t, other.Close())
	want("minted beside it", 2, minted(-time.Second))
	want("after its end", 0, minted(time.Second))
}

// Two processes that end one call in the same instant both succeed; which of
// the finals stays is decided once.
func TestTheFirstOfTwoFinalsThatNobodyCouldSeeStays(t *testing.T) {
	dir := t.TempDir()
	s, other := held(t, dir), held(t, dir)
	r := recordAt("acme", time.Now().Add(-time.Minute))
	must(t, other.Final(t.Context(), record("acme")))
	mine, theirs := ended(r), ended(r)
	theirs.Detail = "theirs"
	var once sync.Once
	s.OnAsk(func() { once.Do(func() { must(t, other.Final(t.Context(), theirs)) }) })
	must(t, s.Final(t.Context(), mine))
	if got := len(ids(t, s, audit.Filter{})); got != 2 {
		t.Errorf("got %d records, want 2", got)
	}
	must(t, other.Fold())
	must(t, s.Fold())
	if got := records(t, s, audit.Filter{}); len(got) != 2 || got[1].Detail != "theirs" {
		t.Errorf("got %v, want the final that was folded first", got)
	}
	if got := s.Lost() + other.Lost(); got != 1 {
		t.Errorf("%d finals are counted as lost, want 1", got)
	}
}

func TestOneOfManyWritersOfACallWins(t *testing.T) {
	for _, age := range []time.Duration{0, time.Hour} {
		s := open(t, t.TempDir())
		s.Pause(0) // fold all the time
		for range 20 {
			r := recordAt("acme", time.Now().Add(-age))
			var wg sync.WaitGroup
			errs := make([]error, 16)
			for i := range errs {
				wg.Go(func() {
					if errs[i] = s.Final(t.Context(), r); i%2 == 0 {
						errs[i] = s.Intent(t.Context(), r)
					}
				})
			}
			wg.Wait()
		}
		got := ids(t, s, audit.Filter{})
		seen := map[string]bool{}
		for _, id := range got {
			seen[id] = true
		}
		if len(got) != 20 || len(seen) != 20 {
			t.Errorf("%v old: got %d records of %d calls, want 20 of 20", age, len(got), len(seen))
		}
	}
}
