package local_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"mcprelay/shared/audit"
	"mcprelay/shared/call"
	"mcprelay/shared/store/local"
)

// history is what some stores write: each step is one record.
type history []func(stores []*local.Store) error

// random makes a history of calls whose records differ in everything that a
// filter selects by; a final may contradict its intent.
func random(t *testing.T, random *rand.Rand, stores int) history {
	t.Helper()
	pick := func(of ...string) string { return of[random.IntN(len(of))] }
	fill := func(r *audit.Record) {
		r.Tenant, r.Agent, r.Server = pick("acme", "umbra"), pick("ci", "dev"), pick("docs", "files")
		r.Tool, r.Run = pick("search", "fetch"), pick("", "run-1")
	}
	var h, finals history
	for range 60 {
		at := time.Now().Add(-time.Duration(random.IntN(100)) * time.Minute)
		r := recordAt("", at.UTC())
		fill(&r)
		by, ender := random.IntN(stores), random.IntN(stores)
		last := ended(r)
		if by == ender { // what an intent says stays where both come from one process
			fill(&last)
			last.Tenant = r.Tenant
		}
		last.Tool, last.Outcome = pick("search", "fetch"), call.Outcome(pick(string(call.Answered), string(call.NoAnswer)))
		begins, ends := random.IntN(3) > 0, random.IntN(3) > 0
		if begins {
			h = append(h, func(s []*local.Store) error { return s[by].Intent(context.Background(), r) })
		}
		if ends || !begins {
			finals = append(finals, func(s []*local.Store) error { return s[ender].Final(context.Background(), last) })
		}
		if len(finals) > 5 { // calls take their time
			h, finals = append(h, finals[0]), finals[1:]
		}
	}
	return append(h, finals...)
}

// filters are combinations of everything that can be asked for.
func filters(at time.Time) []audit.Filter {
	all := []audit.Filter{{}}
	for _, change := range []func(*audit.Filter){
		func(f *audit.Filter) { f.Tenant = "acme" },
		func(f *audit.Filter) { f.Agent = "ci" },
		func(f *audit.Filter) { f.Server = "docs" },
		func(f *audit.Filter) { f.Tool = "fetch" },
		func(f *audit.Filter) { f.Run = "run-1" },
		func(f *audit.Filter) { f.Outcome = call.Answered },
		func(f *audit.Filter) { f.Since = at.Add(-70 * time.Minute) },
		func(f *audit.Filter) { f.Until = at.Add(-20 * time.Minute) },
	} {
		for _, f := range all {
			change(&f)
			all = append(all, f)
		}
	}
	return all
}

// Wherever a record stands, in which journal or in SQLite, every question has
// the answer that it has when all of them are in SQLite.
func TestAPageIsTheSameBeforeAndAfterTheFold(t *testing.T) {
	for seed := range uint64(2) {
		source := rand.New(rand.NewPCG(seed, 0))
		dir, at := t.TempDir(), time.Now()
		stores := []*local.Store{held(t, dir), held(t, dir), held(t, dir)}
		for _, step := range random(t, source, len(stores)) {
			must(t, step(stores))
			if source.IntN(10) == 0 {
				must(t, stores[source.IntN(len(stores))].Fold())
			}
		}
		ask := func() (answers []string) {
			for i, f := range filters(at) {
				f.Limit = 3 + i%7
				if i%5 == 0 {
					f.Limit = 1000
				}
				answers = append(answers, fmt.Sprint(records(t, stores[i%3], f)))
			}
			return answers
		}
		before := ask()
		unfolded := 0
		for _, s := range stores {
			unfolded += s.Unfolded()
			must(t, s.Fold())
		}
		if unfolded == 0 {
			t.Errorf("seed %d: nothing was left to fold", seed)
		}
		if diff := cmp.Diff(ask(), before); diff != "" {
			t.Fatalf("seed %d, after and before the fold:\n%s", seed, diff)
		}
	}
}

