package local_test

import (
	"context"
	"errors"
	"os"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"

	"mcprelay/shared/audit"
	"mcprelay/shared/store/local"
)

// gate lets a test decide when the disk has taken what was written.
type gate struct {
	began  chan struct{}
	result chan error
	rounds atomic.Int64
}

func gated(s *local.Store) *gate {
	g := &gate{began: make(chan struct{}, 100), result: make(chan error)}
	s.OnFlush(func(*os.File) error {
		g.rounds.Add(1)
		g.began <- struct{}{}
		return <-g.result
	})
	return g
}

func TestAnIntentWaitsForTheDiskAndAFinalDoesNot(t *testing.T) {
	s := held(t, t.TempDir())
	g := gated(s)
	done := make(chan error, 1)
	r := record("acme")
	go func() { done <- s.Intent(context.Background(), r) }()
	<-g.began
	must(t, s.Final(t.Context(), record("acme")))
	must(t, s.Final(t.Context(), ended(r)))
	select {
	case err := <-done:
		t.Errorf("the intent returned %v before the disk had it", err)
	default:
	}
	g.result <- nil
	must(t, <-done)
	if got := g.rounds.Load(); got != 1 {
		t.Errorf("the disk was waited for %d times, want once", got)
	}
}

func TestIntentsThatComeMeanwhileShareOneWait(t *testing.T) {
	const writers = 30
	s := held(t, t.TempDir())
	g := gated(s)
	var wg sync.WaitGroup
	intent := func() {
		if err := s.Intent(context.Background(), record("acme")); err != nil {
			t.Error(err)
		}
	}
	wg.Go(intent)
	<-g.began
	for range writers {
		wg.Go(intent)
	}
	for s.Unfolded() != writers+1 { // all are appended
		runtime.Gosched()
	}
	g.result <- nil
	<-g.began
	g.result <- nil
	wg.Wait()
	if got := g.rounds.Load(); got != 2 {
		t.Errorf("%d intents waited for the disk %d times, want 2", writers+1, got)
	}
}

func TestAnIntentStopsWaitingForAnothersRoundWithItsContext(t *testing.T) {
	s := held(t, t.TempDir())
	g := gated(s)
	leader := make(chan error, 1)
	go func() { leader <- s.Intent(context.Background(), record("acme")) }()
	<-g.began
	ctx, cancel := context.WithCancel(t.Context())
	follower := make(chan error, 1)
	go func() { follower <- s.Intent(ctx, record("acme")) }()
	for s.Unfolded() != 2 {
		runtime.Gosched()
	}
	cancel()
	if err := <-follower; !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want %v", err, context.Canceled)
	}
	g.result <- nil
	must(t, <-leader)
}

// After a failure the kernel no longer knows what it had to write.
func TestNoIntentIsAcknowledgedAfterTheDiskHasFailedOnce(t *testing.T) {
	s := held(t, t.TempDir())
	g := gated(s)
	broken := errors.New("input/output error")
	errs := make(chan error)
	go func() { errs <- s.Intent(context.Background(), record("acme")) }()
	<-g.began
	go func() { errs <- s.Intent(context.Background(), record("acme")) }()
	for s.Unfolded() != 2 {
		runtime.Gosched()
	}
	g.result <- broken
	for range 2 {
		if err := <-errs; !errors.Is(err, broken) {
			t.Errorf("got %v, want %v", err, broken)
		}
	}
	if err := s.Intent(t.Context(), record("acme")); !errors.Is(err, broken) || g.rounds.Load() != 1 {
		t.Errorf("later: got %v after %d rounds, want %v after one", err, g.rounds.Load(), broken)
	}
	must(t, s.Final(t.Context(), record("acme")))
}

func TestCloseWaitsForWhoeverWaitsForTheDisk(t *testing.T) {
	dir := t.TempDir()
	s, err := local.Open(dir)
	must(t, err)
	g := gated(s)
	intent, closed := make(chan error, 1), make(chan error, 1)
	go func() { intent <- s.Intent(context.Background(), record("acme")) }()
	<-g.began
	go func() { closed <- s.Close() }()
	for s.Final(t.Context(), record("acme")) == nil {
		continue // until Close has begun
	}
	for i := range 50 {
		must(t, put(s, i)) // the rest is still open
	}
	g.result <- nil
	must(t, <-intent)
	must(t, <-closed)
	if got := len(ids(t, open(t, dir), audit.Filter{})); got == 0 {
		t.Error("the intent is lost")
	}
}
