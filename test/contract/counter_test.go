package contract_test

import (
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"mcprelay/shared/budget"
	"mcprelay/shared/call"
)

func counterChecks() []check {
	return []check{
		{"a counter counts up to its limit, in all processes together", nothing, counterCounts},
		{"what is taken back can be counted again, and no more", nothing, counterTakesBack},
		{"a counter whose limit changes keeps its count", nothing, counterLimits},
		{"a counter that has expired begins anew", nothing, counterExpires},
		{"a counter below one allows nothing", nothing, counterBelowOne},
		{"a call counts against every limit of a budget or against none", nothing, counterBudget},
		{"of 64 writers never one counts too many", concurrency, counterRace},
		{"of 64 writers never one counts too many after expiry", concurrency, counterRaceAfterExpiry},
		{"of 64 writers that take back never one counts too many", concurrency, counterRaceWithBack},
	}
}

// freshCounter is a key that no other check uses.
func freshCounter() string { return "B#" + newTenant() }

func soon() time.Time { return now().Add(time.Minute) }

// count counts one and wants it to be counted, or not.
func count(t *testing.T, s store, key string, most int, want bool) {
	t.Helper()
	got, err := s.Add(t.Context(), key, most, soon())
	must(t, err)
	if got != want {
		t.Fatalf("counted %v, want %v", got, want)
	}
}

func counterCounts(t *testing.T, p peer, s store) {
	key, other := freshCounter(), p.open(t)
	for i := range 6 {
		count(t, []store{s, other}[i%2], key, 6, true)
	}
	count(t, s, key, 6, false)
	count(t, other, key, 6, false)
	count(t, s, freshCounter(), 1, true)
}

func counterTakesBack(t *testing.T, p peer, s store) {
	key := freshCounter()
	must(t, s.Sub(t.Context(), key)) // there is none
	count(t, s, key, 2, true)
	for range 3 {
		must(t, s.Sub(t.Context(), key)) // two of them take nothing
	}
	count(t, s, key, 2, true)
	count(t, s, key, 2, true)
	count(t, s, key, 2, false)
	must(t, p.open(t).Sub(t.Context(), key))
	count(t, s, key, 2, true)
	count(t, s, key, 2, false)
}

func counterLimits(t *testing.T, _ peer, s store) {
	key := freshCounter()
	for _, step := range []struct {
		most int
		want bool
	}{{3, true}, {3, true}, {1, false}, {2, false}, {3, true}, {3, false}, {1, false}, {4, true}, {1 << 40, true}} {
		count(t, s, key, step.most, step.want)
	}
}

func counterExpires(t *testing.T, _ peer, s store) {
	key := freshCounter()
	for range 2 {
		added, err := s.Add(t.Context(), key, 1, now().Add(-time.Second))
		must(t, err)
		if !added {
			t.Fatal("a counter that has expired was full")
		}
	}
	must(t, s.Sub(t.Context(), key)) // of what has expired nothing is taken
	count(t, s, key, 2, true)
	count(t, s, key, 2, true)
	count(t, s, key, 2, false)
}

func counterBelowOne(t *testing.T, _ peer, s store) {
	key := freshCounter()
	count(t, s, key, 0, false)
	count(t, s, key, -1, false)
	count(t, s, key, 1, true)
}

func counterBudget(t *testing.T, p peer, s store) {
	name, at := budget.Of(newTenant(), "data.search"), now()
	take := func(s store, limits []budget.Limit) (budget.Taken, *call.Refusal) {
		taken, refusal, err := budget.Take(t.Context(), s, name, limits, at)
		must(t, err)
		return taken, refusal
	}
	other, limits := p.open(t), budget.Limits(3, 2, 9)
	taken, refusal := take(s, limits)
	wantReason(t, refusal, "")
	_, refusal = take(other, limits)
	wantReason(t, refusal, "")
	_, refusal = take(other, limits) // the hour's, so the minute's third is free again
	wantReason(t, refusal, call.OverBudget)
	_, refusal = take(s, limits[:1])
	wantReason(t, refusal, "")
	_, refusal = take(s, limits)
	wantReason(t, refusal, call.OverBudget)
	if refusal != nil && (refusal.RetryAfter < 1 || refusal.RetryAfter > 60) {
		t.Errorf("the minute is over in %d s", refusal.RetryAfter)
	}
	taken.GiveBack(t.Context())
	_, refusal = take(other, limits)
	wantReason(t, refusal, "")
	_, refusal = take(other, limits)
	wantReason(t, refusal, call.OverBudget)
}

// raceToCount lets 64 writers with handles of their own count, two each, and
// gives how many were counted.
func raceToCount(t *testing.T, p peer, key string, most int) int {
	t.Helper()
	handles := []store{p.open(t), p.open(t), p.open(t), p.open(t)}
	var counted atomic.Int32
	race(t, 64, nil, func(i int) error {
		for range 2 {
			added, err := handles[i%len(handles)].Add(t.Context(), key, most, soon())
			if err != nil {
				return err
			}
			if added {
				counted.Add(1)
			}
		}
		return nil
	})
	return int(counted.Load())
}

func counterRace(t *testing.T, p peer, s store) {
	key := freshCounter()
	if n := raceToCount(t, p, key, 37); n != 37 {
		t.Errorf("%d calls were counted, want 37", n)
	}
	count(t, s, key, 37, false)
	count(t, s, key, 38, true)
}

func counterRaceAfterExpiry(t *testing.T, p peer, s store) {
	key := freshCounter()
	for range 2 {
		_, err := s.Add(t.Context(), key, 1, now().Add(-time.Second))
		must(t, err)
	}
	if n := raceToCount(t, p, key, 37); n != 37 {
		t.Errorf("%d calls were counted, want 37", n)
	}
	count(t, s, key, 37, false)
}

// Calls that end before they are made give back what they took, at once.
func counterRaceWithBack(t *testing.T, p peer, s store) {
	const most = 5
	key := freshCounter()
	handles := []store{p.open(t), p.open(t), p.open(t), p.open(t)}
	var mu sync.Mutex
	running, worst := 0, 0
	note := func(n int) {
		mu.Lock()
		defer mu.Unlock()
		running += n
		worst = max(worst, running)
	}
	race(t, 64, nil, func(i int) error {
		s := handles[i%len(handles)]
		for range 3 {
			added, err := s.Add(t.Context(), key, most, soon())
			if err != nil {
				return err
			}
			if !added {
				continue
			}
			note(1)
			note(-1)
			if err := s.Sub(t.Context(), key); err != nil {
				return err
			}
		}
		return nil
	})
	if worst > most || worst == 0 {
		t.Errorf("%d calls were running at once, want 1 to %d", worst, most)
	}
	for range most { // all of it was given back
		count(t, s, key, most, true)
	}
	count(t, s, key, most, false)
}
