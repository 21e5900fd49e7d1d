package relay

import (
	"context"
	"time"

	"mcprelay/shared/audit"
	"mcprelay/shared/call"
	"mcprelay/shared/idempotency"
	"mcprelay/shared/wire"
)

// once runs a tools/call that has an Idempotency-Key at most once for its
// caller, its key and its request. A repeat gets what the first one came to,
// byte for byte, after what decides about a call was asked again; it leaves a
// record of its own, and nothing is sent. Any other call is run as it is.
//
// A call that provably did not run gives its key back. One whose outcome cannot
// be kept keeps the key: a repeat is told that the outcome is not known.
func (r *Relay) once(ctx context.Context, c call.Call, run func() (Answer, *call.Refusal)) (Answer, *call.Refusal) {
	if c.IdempotencyKey == "" || c.Operation != call.OperationToolsCall {
		return run()
	}
	key, mine := keyOf(c), r.claim(ctx, c)
	there, begun, refusal := r.beginKey(ctx, key, mine)
	switch {
	case refusal != nil:
		return r.unrun(ctx, c, audit.Begin(c), Answer{}, refusal)
	case !begun:
		return r.repeat(ctx, c, mine.Digest, there)
	}
	answer, refusal := run()
	r.endKey(ctx, key, mine, answer, refusal)
	return answer, refusal
}

// keyOf is where a call's outcome is kept. Each round of a call that was asked
// for input is one call of its own under the same key: the state that it gives
// back, which only the relay can have made for this very request, says which.
// A key holds no line break, so no other key comes to the same.
func keyOf(c call.Call) idempotency.Key {
	text := c.IdempotencyKey
	switch {
	case c.RequestState != "":
		text += "\n" + c.RequestState
	case c.InputResponses != nil: // to a question without a state
		text += "\n" + digest([]wire.Set{{Name: "inputResponses", Value: c.InputResponses}})
	}
	return idempotency.KeyOf(c.Principal.Tenant, c.Principal.Domain(), c.Principal.Subject, text)
}

// claim is the record of a call that is about to run. What the agent answers to
// a server's question is part of its request.
func (r *Relay) claim(ctx context.Context, c call.Call) idempotency.Record {
	now := r.Now()
	return idempotency.Record{
		Digest:  digest(append(asked(c), wire.Set{Name: "inputResponses", Value: c.InputResponses})),
		CallID:  c.ID,
		State:   idempotency.Running,
		Until:   now.Add(r.longest(ctx, c) + recordings*RecordBudget),
		Expires: now.Add(idempotency.Lifetime),
	}
}

// recordings is how many writes a call waits for beside its own budget: intent,
// final and outcome.
const recordings = 3

// longest is how long a call may take, as its server is registered. It may be
// too short where the registration changes: then a repeat is told too early
// that the outcome is not known, and nothing runs twice.
func (r *Relay) longest(ctx context.Context, c call.Call) time.Duration {
	limit := CallBudget
	if tenant, err := r.Registry.Tenant(ctx, c.Principal.Tenant); err == nil && tenant.Servers[c.Server] != nil {
		limit = orElse(tenant.Servers[c.Server].Limits.RequestTimeout, CallBudget)
	}
	if deadline, ok := ctx.Deadline(); ok {
		limit = min(limit, deadline.Sub(r.Now()))
	}
	return limit
}

// beginKey takes the key, or finds who has it. A write that failed may have
// been made all the same: the key is given back then, so that the caller can
// try again.
func (r *Relay) beginKey(ctx context.Context, key idempotency.Key, mine idempotency.Record) (idempotency.Record, bool, *call.Refusal) {
	if r.Keys == nil {
		return idempotency.Record{}, false, call.Refuse(call.IdempotencyUnavailable, "this relay keeps no keys")
	}
	bounded, cancel := detached(ctx)
	defer cancel()
	there, begun, err := r.Keys.BeginKey(bounded, key, mine)
	if err == nil {
		return there, begun, nil
	}
	r.complain(ctx, mine.CallID, call.IdempotencyUnavailable, err, plainly)
	release, stop := detached(ctx)
	defer stop()
	mine.State = ""
	_ = r.Keys.EndKey(release, key, mine) // what has failed already was said
	return there, false, &call.Refusal{Reason: call.IdempotencyUnavailable, Detail: "the key could not be taken", Err: err}
}

// endKey keeps what the call came to, or gives the key back where the call did
// not run.
func (r *Relay) endKey(ctx context.Context, key idempotency.Key, mine idempotency.Record, a Answer, refusal *call.Refusal) {
	mine.State = idempotency.Done
	if refusal != nil && refusal.MayHaveRun() == call.ImpactNone {
		mine.State = ""
	} else if kept := remember(a, refusal); len(kept) <= idempotency.MaxReply {
		mine.Reply = kept
	}
	bounded, cancel := detached(ctx)
	defer cancel()
	if err := r.Keys.EndKey(bounded, key, mine); err != nil {
		r.complain(ctx, mine.CallID, call.OutcomeUnknown, err, plainly) // of a repeat
	}
}

// repeat answers a call whose key is taken.
func (r *Relay) repeat(ctx context.Context, c call.Call, digest string, there idempotency.Record) (Answer, *call.Refusal) {
	record := audit.Begin(c)
	if there.Digest == digest {
		record.RepeatOf = there.CallID
	}
	if refusal := there.Judge(digest, r.Now()); refusal != nil {
		return r.unrun(ctx, c, record, Answer{}, refusal)
	}
	answer, refusal := recall(there.Reply)
	return r.unrun(ctx, c, record, answer, refusal)
}

// unrun ends a call that nothing is sent for. Whatever decides about a call is
// asked all the same, and nothing is counted: who may not make the call any more
// is not told what it came to. A turn that the first call spent allows its repeat.
func (r *Relay) unrun(ctx context.Context, c call.Call, record audit.Record, a Answer, refusal *call.Refusal) (Answer, *call.Refusal) {
	t := trail{record: record}
	p, denied := r.policy(ctx, errand{call: c, repeats: record.RepeatOf}, &t)
	if denied == nil {
		_, _, denied = r.allowed(ctx, &p, &t)
	}
	if denied != nil {
		a, refusal = Answer{}, denied
	}
	return r.final(ctx, t, p, a, refusal)
}

// plainly shows an error of a store as it is: no secret was read yet.
func plainly(text string) string { return text }
