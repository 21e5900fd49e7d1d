package stdio_test

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"mcprelay/shared/call"
	"mcprelay/shared/stdio"
)

// dead makes a pool none of whose children starts, and counts the tries.
func dead() (*stdio.Pool, *atomic.Int64) {
	var starts atomic.Int64
	return stdio.NewStaged(stdio.Config{}, func(*stdio.Spec) stdio.Actor {
		starts.Add(1)
		return nil
	}), &starts
}

// keyed is a request with a key of its own.
func keyed(spec stdio.Spec, i int, tool string) stdio.Request {
	r := ask(spec, tool)
	r.Key = "run " + itoa(i)
	return r
}

// TestADeadServerIsNotStartedForEachRun: a run is another key, and the server
// is the same.
func TestADeadServerIsNotStartedForEachRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, starts := dead()
		defer shut(t, p)
		began := time.Now()
		for i := range 30 {
			got, _ := refused(t, context.Background(), p, keyed(stdio.Spec{Attempts: -1, Backoff: 5 * time.Second}, i, "echo"))
			want(t, got, call.ProcessFailed, call.ImpactNone)
			if i >= 3 && got.RetryAfter != 20 {
				t.Errorf("run %d is to come back after %d s, want 20", i, got.RetryAfter)
			}
		}
		if took := time.Since(began); starts.Load() != 3 || took != 15*time.Second {
			t.Errorf("%d starts in %v, want 3 in 15 s", starts.Load(), took)
		}
		// Another server is none of that.
		refused(t, context.Background(), p, keyed(stdio.Spec{Args: []string{"other"}, Attempts: -1}, 0, "echo"))
		if took := time.Since(began); starts.Load() != 4 || took != 15*time.Second {
			t.Errorf("%d starts in %v with another server, want 4", starts.Load(), took)
		}
	})
}

// TestADeadServerIsNotStartedByEverybodyAtOnce: while it may live, as many are
// started as there are places, and they count as one failure; after that it is
// one at a time.
func TestADeadServerIsNotStartedByEverybodyAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, starts := staged(script{Era: "legacy", Stuck: initialize})
		defer shut(t, p)
		began := time.Now()
		var wg sync.WaitGroup
		for i := range 30 {
			wg.Go(func() {
				ctx, cancel := context.WithTimeout(context.Background(), 6*time.Second)
				defer cancel()
				_, err := p.Call(ctx, keyed(stdio.Spec{Attempts: -1, Backoff: time.Second, Startup: 2 * time.Second, Close: time.Nanosecond}, i, "echo"))
				if got := refusalOf(t, err); got.MayHaveRun() != call.ImpactNone {
					t.Errorf("run %d: got %v", i, got)
				}
			})
		}
		for _, at := range []struct {
			time   time.Duration
			starts int64
		}{{time.Millisecond, stdio.MaxChildren}, {2900 * time.Millisecond, stdio.MaxChildren}, {3100 * time.Millisecond, stdio.MaxChildren + 1}, {5900 * time.Millisecond, stdio.MaxChildren + 1}} {
			time.Sleep(at.time - time.Since(began))
			synctest.Wait()
			if got := starts.Load(); got != at.starts {
				t.Errorf("after %v: %d starts, want %d", at.time, got, at.starts)
			}
		}
		wg.Wait()
	})
}

// TestAServerThatStartsAgainServesAllWhoWaited as soon as one child can be
// asked.
func TestAServerThatStartsAgainServesAllWhoWaited(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, starts := staged(script{Dies: 1}, script{Era: "mute"})
		defer shut(t, p)
		spec := stdio.Spec{Attempts: -1, Backoff: time.Second}
		refused(t, context.Background(), p, keyed(spec, 0, "echo"))
		began, before := time.Now(), starts.Load()
		var wg sync.WaitGroup
		for i := range stdio.MaxChildren {
			wg.Go(func() { result(t, p, keyed(spec, i, "echo")) })
		}
		time.Sleep(2 * time.Second) // the pause, and a part of a start
		synctest.Wait()
		if got := starts.Load() - before; got != 1 {
			t.Errorf("%d children are tried, want 1", got)
		}
		wg.Wait()
		if took := time.Since(began); starts.Load()-before != stdio.MaxChildren || took > time.Second+2*stdio.ProbeTime {
			t.Errorf("%d children after %v", starts.Load()-before, took)
		}
	})
}

