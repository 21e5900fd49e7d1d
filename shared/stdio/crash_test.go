package stdio_test

import (
	"context"
	"encoding/json"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"mcprelay/shared/call"
	"mcprelay/shared/stdio"
)

// TestAChildThatEndsBeforeItAnswersLeavesTheEffectUnknown: what was written is
// never written again.
func TestAChildThatEndsBeforeItAnswersLeavesTheEffectUnknown(t *testing.T) {
	p := newPool(t, nil)
	r := ask(scripted(script{}), "crash 3")
	r.Spec.Attempts = 3
	got, facts := refused(t, within(t), p, r)
	want(t, got, call.ProcessEnded, call.ImpactUnknown)
	if facts.Requests != 1 || facts.Session != stdio.SessionNew || !strings.Contains(got.Detail, "exit status 3") {
		t.Errorf("got %v and %+v, want one request and the exit status", got, facts)
	}
	dies(t, facts.PID)
	if got, want := methodsOf(t, p, r), "server/discover tools/call"; got != want {
		t.Errorf("the next child was sent %s, want %s", got, want)
	}
	if got := result(t, p, withTool(r, "echo")).Facts; got.Session != stdio.SessionReused || got.PID == facts.PID {
		t.Errorf("got %+v", got)
	}
}

func TestAChildThatIsKilledBetweenCallsIsReplacedUnnoticed(t *testing.T) {
	p := newPool(t, nil)
	r := ask(scripted(script{}), "echo")
	for range 5 {
		pid := factsOf(t, p, r).PID
		if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
			t.Fatal(err)
		}
		reaped(t, pid)
		if got := result(t, p, r).Facts; got.PID == pid || got.Requests != 1 {
			t.Errorf("after %d: %+v", pid, got)
		}
	}
}

func TestAStartThatFailsIsTriedAgainAsOftenAsTheSpecSays(t *testing.T) {
	tests := map[string]struct {
		attempts int
		good     int64 // the start that succeeds, 0 for none
		starts   int64
		took     time.Duration
	}{
		"none":             {-1, 0, 1, 0},
		"the default":      {0, 0, 2, 250 * time.Millisecond},
		"three":            {3, 0, 4, 1750 * time.Millisecond}, // 250 + 500 + 1000
		"until one is up":  {3, 2, 2, 250 * time.Millisecond},
		"the last is good": {2, 3, 3, 750 * time.Millisecond},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var starts atomic.Int64
				p := stdio.NewStaged(stdio.Config{}, func(*stdio.Spec) stdio.Actor {
					if starts.Add(1) == tt.good {
						return act(script{})
					}
					return nil
				})
				defer shut(t, p)
				began := time.Now()
				_, err := p.Call(t.Context(), ask(stdio.Spec{Attempts: tt.attempts}, "echo"))
				if tt.good == 0 {
					want(t, refusalOf(t, err), call.ProcessFailed, call.ImpactNone)
				} else if err != nil {
					t.Error(err)
				}
				if took := time.Since(began); starts.Load() != tt.starts || took != tt.took {
					t.Errorf("%d starts in %v, want %d in %v", starts.Load(), took, tt.starts, tt.took)
				}
			})
		})
	}
}

// TestACrashLoopIsSlowedDown calls a server that crashes at each call: the
// pauses double up to a bound, and one that is too long is not waited for.
func TestACrashLoopIsSlowedDown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, starts := staged(script{})
		defer shut(t, p)
		spec := stdio.Spec{Backoff: time.Second, Attempts: -1}
		for i, pause := range []time.Duration{0, time.Second, 2 * time.Second, 4 * time.Second, 8 * time.Second} {
			began := time.Now()
			got, _ := refused(t, context.Background(), p, ask(spec, "crash 1"))
			want(t, got, call.ProcessEnded, call.ImpactUnknown)
			if took := time.Since(began); took != pause {
				t.Errorf("call %d came after %v, want %v", i, took, pause)
			}
		}
		began := time.Now()
		got, _ := refused(t, context.Background(), p, ask(spec, "echo"))
		want(t, got, call.ProcessFailed, call.ImpactNone)
		if took := time.Since(began); took != 0 || got.RetryAfter != 16 || starts.Load() != 5 {
			t.Errorf("after %v and %d starts: retry after %d s, want 16", took, starts.Load(), got.RetryAfter)
		}
		time.Sleep(7 * time.Second)
		began = time.Now()
		result(t, p, ask(spec, "echo"))
		if took := time.Since(began); took != 9*time.Second {
			t.Errorf("it was started %v later, want 9 s", took)
		}
		// An answer ends the loop.
		refused(t, context.Background(), p, ask(spec, "crash 1"))
		began = time.Now()
		result(t, p, ask(spec, "echo"))
		if took := time.Since(began); took != time.Second {
			t.Errorf("it was started %v later, want 1 s", took)
		}
	})
}

