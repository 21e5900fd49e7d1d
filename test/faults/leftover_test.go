package faults_test

import (
	"fmt"
	"os"
	"runtime"
	"runtime/debug"
	"runtime/pprof"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"mcprelay/test/hostile"
	"mcprelay/test/invariant"
)

const (
	// mixed is how many faults one process meets, and mixers by how many agents
	// of each server at once.
	mixed  = 1000
	mixers = 8
	// settling bounds the wait for sockets and goroutines that are ending; it
	// passes only where the test fails.
	settling = 20 * time.Second
)

// kept is what a process holds. Of files, those of the store are not counted:
// it opens as many as it has readers at once, up to a bound of its own.
type kept struct{ goroutines, files int }

func holds(t *testing.T) kept {
	t.Helper()
	now := kept{goroutines: runtime.NumGoroutine()}
	files, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		// What has been closed by now has no link any more.
		if link, err := os.Readlink("/proc/self/fd/" + file.Name()); err == nil && !strings.Contains(link, "relay.db") {
			now.files++
		}
	}
	return now
}

// within reports whether k is no more than other.
func (k kept) within(other kept) bool {
	return k.goroutines <= other.goroutines && k.files <= other.files
}

// settle waits until no more is held than before.
func settle(t *testing.T, before kept) {
	t.Helper()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	late := time.After(settling)
	for now := holds(t); !now.within(before); now = holds(t) {
		select {
		case <-tick.C:
		case <-late:
			var stacks strings.Builder
			_ = pprof.Lookup("goroutine").WriteTo(&stacks, 1)
			t.Fatalf("%d goroutines and %d files are left, %d and %d were there before\n%s",
				now.goroutines, now.files, before.goroutines, before.files, stacks.String())
		}
	}
}

// Invariant I7, and the others over all that happened. The servers and the
// agents live in this process too: what either side of a connection leaves is
// seen.
func TestNothingIsLeftOfAThousandFaults(t *testing.T) {
	k := newStage(t)
	var sides []*side
	for _, era := range []hostile.Era{hostile.Modern, hostile.Legacy} {
		s := k.warm(t, era, hostile.Setup{})
		sides = append(sides, &side{scene: s.again(hostile.Keys{"request_timeout_ms": short.Milliseconds(), "max_result_bytes": bound})})
	}
	together := func() {
		for _, s := range sides {
			s.together()
		}
	}
	together()
	before := holds(t)
	// Each fault once, without the collector: it closes what was forgotten.
	percent := debug.SetGCPercent(-1)
	defer debug.SetGCPercent(percent)
	meetAll(sides, 2*len(hostile.Modes()))
	together()
	settle(t, before)
	debug.SetGCPercent(percent)
	meetAll(sides, mixed)
	together()
	settle(t, before)
	now := holds(t)
	t.Logf("%d faults, %d at once: %d goroutines and %d files, %d and %d before", mixed, 2*mixers, now.goroutines, now.files, before.goroutines, before.files)
	for _, s := range sides {
		if got := s.up.Calls(); got < mixed/2 {
			t.Errorf("%d calls reached the %s server, want %d and more", got, s.up.Era(), mixed/2)
		}
		s.check()
	}
}

// meetAll lets n calls meet every fault in turn, half of them at each side.
func meetAll(sides []*side, n int) {
	modes := hostile.Modes()
	var asking sync.WaitGroup
	for _, s := range sides {
		var met atomic.Int64
		s.on(func(c *hostile.Conn, r hostile.Request) { modes[int(met.Add(1))%len(modes)].Script(c, r) })
		for mixer := range mixers {
			asking.Go(func() {
				for i := mixer; i < n/2; i += mixers {
					s.meet(i)
				}
			})
		}
	}
	asking.Wait()
}

// side is a server with a relay in front of it, asked by many at once.
type side struct {
	*scene
	mu sync.Mutex
}

// add keeps a reply for the invariants.
func (s *side) add(reply hostile.Reply, a hostile.Ask, whole string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	made := invariant.Call{Header: fmt.Sprint(reply.Header), Body: reply.Body, Whole: whole}
	if !a.Plain {
		made.ID = "1"
	}
	s.calls = append(s.calls, made)
}

// meet asks for the n-th fault. None is an answer.
func (s *side) meet(n int) {
	ask := hostile.Ask{Plain: n%2 == 0, Tool: []string{"echo", "look", "change"}[n%3]}
	s.add(s.relay.Ask(s.t.Context(), s.t, ask), ask, "")
}

// together makes honest calls that are all under way at one time, so that every
// agent has a connection to the relay, and the relay as many to the server.
func (s *side) together() {
	s.t.Helper()
	all, arrived := make(chan struct{}), atomic.Int64{}
	s.on(func(c *hostile.Conn, r hostile.Request) {
		if arrived.Add(1) == mixers {
			close(all)
		}
		select {
		case <-all:
			s.up.Honest(c, r)
		case <-time.After(settling):
		}
	})
	var asking sync.WaitGroup
	for range mixers {
		asking.Go(func() {
			reply := s.relay.Ask(s.t.Context(), s.t, hostile.Ask{})
			s.add(reply, hostile.Ask{}, s.echoed(hostile.Ask{}))
		})
	}
	asking.Wait()
}