// TestOnlyAnAnswerSinceTheFailureEndsThePauses: a child from before says
// nothing of what is started now.
func TestOnlyAnAnswerSinceTheFailureEndsThePauses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, _ := staged(script{})
		defer shut(t, p)
		spec := stdio.Spec{Attempts: -1, Backoff: time.Second}
		old := keyed(spec, 0, "echo")
		result(t, p, old)
		for i, pause := range []time.Duration{0, time.Second, 2 * time.Second, 4 * time.Second} {
			began := time.Now()
			refused(t, context.Background(), p, keyed(spec, 1, "crash 1"))
			if took := time.Since(began); took != pause {
				t.Errorf("crash %d came after %v, want %v", i, took, pause)
			}
			result(t, p, old)
		}
		// The end of the old child, which was started before, is no failure more.
		refused(t, context.Background(), p, withTool(old, "crash 1"))
		for i, pause := range []time.Duration{8 * time.Second, 0} {
			began := time.Now()
			result(t, p, keyed(spec, 1+i, "echo"))
			if took := time.Since(began); took != pause {
				t.Errorf("a good call came after %v, want %v", took, pause)
			}
		}
	})
}

// TestFailuresAreForgottenInTime: the next one is the first again.
func TestFailuresAreForgottenInTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, starts := dead()
		defer shut(t, p)
		spec := stdio.Spec{Attempts: -1, Backoff: time.Second}
		for i := range 3 {
			refused(t, context.Background(), p, keyed(spec, i, "echo"))
		}
		time.Sleep(4*time.Second + stdio.ForgetTime)
		for _, pause := range []time.Duration{0, time.Second} {
			began := time.Now()
			refused(t, context.Background(), p, keyed(spec, 4, "echo"))
			if took := time.Since(began); took != pause {
				t.Errorf("start %d came after %v, want %v", starts.Load(), took, pause)
			}
		}
	})
}

// TestAnEndedKeyKeepsNobodyWaitingForAStart, nor does a pool that is closed.
func TestAnEndedKeyKeepsNobodyWaitingForAStart(t *testing.T) {
	for name, end := range map[string]func(*stdio.Pool){
		"key":  func(p *stdio.Pool) { p.End("run 1") },
		"pool": func(p *stdio.Pool) { _ = p.Close(context.Background()) },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p, _ := dead()
				defer shut(t, p)
				spec := stdio.Spec{Attempts: -1, Backoff: 5 * time.Second}
				refused(t, context.Background(), p, keyed(spec, 0, "echo"))
				time.AfterFunc(time.Second, func() { end(p) })
				began := time.Now()
				got, _ := refused(t, context.Background(), p, keyed(spec, 1, "echo"))
				want(t, got, call.ProcessFailed, call.ImpactNone)
				if took := time.Since(began); took != time.Second {
					t.Errorf("it waited %v, want 1 s", took)
				}
			})
		})
	}
}

// TestAServerThatDiscoverHarmedIsKnownToEveryRun: each saves the start that it
// would lose.
func TestAServerThatDiscoverHarmedIsKnownToEveryRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, starts := staged(script{Era: "shy"})
		defer shut(t, p)
		for i := range 4 {
			result(t, p, keyed(stdio.Spec{}, i, "echo"))
		}
		if got := starts.Load(); got != 5 {
			t.Errorf("%d starts for 4 runs, want 5", got)
		}
	})
}
