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
	"mcprelay/shared/budget"
	"mcprelay/shared/call"
	"mcprelay/shared/catalog"
	"mcprelay/shared/egress"
	"mcprelay/shared/exchange"
	"mcprelay/shared/idempotency"
	"mcprelay/shared/redact"
	"mcprelay/shared/registry"
	"mcprelay/shared/seal"
	"mcprelay/shared/secret"
	"mcprelay/shared/session"
	"mcprelay/shared/stdio"
	"mcprelay/shared/turn"
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

// Catalogs keeps what servers were found to offer, for every process.
type Catalogs interface {
	// Catalog gives what is kept of a server; the zero Catalog for nothing.
	Catalog(ctx context.Context, tenant, server string) (catalog.Catalog, error)
	// PutCatalog replaces it, on condition that it still has c.Version;
	// otherwise the error is [catalog.ErrConflict].
	PutCatalog(ctx context.Context, tenant, server string, c catalog.Catalog) (catalog.Catalog, error)
}

// OpenSessions finds the upstream sessions that have to be closed.
type OpenSessions interface {
	// SessionsOfRun gives those of a run (see [session.RunKey]), at most 1,000.
	SessionsOfRun(ctx context.Context, run session.Key) ([]session.Entry, error)
	// SessionsExpired gives at most limit sessions that expired before a time.
	SessionsExpired(ctx context.Context, before time.Time, limit int) ([]session.Entry, error)
}

// Keys remember which calls with an Idempotency-Key ran, for every process: an
// [idempotency.Store].
type Keys interface {
	BeginKey(ctx context.Context, key idempotency.Key, r idempotency.Record) (idempotency.Record, bool, error)
	EndKey(ctx context.Context, key idempotency.Key, r idempotency.Record) error
}

// Config is what a relay is made of. Every field must be set but three: without
// Processes a server that is a process is refused, without a Sealer what a
// server asks of the agent, without Keys a call with an Idempotency-Key.
type Config struct {
	Registry  Registry
	Secrets   *secret.Cache
	Guard     *egress.Guard
	Exchange  *exchange.Exchange
	Sessions  exchange.Sessions // the same as the exchange's
	Open      OpenSessions
	Catalogs  Catalogs
	Recorder  Recorder
	Processes *stdio.Pool
	Sealer    *seal.Sealer
	Keys      Keys
	Turns     turn.Store
	Counters  budget.Counters
	NewID     func(time.Time) string // a call id, a ULID
	Lines     *audit.Log             // of the canonical lines
	Log       *slog.Logger           // of what failed inside the relay
	Now       func() time.Time
}

// Relay runs calls. It keeps nothing of a call after it ended.
type Relay struct {
	Config
	refused    refusals
	maskers    redact.Maskers
	identities secret.Identities
	gates      gates
	lessons    lessons
	shelf      shelf
	surveys    *surveys
	memory     memory
	// simulations holds one for each that is running
	simulations chan struct{}
}

// New makes a relay.
func New(c Config) *Relay {
	return &Relay{Config: c, identities: secret.Identities{Now: c.Now}, surveys: newSurveys(), simulations: make(chan struct{}, maxSimulations)}
}

// Run takes one call through the pipeline. It returns the answer, or a
// refusal; the call's final is recorded either way. The caller must call
// Answer.Settle after the reply's last byte.
func (r *Relay) Run(ctx context.Context, c call.Call) (Answer, *call.Refusal) {
	return r.once(ctx, c, func() (Answer, *call.Refusal) { return r.run(ctx, errand{call: c}) })
}

// errand is one pass through the pipeline.
type errand struct {
	call call.Call
	// within is set for an acquisition that another call waits for: that one
	// holds its place at the server already.
	within bool
	// session is what a call of operation close ends.
	session *session.Entry
	// supposed is set for a call that is only simulated: where it needs a turn,
	// there is taken to be one that offers it.
	supposed bool
	// repeats is the call whose outcome this one is given, so that nothing runs.
	repeats string
}

func (r *Relay) run(ctx context.Context, e errand) (Answer, *call.Refusal) {
	t := trail{record: audit.Begin(e.call)}
	p := plan{errand: e}
	answer, refusal := r.guarded(ctx, &p, &t)
	t.giveBack(ctx, refusal)
	return r.final(ctx, t, p, answer, refusal)
}

// guarded makes a panic a refusal, so that the call has its final all the same.
// Its value stays here: it may hold anything.
func (r *Relay) guarded(ctx context.Context, p *plan, t *trail) (answer Answer, refusal *call.Refusal) {
	defer func() {
		if value := recover(); value != nil {
			answer, refusal = Answer{}, call.Refuse(call.Internal, "a panic of type %T", value)
		}
	}()
	if *p, refusal = r.policy(ctx, p.errand, t); refusal != nil {
		return Answer{}, refusal
	}
	if refusal = r.authority(ctx, p, t); refusal != nil {
		return Answer{}, refusal
	}
	bounded, cancel, refusal := r.budget(ctx, *p)
	defer cancel()
	if refusal != nil {
		return Answer{}, refusal
	}
	answer, refusal = r.attempt(bounded, *p, t)
	return redacted(answer, t), refusal
}

// attempt is the part of the pipeline that the time budget bounds.
func (r *Relay) attempt(ctx context.Context, p plan, t *trail) (Answer, *call.Refusal) {
	leave, refusal := r.enter(ctx, p)
	if refusal != nil {
		return Answer{}, refusal
	}
	defer leave()
	if refusal := r.intent(ctx, p, t); refusal != nil {
		return Answer{}, refusal
	}
	c, refusal := r.secret(ctx, p, t)
	if refusal != nil {
		return Answer{}, refusal
	}
	if p.server.Process != nil {
		return r.process(ctx, p, c, t)
	}
	route, refusal := r.egress(ctx, p, c)
	if refusal != nil {
		return Answer{}, refusal
	}
	return r.exchange(ctx, p, c, route, t)
}

// Acquire reads one of a server's lists (c.List) through the same pipeline as
// a call, about "discover". The items are those registered, not those a caller
// may use. A list of tools is kept in the catalog.
func (r *Relay) Acquire(ctx context.Context, c call.Call) (Answer, *call.Refusal) {
	f := finding{at: r.Now()}
	answer, refusal := r.acquire(ctx, errand{call: c})
	if refusal == nil && answer.list == call.ListTools {
		f.note(answer.list, answer)
		_, refusal = r.file(ctx, plan{errand: errand{call: c}, tenant: answer.tenant, server: answer.server}, f)
	}
	return answer, refusal
}

func (r *Relay) acquire(ctx context.Context, e errand) (Answer, *call.Refusal) {
	e.call.Operation, e.call.Tool, e.call.Arguments = call.OperationDiscover, "", nil
	if e.call.List == "" {
		e.call.List = call.ListTools
	}
	return r.run(ctx, e)
}
