package egress_test

import (
	"context"
	"errors"
	"net/netip"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"
	"unsafe"

	"mcprelay/shared/call"
	"mcprelay/shared/egress"
	"mcprelay/shared/endpoint"
	"mcprelay/test/fakedns"
)

// at parses an endpoint, those spelled as loopback and private names included.
func at(t testing.TB, s string) endpoint.URL {
	t.Helper()
	u, err := endpoint.Parse(s, endpoint.Options{Loopback: true, PrivateNames: true})
	if err != nil {
		t.Fatalf("parsing %s: %v", s, err)
	}
	return u
}

// guard makes a guard that ends with the test, and shows that the test leaves
// no goroutine of the package behind.
func guard(t testing.TB, c egress.Config) *egress.Guard {
	t.Helper()
	t.Cleanup(func() { noneLeft(t) })
	g := egress.New(c)
	t.Cleanup(func() { g.Close() })
	return g
}

// noneLeft waits until no goroutine runs code of the package. One that hangs
// ends the test by the test binary's timeout, with its stack.
func noneLeft(t testing.TB) {
	t.Helper()
	stacks := make([]byte, 1<<20)
	for deadline := time.Now().Add(10 * time.Second); ; runtime.Gosched() {
		all := string(stacks[:runtime.Stack(stacks, true)])
		left := 0
		for _, one := range strings.Split(all, "\n\n") {
			if strings.Contains(one, "mcprelay/shared/egress.") && !strings.Contains(one, "_test.go") {
				left++
			}
		}
		if left == 0 {
			return
		}
		if time.Now().After(deadline) {
			t.Errorf("want no goroutine of the package left, got %d:\n%s", left, all)
			return
		}
	}
}

// resolving makes a guard whose names are answered by the answers.
func resolving(t testing.TB, answers map[string]fakedns.Answer) (*egress.Guard, *fakedns.Server) {
	t.Helper()
	s := fakedns.Start(t, answers)
	return guard(t, egress.Config{Lookup: egress.NewLookup(s.Dial)}), s
}

// saying is a lookup that always gives these.
func saying(literals ...string) egress.Lookup {
	return func(context.Context, string) ([]netip.Addr, error) {
		return fakedns.Addrs(literals...).Addrs, nil
	}
}

// refused checks that err is a refusal for the reason and gives it back.
func refused(t testing.TB, err error, want call.Reason) *call.Refusal {
	t.Helper()
	var refusal *call.Refusal
	if !errors.As(err, &refusal) {
		t.Fatalf("want a refusal with %s, got %v", want, err)
	}
	if refusal.Reason != want {
		t.Fatalf("want %s, got %s (%s)", want, refusal.Reason, refusal.Detail)
	}
	return refusal
}

// clock is a clock that the test sets.
type clock struct {
	mu  sync.Mutex
	now time.Time
}

func newClock() *clock { return &clock{now: time.Now()} }

func (c *clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

// pass moves both readings of the clock.
func (c *clock) pass(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
}

// freeze moves the wall clock and leaves the monotonic one, as a process sees
// it that was frozen meanwhile. The time package has no way to write that.
func (c *clock) freeze(t testing.TB, d time.Duration) {
	t.Helper()
	c.mu.Lock()
	defer c.mu.Unlock()
	thawed := c.now
	// The first word of a time with a monotonic reading: one flag, 33 bits of
	// seconds, 30 bits of nanoseconds.
	*(*uint64)(unsafe.Pointer(&thawed)) += uint64(d/time.Second) << 30
	if thawed.Sub(c.now) != 0 || thawed.Round(0).Sub(c.now.Round(0)) != d {
		t.Fatal("the layout of time.Time changed: this helper cannot freeze a clock")
	}
	c.now = thawed
}
