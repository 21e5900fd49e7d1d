// Package relay is the one pipeline of a call: policy, intent, secret,
// egress, exchange, redact, final.
//
// It promises that nothing is sent before it was allowed and recorded, that
// every call of a known caller leaves one record that says how it ended, and
// that no secret the call used leaves with the reply. It refuses whatever it
// cannot decide, record or address; a doubt is a refusal.
package relay

import (
	"context"
	"log/slog"
	"time"

	"mcprelay/shared/audit"
	"mcprelay/shared/call"
	"mcprelay/shared/egress"
	"mcprelay/shared/exchange"
	"mcprelay/shared/redact"
	"mcprelay/shared/registry"
	"mcprelay/shared/secret"
)

// Registry gives a tenant's checked registration. It may answer from memory
// for at most 15 s.
type Registry interface {
	Tenant(ctx context.Context, id string) (*registry.Tenant, error)
}

// Recorder keeps audit records. Both methods return when the record is durable.
type Recorder interface {
	// Intent inserts a record whose call has not ended.
	Intent(ctx context.Context, r audit.Record) error
	// Final inserts a record, or completes the intent of the same call.
	Final(ctx context.Context, r audit.Record) error
}

// Config is what a relay is made of. Every field must be set.
type Config struct {
	Registry Registry
	Secrets  *secret.Cache
	Guard    *egress.Guard
	Exchange *exchange.Exchange
	Recorder Recorder
	Lines    *audit.Log   // of the canonical lines
	Log      *slog.Logger // of what failed inside the relay
	Now      func() time.Time
}

// Relay runs calls. It keeps nothing of a call after it ended.
type Relay struct {
	Config
	refused refusals
	maskers redact.Maskers
}

// New makes a relay.
func New(c Config) *Relay { return &Relay{Config: c} }

// Run takes one call through the pipeline. It returns the answer, or a
// refusal; the call's final is recorded either way. The caller must call
// Answer.Settle after the reply's last byte.
func (r *Relay) Run(ctx context.Context, c call.Call) (Answer, *call.Refusal) {
	t := trail{record: audit.Begin(c)}
	p, refusal := r.policy(ctx, c, &t)
	if refusal != nil {
		return r.final(ctx, t, p, Answer{}, refusal)
	}
	bounded, cancel, refusal := withBudget(ctx, r.Now(), p.server.Limits.RequestTimeout)
	defer cancel()
	if refusal != nil {
		return r.final(ctx, t, p, Answer{}, refusal)
	}
	answer, refusal := r.guarded(bounded, p, &t)
	answer = redacted(answer, &t)
	return r.final(ctx, t, p, answer, refusal)
}

// guarded makes a panic a refusal, so that the call has its final all the same.
// Its value stays here: it may hold anything.
func (r *Relay) guarded(ctx context.Context, p plan, t *trail) (answer Answer, refusal *call.Refusal) {
	defer func() {
		if value := recover(); value != nil {
			answer, refusal = Answer{}, call.Refuse(call.Internal, "a panic of type %T", value)
		}
	}()
	return r.attempt(ctx, p, t)
}

// attempt is the part of the pipeline that the time budget bounds.
func (r *Relay) attempt(ctx context.Context, p plan, t *trail) (Answer, *call.Refusal) {
	if refusal := r.intent(ctx, p, t); refusal != nil {
		return Answer{}, refusal
	}
	binding, refusal := r.secret(ctx, p, t)
	if refusal != nil {
		return Answer{}, refusal
	}
	route, refusal := r.egress(ctx, p, t)
	if refusal != nil {
		return Answer{}, refusal
	}
	return r.exchange(ctx, p, binding, route, t)
}

// Acquire reads a server's tools through the same pipeline as a call, about
// "discover". The tools are those registered, not those a caller may use.
func (r *Relay) Acquire(ctx context.Context, c call.Call) (Answer, *call.Refusal) {
	c.Operation, c.Tool, c.Arguments = call.OperationDiscover, "", nil
	return r.Run(ctx, c)
}
