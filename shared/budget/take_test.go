package budget_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"mcprelay/shared/budget"
	"mcprelay/shared/call"
)

// at is a time in the middle of a day, an hour and a minute.
var at = time.Date(2026, 11, 30, 17, 25, 29, 500_000_000, time.UTC)

// take counts a call and wants no error.
func take(t *testing.T, m *memory, limits []budget.Limit, now time.Time) (budget.Taken, *call.Refusal) {
	t.Helper()
	taken, refusal, err := budget.Take(t.Context(), m, "n", limits, now)
	if err != nil {
		t.Fatal(err)
	}
	return taken, refusal
}

func TestLimitsAreThoseThatAreSet(t *testing.T) {
	for name, tt := range map[string]struct{ got, want []budget.Limit }{
		"none":     {budget.Limits(0, 0, 0), nil},
		"all":      {budget.Limits(1, 20, 300), []budget.Limit{{budget.Minute, 1}, {budget.Hour, 20}, {budget.Day, 300}}},
		"some":     {budget.Limits(0, 20, 0), []budget.Limit{{budget.Hour, 20}}},
		"negative": {budget.Limits(-1, 0, 0), []budget.Limit{{budget.Minute, -1}}},
	} {
		if diff := cmp.Diff(tt.want, tt.got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

func TestAWindowHasItsLimitOfCallsAndTheNextOneAgain(t *testing.T) {
	for _, window := range []time.Duration{time.Second, budget.Minute, budget.Hour, budget.Day} {
		m, limits := newMemory(), []budget.Limit{{window, 3}}
		begins := at.Truncate(window)
		for _, start := range []time.Time{begins, begins.Add(window)} {
			// The first moment of the window, one within it, and its last.
			for _, now := range []time.Time{start, start.Add(window / 2), start.Add(window - 1)} {
				if _, refusal := take(t, m, limits, now); refusal != nil {
					t.Errorf("%v: refused at %v: %v", window, now, refusal)
				}
			}
			if _, refusal := take(t, m, limits, start.Add(window-1)); refusal == nil || refusal.Reason != call.OverBudget {
				t.Errorf("%v: a fourth call of three: got %v", window, refusal)
			}
		}
	}
}

func TestARefusalSaysWhenItsWindowEnds(t *testing.T) {
	for name, tt := range map[string]struct {
		limit budget.Limit
		now   time.Time
		want  int
	}{
		"half a second is a whole one":  {budget.Limit{Window: budget.Minute}, at, 31},
		"the first moment of a minute":  {budget.Limit{Window: budget.Minute}, at.Truncate(time.Minute), 60},
		"the last moment of a minute":   {budget.Limit{Window: budget.Minute}, at.Truncate(time.Minute).Add(time.Minute - 1), 1},
		"an hour":                       {budget.Limit{Window: budget.Hour}, at, 34*60 + 31},
		"a day is more than it may say": {budget.Limit{Window: budget.Day}, at, 3600},
		"the end of a day":              {budget.Limit{Window: budget.Day}, at.Truncate(budget.Day).Add(budget.Day - 2*time.Second), 2},
	} {
		_, refusal := take(t, newMemory(), []budget.Limit{tt.limit}, tt.now)
		if refusal == nil || refusal.RetryAfter != tt.want {
			t.Errorf("%s: got %+v, want %d s", name, refusal, tt.want)
		}
	}
}

// What expires too early would count from 0 again.
func TestACountOutlivesItsWindow(t *testing.T) {
	m := newMemory()
	take(t, m, []budget.Limit{{budget.Minute, 1}}, at)
	for key, expires := range m.expires {
		if least := at.Truncate(time.Minute).Add(time.Minute); expires.Sub(least) < time.Minute || expires.Sub(least) > time.Hour {
			t.Errorf("%s expires at %v, the window ends at %v", key, expires, least)
		}
	}
}

func TestALimitBelowOneAllowsNothingAndAsksNobody(t *testing.T) {
	for _, most := range []int{0, -1} {
		m := newMemory()
		if _, refusal := take(t, m, []budget.Limit{{budget.Minute, most}}, at); refusal == nil || refusal.Reason != call.OverBudget {
			t.Errorf("max %d: got %v", most, refusal)
		}
		if m.adds != 0 {
			t.Errorf("max %d: it was asked", most)
		}
	}
}

func TestACallCountsAgainstEveryLimitOrAgainstNone(t *testing.T) {
	m, limits := newMemory(), []budget.Limit{{budget.Minute, 5}, {budget.Hour, 2}, {budget.Day, 9}}
	for n := range 2 {
		if _, refusal := take(t, m, limits, at); refusal != nil || m.total() != 3*(n+1) {
			t.Fatalf("call %d: %v, counted %d", n, refusal, m.total())
		}
	}
	_, refusal := take(t, m, limits, at)
	if refusal == nil || !strings.Contains(refusal.Detail, "2 calls in 1h") {
		t.Errorf("got %v, want the hour's", refusal)
	}
	if m.total() != 6 {
		t.Errorf("a call that was refused left %d counts, want 6", m.total())
	}
	m.failAt = m.adds + 3
	if _, refusal := take(t, m, limits[1:], at.Add(time.Hour)); refusal != nil {
		t.Fatal(refusal)
	}
	before := m.total()
	m.failAt = m.adds + 2
	taken, refusal, err := budget.Take(t.Context(), m, "n", limits, at.Add(time.Hour))
	if !errors.Is(err, errStore) || refusal != nil || strings.Contains(err.Error(), `"n"`) {
		t.Errorf("got %v and %v, want the store's error", refusal, err)
	}
	if taken.GiveBack(t.Context()); m.total() != before {
		t.Errorf("a call that failed left %d counts, want %d", m.total(), before)
	}
}

func TestWhatIsGivenBackCanBeTaken(t *testing.T) {
	m, limits := newMemory(), budget.Limits(1, 1, 1)
	taken, refusal := take(t, m, limits, at)
	if refusal != nil {
		t.Fatal(refusal)
	}
	if _, refusal = take(t, m, limits, at); refusal == nil {
		t.Fatal("a second call of one")
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	taken.GiveBack(ended) // whoever asked may be gone
	if _, refusal = take(t, m, limits, at); refusal != nil || m.total() != 3 {
		t.Errorf("got %v, counted %d", refusal, m.total())
	}
}

func TestWhatCannotBeGivenBackStaysSpent(t *testing.T) {
	m := newMemory()
	taken, _ := take(t, m, budget.Limits(1, 0, 0), at)
	m.fail = errStore
	taken.GiveBack(t.Context())
	budget.Taken{}.GiveBack(t.Context()) // nothing
	if _, refusal := take(t, m, budget.Limits(1, 0, 0), at); refusal == nil {
		t.Error("it was counted as given back")
	}
}

func TestAWindowThatIsNoneIsAnError(t *testing.T) {
	m := newMemory()
	for _, window := range []time.Duration{0, -time.Minute, time.Millisecond, 1500 * time.Millisecond, budget.Day + time.Second} {
		limits := []budget.Limit{{budget.Minute, 9}, {window, 9}}
		if taken, refusal, err := budget.Take(t.Context(), m, "n", limits, at); err == nil || refusal != nil || m.total() != 0 {
			t.Errorf("%v: got %+v, %v, %v, counted %d", window, taken, refusal, err, m.total())
		}
	}
}

func TestNamesWindowsAndLengthsDoNotMeet(t *testing.T) {
	seen := map[string]string{}
	for _, name := range []string{
		budget.Of("acme", "data.search"), budget.Of("acmed", "ata.search"), budget.Of("acme", "data.Search"), budget.Of("", ""), budget.Of("acme", ""),
		budget.OfTool("acme", "data", "search"), budget.OfTool("acme", "dat", "asearch"), budget.OfTool("acmed", "ata", "search"),
		budget.OfTool("", "acme", "data.search"), "acme", strings.Repeat("x", 4096),
	} {
		for _, now := range []time.Time{at, at.Add(time.Minute)} {
			m := newMemory()
			if _, refusal, err := budget.Take(t.Context(), m, name, []budget.Limit{{budget.Minute, 1}, {time.Second, 1}}, now); refusal != nil || err != nil {
				t.Fatal(refusal, err)
			}
			for key := range m.counts {
				if was, ok := seen[key]; ok || len(key) > 128 || !strings.HasPrefix(key, "B#") || strings.Contains(key, "acme") {
					t.Errorf("%q has the key %q, as has %q", name, key, was)
				}
				seen[key] = name
			}
		}
	}
	if len(seen) != 11*2*2 {
		t.Errorf("got %d keys, want %d", len(seen), 11*2*2)
	}
}

func TestOf64WritersNeverOneTooMany(t *testing.T) {
	m, limits := newMemory(), budget.Limits(50, 30, 40)
	var made atomic.Int32
	var wg sync.WaitGroup
	for range 64 {
		wg.Go(func() {
			for range 4 {
				_, refusal, err := budget.Take(context.Background(), m, "n", limits, at)
				if err != nil {
					t.Error(err)
				}
				if refusal == nil {
					made.Add(1)
				}
			}
		})
	}
	wg.Wait()
	if made.Load() != 30 || m.total() != 90 {
		t.Errorf("%d calls were made and %d counted, want 30 and 90", made.Load(), m.total())
	}
}
