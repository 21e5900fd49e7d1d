package exchange

import (
	"context"
	"errors"
	"net/http"

	"mcprelay/shared/call"
	"mcprelay/shared/session"
	"mcprelay/shared/wire"
)

// ErrUndescribed says that the server is modern and that the description of the
// tool that is to be run was not looked up ([Request.Described]): the agent's request was
// not executed, and may be asked again; with [Request.Once] where the facts
// count a POST of it, which was refused for its version.
var ErrUndescribed = errors.New("the tool's description is needed and was not looked up")

// Call asks the server to run r.Tool, to read r.Resource, for r.Prompt, or for
// the completion of an argument of r.Prompt or r.Resource, whichever r.Operation
// says. Its error is a [*call.Refusal] or, of a tool, [ErrUndescribed]; the
// reply's Facts are filled either way. What the server answers is the reply,
// errors among it, and so are results that are not complete.
func (x *Exchange) Call(ctx context.Context, r Request) (Reply, error) {
	var reply Reply
	m := message{method: string(r.Operation), ask: r.Ask(), params: r.Params, meta: r.Meta, capabilities: r.Capabilities}
	if !m.ask.Complete() {
		return reply, call.Refuse(call.Internal, "a call of operation %q", r.Operation)
	}
	r.facts = &reply.Facts
	got, refusal := x.ask(ctx, &r, &m)
	if refusal != nil {
		r.facts.unnamed(refusal)
		if errors.Is(refusal, ErrUndescribed) {
			return reply, ErrUndescribed
		}
		return reply, refusal
	}
	reply.Result, reply.Error, reply.IsError, reply.ResultType = got.Result, got.Error, got.IsError, got.ResultType
	return reply, nil
}

// ask puts the agent's request to the server: once, and once more only where
// the server said that it did not execute it, because it had lost the session
// or does not speak the version. Whatever it says to that is the end.
func (x *Exchange) ask(ctx context.Context, r *Request, m *message) (wire.Reply, *call.Refusal) {
	if r.Session == "" || r.Origin == "" {
		return wire.Reply{}, call.Refuse(call.Internal, "a request without a session key")
	}
	r.ready()
	m.trace = r.Traceparent
	s, refusal := x.open(ctx, r, session.State{})
	if refusal != nil {
		return wire.Reply{}, refusal
	}
	a, refusal := x.put(ctx, r, m, s)
	if refusal != nil {
		return wire.Reply{}, refusal
	}
	if r.Once {
		return x.settle(ctx, r, s, &a)
	}
	found, refused := a.refusesVersion(s)
	why := AgainVersion
	switch {
	case a.lost(s):
		r.facts.Lost, why = true, AgainSession
		s, refusal = x.open(ctx, r, s)
	case refused:
		s, refusal = x.turn(ctx, r, s, found)
	default:
		return x.settle(ctx, r, s, &a)
	}
	if refusal != nil {
		return wire.Reply{}, refusal
	}
	posts := r.facts.Posts
	a, refusal = x.put(ctx, r, m, s)
	if r.facts.Posts > posts {
		r.facts.Again = why
	}
	if refusal != nil {
		return wire.Reply{}, refusal
	}
	return x.settle(ctx, r, s, &a)
}

// put is one POST of the agent's request. Where the caller's time ends before
// the answer, the server is told.
func (x *Exchange) put(ctx context.Context, r *Request, m *message, s session.State) (answer, *call.Refusal) {
	if refusal := unaskable(r, m, s); refusal != nil {
		return answer{}, refusal
	}
	m.verb, m.agents, m.state, m.id = http.MethodPost, true, s, wire.NumberID(x.ids.Add(1))
	if r.SessionID != nil && s.SessionID != "" {
		r.SessionID(s.SessionID)
	}
	p, refusal := x.post(ctx, r, m)
	var a answer
	if refusal == nil {
		a, refusal = x.read(p, r, m)
	}
	if refusal != nil {
		x.abandon(ctx, r, m, refusal)
	}
	return a, refusal
}

// errLacking says that the server has no such list.
var errLacking = errors.New("the server announced no such list")

// unaskable is the refusal of a request that must not be put to a server that
// was opened as s says.
func unaskable(r *Request, m *message, s session.State) *call.Refusal {
	switch {
	case m.ask.Operation == call.OperationToolsCall && s.Era == session.Modern && !r.Described:
		return &call.Refusal{Reason: call.Internal, Impact: call.ImpactNone, Err: ErrUndescribed}
	case m.ask.Answers() && s.Era != session.Modern:
		// It would run what the agent may have declined.
		return call.Refuse(call.StateRefused, "the server speaks %s and has asked for nothing", s.Version)
	case m.list != "" && s.Offers.Lacks(m.list):
		return &call.Refusal{Reason: call.ListFailed, Impact: call.ImpactNone, Err: errLacking}
	case m.level != "" && !hears(s):
		return &call.Refusal{Reason: call.Internal, Impact: call.ImpactNone, Err: errUnheard}
	}
	return nil
}

// settle makes of an answer what the agent gets: the server's own reply, be it
// an error and whatever the status, or a refusal that names the status. An
// error without an id is the answer too: one POST holds one request.
func (x *Exchange) settle(ctx context.Context, r *Request, s session.State, a *answer) (wire.Reply, *call.Refusal) {
	if s.Era == session.Modern && a.unlikeModern() {
		x.forget(ctx, r)
	}
	if a.lost(s) {
		r.facts.Lost = true
		x.forget(ctx, r)
		return wire.Reply{}, &call.Refusal{Reason: call.SessionLost, Impact: call.ImpactNone, Status: a.status}
	}
	if _, refused := a.refusesVersion(s); refused {
		return wire.Reply{}, &call.Refusal{Reason: call.NoCommonVersion, Impact: call.ImpactNone, Status: a.status}
	}
	switch {
	case s.Era == session.Modern && a.isError() && a.reply.Error.Code == call.CodeHeaderMismatch:
		return wire.Reply{}, &call.Refusal{Reason: call.HeadersRefused, Impact: call.ImpactNone, Status: a.status}
	case a.isError() || a.ours && a.ok():
		return a.reply, nil
	}
	refusal := a.failure(http.MethodPost)
	refusal.Reason = call.UpstreamStatus
	return wire.Reply{}, refusal
}
