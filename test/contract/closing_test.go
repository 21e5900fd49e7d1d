package contract_test

import (
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"mcprelay/shared/call"
	"mcprelay/shared/session"
)

func closingChecks() []check {
	return []check{
		{"a session is found by its run until it is closed", nothing, sessionOfRun},
		{"sessions of a run are found in every shard, expired ones as well", nothing, sessionsOfRun},
		{"sessions of another run, caller or tenant stay out of a run", nothing, sessionsOfOtherRuns},
		{"what cannot be closed is in no run", nothing, nothingToCloseInRun},
		{"the sessions of a run are bounded", concurrency, runBound},
		{"an expired session is found until it is closed", nothing, expiredUntilClosed},
		{"expired sessions come oldest first and no more than asked for", nothing, expiredInOrder},
		{"a session is expired at its time and not before", nothing, expiredAtItsTime},
		{"what cannot be closed never expires into the list", nothing, nothingToCloseExpired},
		{"a session that nobody closed in time is given up", nothing, givenUp},
		{"a session being closed is not loaded and still found", nothing, beingClosed},
		{"a session is not blanked by whoever holds an older one", nothing, blankedByOlder},
		{"an expired session that gave way to a new one can still be closed", nothing, gaveWay},
		{"one of many that replace an expired session wins, and it can still be closed once", concurrency, gaveWayInRace},
	}
}

// owner is of a run that no other check has.
func owner() session.Owner {
	return session.Owner{Tenant: newTenant(), Server: "docs", Subject: "ci", Kind: string(call.KindServiceToken), Run: "run-1"}
}

// openedBy is a live session of an owner.
func openedBy(o session.Owner) session.State {
	state := opened()
	state.Owner = o
	return state
}

func sessionsOf(t *testing.T, s store, o session.Owner) []session.Entry {
	t.Helper()
	entries, err := s.SessionsOfRun(t.Context(), session.RunKey(o.Tenant, o.Kind, o.Subject, o.Run))
	must(t, err)
	return entries
}

func wantEntries(t *testing.T, got []session.Entry, want ...session.Entry) {
	t.Helper()
	if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" {
		t.Errorf("sessions (-want +got):\n%s", diff)
	}
}

func blank(t *testing.T, s store, e session.Entry) {
	t.Helper()
	save(t, s, e.Key, session.State{Ver: e.State.Ver, Expires: now()})
}

func sessionOfRun(t *testing.T, p peer, s store) {
	o, key := owner(), newKey()
	entry := session.Entry{Key: key, State: save(t, s, key, openedBy(o))}
	wantEntries(t, sessionsOf(t, p.open(t), o), entry)
	next := entry.State
	next.SessionID = "renewed"
	entry.State = save(t, s, key, next)
	wantEntries(t, sessionsOf(t, s, o), entry)
	blank(t, s, entry)
	wantEntries(t, sessionsOf(t, s, o))
}

func sessionsOfRun(t *testing.T, _ peer, s store) {
	o := owner()
	var want []session.Entry
	for i := range 20 {
		state, key := openedBy(o), newKey()
		state.SessionID = fmt.Sprint("session-", i)
		state.Expires = state.Expires.Add(time.Duration(i-10) * time.Hour)
		want = append(want, session.Entry{Key: key, State: save(t, s, key, state)})
	}
	wantEntries(t, sessionsOf(t, s, o), want...)
}

func sessionsOfOtherRuns(t *testing.T, _ peer, s store) {
	o, key := owner(), newKey()
	entry := session.Entry{Key: key, State: save(t, s, key, openedBy(o))}
	for name, change := range map[string]func(*session.Owner){
		"run":     func(o *session.Owner) { o.Run = "run-1#0" },
		"caller":  func(o *session.Owner) { o.Subject = "somebody else" },
		"kind":    func(o *session.Owner) { o.Kind = string(call.KindUser) },
		"tenant":  func(o *session.Owner) { o.Tenant = newTenant() },
		"nothing": func(o *session.Owner) { o.Run = "" },
	} {
		other := o
		change(&other)
		save(t, s, newKey(), openedBy(other))
		if got := sessionsOf(t, s, other); slices.ContainsFunc(got, func(e session.Entry) bool { return e.Key == key }) {
			t.Errorf("of another %s: got the session as well", name)
		}
	}
	wantEntries(t, sessionsOf(t, s, o), entry)
}

