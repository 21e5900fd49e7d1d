package exchange_test

import (
	"context"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
	"unsafe"

	"mcprelay/shared/call"
	"mcprelay/shared/exchange"
	"mcprelay/shared/session"
)

func opened(id string) session.State {
	return session.State{Era: session.Legacy, Version: "2025-11-25", SessionID: id}
}

// landing is what one caller of a flight got.
type landing struct {
	state   session.State
	refusal *call.Refusal
}

// fly has n callers wait for one opening that takes a second, and one lead it.
func fly(t *testing.T, n int, lost session.State, open func() (session.State, *call.Refusal)) (leader landing, rest []landing, openings int) {
	t.Helper()
	var f exchange.Flights
	var mu sync.Mutex
	counted := func() (session.State, *call.Refusal) {
		mu.Lock()
		openings++
		mu.Unlock()
		time.Sleep(time.Second) // of the test's own clock
		return open()
	}
	rest = make([]landing, n)
	var all sync.WaitGroup
	one := func(l *landing) {
		l.state, l.refusal = exchange.Do(&f, t.Context(), "k", lost, counted)
	}
	all.Go(func() { one(&leader) })
	synctest.Wait()
	for i := range rest {
		all.Go(func() { one(&rest[i]) })
	}
	all.Wait()
	return leader, rest, openings
}

func TestWaitersUseWhatTheLeaderOpened(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		leader, rest, openings := fly(t, 9, session.State{}, func() (session.State, *call.Refusal) { return opened("s"), nil })
		if openings != 1 || leader.state.SessionID != "s" {
			t.Errorf("want one opening, got %d", openings)
		}
		for _, l := range rest {
			if l.state.SessionID != "s" || l.refusal != nil {
				t.Errorf("a waiter got %+v", l)
			}
		}
	})
}

func TestFailureOfTheServerIsSharedByItsOwnCopy(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		leader, rest, openings := fly(t, 9, session.State{}, func() (session.State, *call.Refusal) {
			return session.State{}, call.Refuse(call.InitializeFailed, "no")
		})
		if openings != 1 {
			t.Errorf("a server that is down was asked %d times", openings)
		}
		seen := map[*call.Refusal]bool{leader.refusal: true}
		for _, l := range rest {
			if l.refusal == nil || l.refusal.Reason != call.InitializeFailed || seen[l.refusal] {
				t.Errorf("a waiter got %v", l.refusal)
			}
			seen[l.refusal] = true
		}
	})
}

func TestFailureOfTheLeaderAloneIsNotShared(t *testing.T) {
	for _, reason := range []call.Reason{call.Cancelled, call.OpenTimeout} {
		synctest.Test(t, func(t *testing.T) {
			failed := false
			leader, rest, openings := fly(t, 9, session.State{}, func() (session.State, *call.Refusal) {
				if !failed {
					failed = true
					return session.State{}, call.Refuse(reason, "")
				}
				return opened("s"), nil
			})
			if leader.refusal == nil || openings != 2 {
				t.Errorf("%s: want a second leader, got %d openings", reason, openings)
			}
			for _, l := range rest {
				if l.refusal != nil || l.state.SessionID != "s" {
					t.Errorf("%s: a waiter got %+v", reason, l)
				}
			}
		})
	}
}

func TestWaiterDoesNotTakeTheSessionItLost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := 0
		_, rest, openings := fly(t, 3, opened("s-1"), func() (session.State, *call.Refusal) {
			n++
			return opened(fmt.Sprintf("s-%d", n)), nil
		})
		if openings != 2 {
			t.Errorf("want a second opening, got %d", openings)
		}
		for _, l := range rest {
			if l.state.SessionID != "s-2" {
				t.Errorf("a waiter got %+v", l)
			}
		}
	})
}

func TestWaiterLeavesWithItsOwnContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var f exchange.Flights
		var all sync.WaitGroup
		all.Go(func() {
			exchange.Do(&f, t.Context(), "k", session.State{}, func() (session.State, *call.Refusal) {
				time.Sleep(time.Hour)
				return opened("s"), nil
			})
		})
		synctest.Wait()
		gone, cancel := context.WithCancel(t.Context())
		late, stop := context.WithTimeout(t.Context(), time.Second)
		defer stop()
		for ctx, want := range map[context.Context]call.Reason{gone: call.Cancelled, late: call.OpenTimeout} {
			all.Go(func() {
				_, refusal := exchange.Do(&f, ctx, "k", session.State{}, nil)
				if refusal == nil || refusal.Reason != want || refusal.MayHaveRun() != call.ImpactNone {
					t.Errorf("want %s, got %v", want, refusal)
				}
			})
		}
		synctest.Wait()
		cancel()
		all.Wait()
	})
}

func TestOtherKeysDoNotWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var f exchange.Flights
		begin := time.Now()
		var all sync.WaitGroup
		for i := range 8 {
			all.Go(func() {
				exchange.Do(&f, t.Context(), session.Key(fmt.Sprint(i)), session.State{}, func() (session.State, *call.Refusal) {
					time.Sleep(time.Second)
					return opened("s"), nil
				})
			})
		}
		all.Wait()
		if took := time.Since(begin); took != time.Second {
			t.Errorf("want 1s, took %v", took)
		}
	})
}

func TestDeathOfTheLeaderReleasesTheWaiters(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var f exchange.Flights
		var all sync.WaitGroup
		all.Go(func() {
			exchange.Do(&f, t.Context(), "k", session.State{}, func() (session.State, *call.Refusal) {
				time.Sleep(time.Second)
				runtime.Goexit()
				return session.State{}, nil
			})
		})
		synctest.Wait()
		_, refusal := exchange.Do(&f, t.Context(), "k", session.State{}, nil)
		if refusal == nil || refusal.Reason != call.Internal {
			t.Errorf("want internal, got %v", refusal)
		}
		all.Wait()
	})
}

func TestMemoryIsBoundedAndKeepsWhatIsUsed(t *testing.T) {
	var m exchange.Memory
	exchange.Set(&m, "used", opened("used"))
	for i := range 5 * exchange.MaxRemembered {
		exchange.Set(&m, session.Key(fmt.Sprint(i)), opened("s"))
		if i%1000 == 0 && exchange.Get(&m, "used").SessionID != "used" {
			t.Fatalf("what is used was forgotten after %d", i)
		}
	}
	kept := 0
	for i := range 5 * exchange.MaxRemembered {
		if exchange.Get(&m, session.Key(fmt.Sprint(i))).Era != "" {
			kept++
		}
	}
	if kept > 2*exchange.MaxRemembered || kept < exchange.MaxRemembered/2 {
		t.Errorf("%d states are kept", kept)
	}
	exchange.Set(&m, "used", opened("newer"))
	if got := exchange.Get(&m, "used").SessionID; got != "newer" {
		t.Errorf("want the newer state, got %s", got)
	}
	exchange.Drop(&m, "used")
	if exchange.Get(&m, "used").Era != "" {
		t.Error("a dropped state is remembered")
	}
}

// TestMemoryKeepsTheWordsOfAServerOnce: they are in each of its sessions, and as
// many times as large as the rest.
func TestMemoryKeepsTheWordsOfAServerOnce(t *testing.T) {
	var m exchange.Memory
	words := strings.Repeat("x", 4<<10)
	for _, key := range []session.Key{"a", "b"} {
		s := opened(string(key))
		s.Instructions = strings.Clone(words)
		exchange.Set(&m, key, s)
	}
	a, b := exchange.Get(&m, "a").Instructions, exchange.Get(&m, "b").Instructions
	if a != words || unsafe.StringData(a) != unsafe.StringData(b) {
		t.Errorf("%d bytes are kept twice", len(b))
	}
}
