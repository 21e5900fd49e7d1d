package relay

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"mcprelay/shared/call"
)

func TestTheBudgetIsTheServersOrTheCallersLessTheReserve(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, test := range []struct {
			name          string
			callers       time.Duration // 0: no deadline
			limit, budget time.Duration
			refused       bool
		}{
			{"the default", 0, 0, CallBudget, false},
			{"the server's", 0, 5 * time.Second, 5 * time.Second, false},
			{"the caller's is longer", time.Minute, 5 * time.Second, 5 * time.Second, false},
			{"the caller's is shorter", 4 * time.Second, 5 * time.Second, 4*time.Second - Reserve, false},
			{"just enough", Reserve + LeastTime, 0, LeastTime, false},
			{"too little", Reserve + LeastTime - 1, 0, 0, true},
		} {
			ctx := t.Context()
			if test.callers > 0 {
				var cancel context.CancelFunc
				ctx, cancel = context.WithTimeout(ctx, test.callers)
				defer cancel()
			}
			bounded, cancel, refusal := withBudget(ctx, test.limit)
			defer cancel()
			if test.refused {
				if refusal == nil || refusal.Reason != call.NoTime {
					t.Errorf("%s: got %v, want no_time", test.name, refusal)
				}
				continue
			}
			deadline, ok := bounded.Deadline()
			if refusal != nil || !ok || time.Until(deadline) != test.budget {
				t.Errorf("%s: got %v, %v, want %v", test.name, refusal, time.Until(deadline), test.budget)
			}
		}
	})
}

type keyOfTest struct{}

func TestARecordIsWrittenWithinItsBudgetWhoeverIsGone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		gone, leave := context.WithCancel(context.WithValue(t.Context(), keyOfTest{}, "value"))
		leave()
		ctx, cancel := detached(gone)
		if ctx.Err() != nil || ctx.Value(keyOfTest{}) != "value" {
			t.Errorf("a caller who left ends the record: %v", ctx.Err())
		}
		begun := time.Now()
		<-ctx.Done()
		if took := time.Since(begun); took != RecordBudget || !errors.Is(ctx.Err(), context.DeadlineExceeded) {
			t.Errorf("ended after %v with %v, want %v", took, ctx.Err(), RecordBudget)
		}
		cancel()
	})
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := detached(t.Context())
		time.Sleep(RecordBudget)
		if !errors.Is(ctx.Err(), context.DeadlineExceeded) {
			t.Errorf("nobody waited, and the spent budget is %v", ctx.Err())
		}
		cancel()
		ctx, cancel = detached(t.Context())
		done := ctx.Done()
		cancel()
		<-done
		if deadline, ok := ctx.Deadline(); !ok || time.Until(deadline) != RecordBudget {
			t.Errorf("deadline in %v, want %v", time.Until(deadline), RecordBudget)
		}
	})
}