func TestBackoffDoublesUpToItsBound(t *testing.T) {
	for failures, want := range []time.Duration{0, 250 * time.Millisecond, 500 * time.Millisecond, time.Second, 2 * time.Second} {
		if got := stdio.Backoff(250*time.Millisecond, failures); got != want {
			t.Errorf("after %d failures: got %v, want %v", failures, got, want)
		}
	}
	for _, failures := range []int{8, 64, 1 << 40} {
		if got := stdio.Backoff(250*time.Millisecond, failures); got != stdio.MaxBackoff {
			t.Errorf("after %d failures: got %v, want %v", failures, got, stdio.MaxBackoff)
		}
	}
	if got := stdio.Backoff(time.Hour, 1); got != stdio.MaxBackoff {
		t.Errorf("a long first pause: got %v, want %v", got, stdio.MaxBackoff)
	}
}

// TestAChildThatEndsWhileItIsIdleIsReplacedAtTheNextNeed, not before.
func TestAChildThatEndsWhileItIsIdleIsReplacedAtTheNextNeed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, starts := staged(script{})
		defer shut(t, p)
		result(t, p, ask(stdio.Spec{}, "last words"))
		time.Sleep(time.Hour)
		synctest.Wait()
		if got := starts.Load(); got != 1 {
			t.Errorf("%d starts while nobody asked, want 1", got)
		}
		if got := result(t, p, ask(stdio.Spec{}, "echo")).Facts; got.Session != stdio.SessionRenewed || starts.Load() != 2 {
			t.Errorf("%d starts: %+v", starts.Load(), got)
		}
	})
}

// TestAnAnswerCountsEvenIfItIsTheLastWord: what was written before the end is
// read to its end.
func TestAnAnswerCountsEvenIfItIsTheLastWord(t *testing.T) {
	p := newPool(t, nil)
	for range 20 {
		r := ask(scripted(script{}), "last words")
		got := result(t, p, r)
		if !strings.Contains(string(got.Result), "goodbye") {
			t.Fatalf("got %s", got.Result)
		}
		reaped(t, got.Facts.PID)
	}
}

// TestASlowSinkDoesNotLoseTheLastWords: the child is long gone when its answer
// is read.
func TestASlowSinkDoesNotLoseTheLastWords(t *testing.T) {
	p := newPool(t, nil)
	r := ask(scripted(script{}), "echo")
	pid := result(t, p, r).Facts.PID
	r.Tool, r.Meta = "last words", json.RawMessage(`{"progressToken":1}`)
	steps := 0
	r.Notify = func(string, json.RawMessage) {
		if steps++; steps == 1 {
			reaped(t, pid)
			<-time.After(2 * stdio.DrainTime)
		}
	}
	if got := result(t, p, r); !strings.Contains(string(got.Result), "goodbye") || steps != 3 {
		t.Errorf("got %s after %d steps", got.Result, steps)
	}
}

func TestKeysAreForgottenWhenThereAreManyWithoutAChild(t *testing.T) {
	p := newPool(t, nil)
	for i := range 2 * stdio.MaxSlots {
		r := ask(stdio.Spec{Command: "/nowhere", Args: []string{itoa(i)}, Attempts: -1}, "echo")
		r.Key = "key " + itoa(i)
		refused(t, within(t), p, r)
		if got := p.Slots(); got > stdio.MaxSlots {
			t.Fatalf("%d keys are remembered, want at most %d", got, stdio.MaxSlots)
		}
		if got, want := p.Pasts(), min(i+1, stdio.MaxPasts); got != want {
			t.Fatalf("%d failed Specs are remembered, want %d", got, want)
		}
	}
}
