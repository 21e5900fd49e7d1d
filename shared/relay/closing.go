package relay

import (
	"context"
	"errors"
	"time"

	"mcprelay/shared/audit"
	"mcprelay/shared/call"
	"mcprelay/shared/session"
)

const (
	// MaxSweep bounds the sessions that one sweep closes: at ten a second, what
	// a function that runs for a minute can do.
	MaxSweep = 600
	// InUse is how long after its expiry a session may still carry a call that
	// began before: the longest request_timeout_ms.
	InUse = 10 * time.Minute
	// MaxTries is how often closing a session is tried.
	MaxTries = 5
)

// Closed says what became of sessions that had to be closed.
type Closed struct {
	Closed int `json:"closed"` // ended at their servers
	Failed int `json:"failed"` // their servers could not be told
}

// CloseRun closes the upstream sessions and the child processes of a caller's
// run (c.Run). It leaves a record, and one more for each session. An unknown
// run has none.
func (r *Relay) CloseRun(ctx context.Context, c call.Call) (Closed, error) {
	caller := c.Principal
	entries, err := r.Open.SessionsOfRun(ctx, session.RunKey(caller.Tenant, caller.Domain(), caller.Subject, c.Run))
	if err != nil {
		return Closed{}, err
	}
	closed := r.closeAll(ctx, entries)
	if err := r.endProcesses(ctx, caller, c.Run); err != nil {
		return closed, err
	}
	record := audit.Begin(c)
	record.Items = closed.Closed
	record.Answer(call.OK)
	record.Finish(r.Now())
	r.write(ctx, record)
	return closed, nil
}

// CloseExpired closes sessions that nobody can be using any more, at most
// [MaxSweep].
func (r *Relay) CloseExpired(ctx context.Context) (Closed, error) {
	entries, err := r.Open.SessionsExpired(ctx, r.Now().Add(-InUse), MaxSweep)
	if err != nil {
		return Closed{}, err
	}
	return r.closeAll(ctx, entries), nil
}

func (r *Relay) closeAll(ctx context.Context, entries []session.Entry) Closed {
	var total Closed
	for _, entry := range entries {
		if ctx.Err() != nil || !timeFor(ctx, r.Now()) {
			return total // the next sweep finds the others
		}
		switch closed, err := r.close(ctx, entry); {
		case errors.Is(err, session.ErrConflict): // somebody else has it
		case closed:
			total.Closed++
		default:
			total.Failed++
		}
	}
	return total
}

// close ends one session. The state is taken out of use first and forgotten
// last, so that nobody uses a session that is being ended, and a process that
// dies between leaves it to the next sweep.
func (r *Relay) close(ctx context.Context, entry session.Entry) (bool, error) {
	s := entry.State
	now := r.Now()
	if s.Expires.After(now) {
		s.Expires = now
		taken, err := r.Sessions.Save(ctx, entry.Key, s)
		if err != nil {
			return false, err
		}
		entry.State = taken
	}
	answer, refusal := r.run(ctx, errand{call: r.closing(entry), session: &entry})
	answer.Settle()
	after := session.State{Ver: entry.State.Ver, Expires: now}
	if refusal != nil && later(refusal) && entry.State.Tries < MaxTries-1 {
		after = entry.State
		after.Tries++
	}
	_, err := r.Sessions.Save(ctx, entry.Key, after)
	return refusal == nil, err
}

// later reports whether a close failed for a reason that may pass. Any other is
// final: a server that cannot be told forgets its sessions by itself.
func later(refusal *call.Refusal) bool {
	switch refusal.Reason {
	case call.NoTime, call.Cancelled, call.PolicyUnavailable, call.AuditUnavailable, call.SecretUnavailable, call.TooManyInFlight,
		call.DNS, call.Connect, call.OpenTimeout, call.HeadTimeout, call.CallTimeout, call.ResetBeforeHead:
		return true
	}
	return refusal.Status >= 500
}

// closing is the call that ends a session, in the name of whose it is.
func (r *Relay) closing(entry session.Entry) call.Call {
	now, owner := r.Now(), entry.State.Owner
	kind, issuer := call.SplitDomain(owner.Kind)
	return call.Call{
		ID: r.NewID(now), At: now, Face: call.FaceInternal, Operation: call.OperationClose, Server: owner.Server, Run: owner.Run,
		Principal: call.Principal{Tenant: owner.Tenant, Subject: owner.Subject, Kind: kind, Issuer: issuer},
	}
}

// endProcesses ends the child processes of a run. They hold no stored session.
func (r *Relay) endProcesses(ctx context.Context, caller call.Principal, run string) error {
	if r.Processes == nil {
		return nil
	}
	tenant, err := r.Registry.Tenant(ctx, caller.Tenant)
	if err != nil {
		return err
	}
	for _, server := range tenant.Servers {
		if server.Process != nil {
			r.Processes.End(string(sessionKey(plan{errand: errand{call: call.Call{Principal: caller, Run: run}}, tenant: tenant, server: server, refs: server.References()})))
		}
	}
	return nil
}