// What an intent says of who called what, and when, is what a call is found by.
func TestACallIsFoundByWhatItsIntentSays(t *testing.T) {
	for _, folds := range []struct{ between, after bool }{{false, false}, {true, false}, {false, true}, {true, true}} {
		s := held(t, t.TempDir())
		r := record("acme")
		must(t, s.Intent(t.Context(), r))
		if folds.between {
			must(t, s.Fold())
		}
		last := ended(r)
		last.Agent, last.Server, last.Run, last.Tool, last.Time = "dev", "files", "run-1", "fetch", r.Time.Add(time.Minute)
		must(t, s.Final(t.Context(), last))
		if folds.after {
			must(t, s.Fold())
		}
		for _, f := range []audit.Filter{{Agent: "ci"}, {Server: "docs"}, {Tool: "fetch"}, {Outcome: call.Answered}, {Until: r.Time.Add(time.Second)}} {
			if got := records(t, s, f); len(got) != 1 || got[0].Agent != "dev" {
				t.Errorf("%+v, %+v: got %v, want the final", folds, f, got)
			}
		}
		for _, f := range []audit.Filter{{Agent: "dev"}, {Server: "files"}, {Run: "run-1"}, {Tool: "search"}, {Since: r.Time.Add(time.Second)}} {
			if got := records(t, s, f); len(got) != 0 {
				t.Errorf("%+v, %+v: got %v, want nothing", folds, f, got)
			}
		}
	}
}

// A page is full although some of its rows have been overtaken by a journal.
func TestAPageIsFullWhateverIsPending(t *testing.T) {
	s := held(t, t.TempDir())
	var want []string
	for i := range 4 {
		r := recordAt("acme", time.Now().Add(time.Duration(i-60)*time.Second))
		must(t, s.Final(t.Context(), ended(r)))
		want = append([]string{r.CallID}, want...)
	}
	var open []audit.Record
	for i := range 3 {
		r := recordAt("acme", time.Now().Add(time.Duration(i-30)*time.Second))
		must(t, s.Intent(t.Context(), r))
		open = append(open, r)
	}
	must(t, s.Fold())
	for _, r := range open {
		r.Tool = "fetch"
		must(t, s.Final(t.Context(), ended(r)))
	}
	got, cursor, err := s.Audit(t.Context(), audit.Filter{Tool: "search", Limit: 2})
	if err != nil || len(got) != 2 || got[0].CallID != want[0] || cursor != want[1] {
		t.Errorf("got %v, cursor %s and %v, want %v", got, cursor, err, want[:2])
	}
}

// Whoever is told that a record is written finds it, once, whatever is folded
// meanwhile, and in every process.
func TestAReaderMissesNothingAndSeesNothingTwice(t *testing.T) {
	const each = 60
	dir := t.TempDir()
	var wg sync.WaitGroup
	reader := open(t, dir)
	for w := range 3 {
		s := open(t, dir)
		s.Pause(0) // fold all the time
		wg.Go(func() {
			for i := range each {
				r := record("acme")
				r.Run = fmt.Sprint("run-", w)
				if err := s.Intent(context.Background(), r); err != nil {
					t.Error(err)
				}
				if i%2 == 0 {
					if err := s.Final(context.Background(), ended(r)); err != nil {
						t.Error(err)
					}
				}
				for _, from := range []*local.Store{s, reader} {
					seen(t, from, r.Run, i+1, i/2+1)
				}
			}
		})
	}
	wg.Wait()
}

// seen wants so many records of a run, each once, and at least so many finals.
func seen(t *testing.T, s *local.Store, run string, count, finals int) {
	t.Helper()
	got, _, err := s.Audit(context.Background(), audit.Filter{Run: run, Limit: audit.MaxPage})
	if err != nil {
		t.Error(err)
	}
	calls, whole := map[string]bool{}, 0
	for _, r := range got {
		calls[r.CallID] = true
		if r.State == audit.StateFinal {
			whole++
		}
	}
	if len(got) != count || len(calls) != count || whole != finals {
		t.Errorf("%s: got %d records of %d calls, %d of them final, want %d and %d", run, len(got), len(calls), whole, count, finals)
	}
}
