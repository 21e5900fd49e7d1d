package exchange

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	"mcprelay/shared/call"
	"mcprelay/shared/session"
	"mcprelay/shared/wire"
)

// ErrUndescribed says that the server is modern and that the tool's
// description was not looked up ([Request.Described]): nothing of the agent's
// request was sent, and it may be asked again.
var ErrUndescribed = errors.New("the tool's description is needed and was not looked up")

// Call asks the server to run r.Tool. Its error is a [*call.Refusal]; the
// reply's Facts are filled either way.
func (x *Exchange) Call(ctx context.Context, r Request) (Reply, error) {
	var reply Reply
	m := message{method: methodCall, name: r.Tool, arguments: r.Arguments, meta: r.Meta}
	if r.Operation != call.OperationToolsCall || r.Tool == "" {
		return reply, call.Refuse(call.Internal, "a call of operation %q", r.Operation)
	}
	r.facts = &reply.Facts
	got, refusal := x.ask(ctx, &r, &m)
	if refusal != nil {
		return reply, refusal
	}
	reply.Result, reply.Error, reply.IsError, reply.ResultType = got.Result, got.Error, got.IsError, got.ResultType
	return reply, nil
}

// ask puts the agent's request to the server: once, and once more only where
// the server said that it did not execute it, because it had lost the session
// or does not speak the version.
func (x *Exchange) ask(ctx context.Context, r *Request, m *message) (wire.Reply, *call.Refusal) {
	if r.Session == "" || r.Origin == "" {
		return wire.Reply{}, call.Refuse(call.Internal, "a request without a session key")
	}
	r.Limits = r.Limits.withDefaults()
	s, refusal := x.open(ctx, r, session.State{})
	if refusal != nil {
		return wire.Reply{}, refusal
	}
	a, refusal := x.put(ctx, r, m, s)
	switch {
	case refusal != nil:
		return wire.Reply{}, refusal
	case a.lost(s):
		s, refusal = x.open(ctx, r, s)
	case a.refusesVersion():
		s, refusal = x.turn(ctx, r, s, &a)
	default:
		return x.settle(ctx, r, s, &a)
	}
	if refusal != nil {
		return wire.Reply{}, refusal
	}
	if a, refusal = x.put(ctx, r, m, s); refusal != nil {
		return wire.Reply{}, refusal
	}
	if a.lost(s) {
		x.forget(ctx, r)
		return wire.Reply{}, &call.Refusal{Reason: call.SessionLost, Impact: call.ImpactNone, Status: a.status}
	}
	return x.settle(ctx, r, s, &a)
}

// put is one POST of the agent's request.
func (x *Exchange) put(ctx context.Context, r *Request, m *message, s session.State) (answer, *call.Refusal) {
	m.verb, m.agents, m.state, m.id = http.MethodPost, true, s, wire.NumberID(x.ids.Add(1))
	p, refusal := x.post(ctx, r, m)
	if refusal != nil {
		return answer{}, refusal
	}
	a, refusal := x.read(p, r, m)
	unnamed(refusal, s.SessionID)
	return a, refusal
}

// settle makes of an answer what the agent gets: the server's own reply, be it
// an error and whatever the status, or a refusal that names the status.
func (x *Exchange) settle(ctx context.Context, r *Request, s session.State, a *answer) (wire.Reply, *call.Refusal) {
	if s.Era == session.Modern && a.unlikeModern() {
		x.forget(ctx, r)
	}
	switch {
	case a.ours && a.refusesVersion():
		return wire.Reply{}, &call.Refusal{Reason: call.NoCommonVersion, Impact: call.ImpactNone, Status: a.status}
	case a.ours && (a.ok() || a.isError()):
		return a.reply, nil
	case a.ok():
		return wire.Reply{}, &call.Refusal{Reason: call.Protocol, Status: a.status, Detail: fmt.Sprintf("error %d without an id", a.reply.Error.Code)}
	}
	refusal := a.failure(http.MethodPost)
	refusal.Reason = call.UpstreamStatus
	unnamed(refusal, s.SessionID)
	return wire.Reply{}, refusal
}

// refusesVersion reports whether the server did not execute the request
// because of its version.
func (a *answer) refusesVersion() bool {
	return a.isError() && a.reply.Error.Code == call.CodeUnsupportedVersion
}

// turn changes to a version that the server named when it refused the one of
// s: the verdict was stale.
func (x *Exchange) turn(ctx context.Context, r *Request, s session.State, a *answer) (session.State, *call.Refusal) {
	found := choose(listed(a.reply.Error.Data, "supported"), s.Version, true)
	if found.refusal != nil {
		return s, opening(found.refusal)
	}
	x.verdict(ctx, r) // the stale one, for this to be stored over it
	now := x.judge(ctx, r, found.era, found.version)
	if found.era == session.Modern {
		now.Ver = x.memory.get(r.Session).Ver
		now, _ = x.save(ctx, r.Session, now)
		r.facts.opened(now, SessionNone)
		return now, nil
	}
	return x.open(ctx, r, s) // s is what the server has given up
}
