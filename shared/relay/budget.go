package relay

import (
	"context"
	"errors"
	"sync"
	"time"

	"mcprelay/shared/call"
)

// The time budget of a call, in one place.
const (
	// OpenBudget bounds the opening of an upstream: handshakes and, for
	// legacy servers, initialize (FEATURES startup_timeout_ms).
	OpenBudget = 10 * time.Second
	// CallBudget bounds the exchange (FEATURES request_timeout_ms).
	CallBudget = 60 * time.Second
	// LevelBudget bounds the setting of a log level: with half a second in which a
	// server that does not answer is told that nobody waits, 2 s.
	LevelBudget = 1500 * time.Millisecond
	// RecordBudget bounds one write of the audit record. It runs detached
	// from the caller, who may be gone.
	RecordBudget = 3 * time.Second
	// Reserve is kept of the caller's own deadline for the final and the reply.
	Reserve = 1500 * time.Millisecond
	// LeastTime is what must be left for the exchange for it to be begun.
	LeastTime = 500 * time.Millisecond
)

// errCallBudget is the cause of a context that ended by the relay's own budget.
var errCallBudget = errors.New("call budget spent")

// withBudget bounds ctx by the call's budget: the server's request timeout, or
// the caller's deadline less [Reserve] where that comes first.
func withBudget(ctx context.Context, limit time.Duration) (context.Context, context.CancelFunc, *call.Refusal) {
	if limit <= 0 {
		limit = CallBudget
	}
	if deadline, ok := ctx.Deadline(); ok {
		left := time.Until(deadline) - Reserve // a context's clock is the real one
		if left < LeastTime {
			return ctx, func() {}, call.Refuse(call.NoTime, "%d ms left of the caller's deadline", (left + Reserve).Milliseconds())
		}
		limit = min(limit, left)
	}
	ctx, cancel := context.WithTimeoutCause(ctx, limit, errCallBudget)
	return ctx, cancel, nil
}

// budget bounds a call. An acquisition that another call waits for has what
// that one has left.
func (r *Relay) budget(ctx context.Context, p plan) (context.Context, context.CancelFunc, *call.Refusal) {
	if p.within {
		return ctx, func() {}, nil
	}
	limit := p.server.Limits.RequestTimeout
	if p.call.Operation == call.OperationSetLevel {
		limit = min(orElse(limit, LevelBudget), LevelBudget)
	}
	return withBudget(ctx, limit)
}

// timeFor reports whether the deadline of ctx leaves time for one more call.
func timeFor(ctx context.Context, now time.Time) bool {
	deadline, ok := ctx.Deadline()
	return !ok || deadline.Sub(now) >= Reserve+LeastTime
}

// detached gives the time to write one record, whatever became of the caller.
func detached(ctx context.Context) (context.Context, context.CancelFunc) {
	d := &recordContext{Context: context.WithoutCancel(ctx), deadline: time.Now().Add(RecordBudget)}
	return d, d.cancel
}

// recordContext is a context with a deadline whose timer is started only when
// somebody waits for it. A store in this process waits for nothing, and a timer
// that is nearer than all others wakes the network poller: 11 µs of a call.
type recordContext struct {
	context.Context // of the caller's values, never cancelled
	deadline        time.Time

	mu    sync.Mutex
	timed context.Context // nil until somebody waits
	stop  context.CancelFunc
}

// Deadline is when the budget is spent.
func (d *recordContext) Deadline() (time.Time, bool) { return d.deadline, true }

// Done starts the timer.
func (d *recordContext) Done() <-chan struct{} { return d.started().Done() }

// Err is nil until the budget is spent. It starts no timer.
func (d *recordContext) Err() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	switch {
	case d.timed != nil:
		return d.timed.Err()
	case time.Now().Before(d.deadline):
		return nil
	}
	return context.DeadlineExceeded
}

func (d *recordContext) started() context.Context {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.timed == nil {
		d.timed, d.stop = context.WithDeadline(d.Context, d.deadline)
	}
	return d.timed
}

func (d *recordContext) cancel() {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.stop != nil {
		d.stop()
	}
}
