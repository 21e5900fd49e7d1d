package relay

import (
	"context"
	"log/slog"
	"sync/atomic"

	"mcprelay/shared/audit"
	"mcprelay/shared/call"
)

// refusals counts what leaves no record of its own.
type refusals struct {
	strangers atomic.Int64
	unwritten atomic.Int64
}

// Counts are the relay's counters since it was made.
type Counts struct {
	// Strangers is the number of refusals of unknown callers. They leave a
	// log line and no record: a flood of strangers must not cost writes.
	Strangers int64
	// Unwritten is the number of finals that only the log carries.
	Unwritten int64
}

// Counts reads the counters.
func (r *Relay) Counts() Counts {
	return Counts{Strangers: r.refused.strangers.Load(), Unwritten: r.refused.unwritten.Load()}
}

// Refuse ends a call before the pipeline: it leaves a final where the caller
// is known, and a log line and a count otherwise. The refusal comes back as an
// agent may see it.
func (r *Relay) Refuse(ctx context.Context, c call.Call, refusal *call.Refusal) *call.Refusal {
	switch refusal.Reason {
	case call.AuthUnavailable, call.SessionsUnavailable:
		r.complain(ctx, c.ID, refusal.Reason, refusal.Err, func(s string) string { return s })
	}
	if !c.Principal.Known() {
		r.refused.strangers.Add(1)
		r.Log.LogAttrs(ctx, slog.LevelInfo, "refused",
			slog.String("call_id", c.ID), slog.String("face", string(c.Face)),
			slog.String("reason", string(refusal.Reason)), slog.String("stage", string(refusal.Row().Stage)), slog.String("detail", refusal.Detail))
		return refusal
	}
	record := audit.Begin(c)
	record.Refuse(refusal)
	record.Finish(r.Now())
	r.write(ctx, record)
	return refusal
}