func nothingToCloseInRun(t *testing.T, _ peer, s store) {
	o := owner()
	noID := openedBy(o)
	noID.SessionID = ""
	save(t, s, newKey(), noID)
	wantEntries(t, sessionsOf(t, s, o))
	save(t, s, newKey(), opened()) // of no run
	entries, err := s.SessionsOfRun(t.Context(), "")
	must(t, err)
	wantEntries(t, entries)
}

func runBound(t *testing.T, _ peer, s store) {
	o := owner()
	const sessions, writers = 1010, 16
	var wg sync.WaitGroup
	for w := range writers {
		wg.Go(func() {
			for i := w; i < sessions; i += writers {
				if _, err := s.Save(t.Context(), newKey(), openedBy(o)); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	if got := len(sessionsOf(t, s, o)); got != 1000 {
		t.Errorf("got %d sessions of %d, want 1000", got, sessions)
	}
}

// window is a time in the past that few other checks' sessions expire before,
// and that is still within the grace.
func window() time.Time {
	return now().Add(-session.ClosingGrace + 2*time.Hour).Truncate(time.Second)
}

// expired are the sessions of an owner that expired by a time.
func expired(t *testing.T, s store, o session.Owner, before time.Time) []session.Entry {
	t.Helper()
	entries, err := s.SessionsExpired(t.Context(), before, 1000)
	must(t, err)
	return slices.DeleteFunc(entries, func(e session.Entry) bool { return e.State.Owner != o })
}

func expiredUntilClosed(t *testing.T, p peer, s store) {
	o, key, state := owner(), newKey(), opened()
	state.Owner, state.Expires = o, window()
	entry := session.Entry{Key: key, State: save(t, s, key, state)}
	wantEntries(t, expired(t, p.open(t), o, window()), entry)
	blank(t, s, entry)
	wantEntries(t, expired(t, s, o, window().Add(time.Second)))
}

func expiredInOrder(t *testing.T, _ peer, s store) {
	o := owner()
	o.Run = "" // an expiry is everybody's, of a run or not
	base := now().Add(-session.ClosingGrace + 30*time.Minute).Truncate(time.Second)
	var want []session.Entry
	for i := range 12 {
		state, key := openedBy(o), newKey()
		state.Expires = base.Add(time.Duration(i) * time.Second)
		want = append(want, session.Entry{Key: key, State: save(t, s, key, state)})
	}
	for _, limit := range []int{0, -1, 1, 5, 12, 5000} {
		got, err := s.SessionsExpired(t.Context(), base.Add(time.Minute), limit)
		must(t, err)
		wantEntries(t, got, want[:max(0, min(limit, len(want)))]...)
	}
	wantEntries(t, expired(t, s, o, base.Add(3*time.Second)), want[:4]...)
	for _, e := range want {
		blank(t, s, e)
	}
}

func expiredAtItsTime(t *testing.T, _ peer, s store) {
	o, key, state := owner(), newKey(), opened()
	state.Owner, state.Expires = o, window().Add(500*time.Millisecond)
	entry := session.Entry{Key: key, State: save(t, s, key, state)}
	wantEntries(t, expired(t, s, o, state.Expires.Add(-time.Millisecond)))
	wantEntries(t, expired(t, s, o, state.Expires), entry)
	live := openedBy(o)
	save(t, s, newKey(), live)
	wantEntries(t, expired(t, s, o, now()), entry)
	// Long before anything that can still be closed.
	wantEntries(t, expired(t, s, o, now().Add(-30*session.ClosingGrace)))
}

func nothingToCloseExpired(t *testing.T, _ peer, s store) {
	o := owner()
	verdict := openedBy(o)
	verdict.SessionID, verdict.Expires = "", window()
	save(t, s, newKey(), verdict)
	wantEntries(t, expired(t, s, o, now()))
}

func givenUp(t *testing.T, _ peer, s store) {
	o, state := owner(), opened()
	state.Owner, state.Expires = o, now().Add(-session.ClosingGrace-time.Second)
	key := newKey()
	save(t, s, key, state)
	wantEntries(t, expired(t, s, o, now()))
	wantEntries(t, sessionsOf(t, s, o))
	save(t, s, key, opened()) // nothing is kept beside it
	wantEntries(t, expired(t, s, o, now()))
}

func beingClosed(t *testing.T, _ peer, s store) {
	o, key := owner(), newKey()
	live := save(t, s, key, openedBy(o))
	ended := live
	ended.Expires = now()
	entry := session.Entry{Key: key, State: save(t, s, key, ended)}
	if got := load(t, s, key); got != (session.State{}) {
		t.Errorf("got %+v, want the zero state", got)
	}
	wantEntries(t, expired(t, s, o, now().Add(time.Second)), entry)
	wantEntries(t, sessionsOf(t, s, o), entry)
	_, err := s.Save(t.Context(), key, live)
	wantErr(t, err, session.ErrConflict)
}

func blankedByOlder(t *testing.T, _ peer, s store) {
	o, key := owner(), newKey()
	old := save(t, s, key, openedBy(o))
	renewed := old
	renewed.SessionID = "renewed"
	entry := session.Entry{Key: key, State: save(t, s, key, renewed)}
	_, err := s.Save(t.Context(), key, session.State{Ver: old.Ver, Expires: now()})
	wantErr(t, err, session.ErrConflict)
	wantEntries(t, sessionsOf(t, s, o), entry)
}

func gaveWay(t *testing.T, _ peer, s store) {
	o, key, state := owner(), newKey(), opened()
	state.Owner, state.SessionID, state.Expires = o, "old", window()
	old := save(t, s, key, state)
	state = openedBy(o)
	fresh := save(t, s, key, state)
	if got := load(t, s, key); got != fresh {
		t.Errorf("got %+v, want the new session %+v", got, fresh)
	}
	left := expired(t, s, o, now())
	wantAside(t, left, key, old)
	if got := sessionsOf(t, s, o); len(got) != 2 {
		t.Errorf("the run has %d sessions, want both", len(got))
	}
	closing := left[0]
	closing.State.Expires = closing.State.Expires.Add(time.Second)
	closing.State = save(t, s, key, closing.State) // whoever closes it may say so first
	wantEntries(t, expired(t, s, o, now()), closing)
	blank(t, s, closing)
	wantEntries(t, expired(t, s, o, now()))
	wantEntries(t, sessionsOf(t, s, o), session.Entry{Key: key, State: fresh})
	_, err := s.Save(t.Context(), key, session.State{Ver: closing.State.Ver, Expires: now()})
	wantErr(t, err, session.ErrConflict)
	if got := load(t, s, key); got != fresh {
		t.Errorf("got %+v, want the new session %+v", got, fresh)
	}
}

// wantAside wants one session to be closed: what was stored under a key, and is
// not the state of that key any more.
func wantAside(t *testing.T, got []session.Entry, key session.Key, old session.State) {
	t.Helper()
	if len(got) != 1 || got[0].Key != key || got[0].State.Ver == old.Ver {
		t.Fatalf("got %+v, want one of %s with a version of its own", got, key)
	}
	wantState(t, got[0].State, old)
}

func gaveWayInRace(t *testing.T, _ peer, s store) {
	o, key, state := owner(), newKey(), opened()
	state.Owner, state.SessionID, state.Expires = o, "old", window()
	old := save(t, s, key, state)
	winners := race(t, racers, session.ErrConflict, func(i int) error {
		fresh := openedBy(o)
		fresh.SessionID = fmt.Sprint("fresh-", i)
		_, err := s.Save(t.Context(), key, fresh)
		return err
	})
	if winners != 1 {
		t.Errorf("got %d winners, want 1", winners)
	}
	wantAside(t, expired(t, s, o, now()), key, old)
}
