package exchange

import (
	"context"
	"net/http"

	"mcprelay/shared/call"
	"mcprelay/shared/session"
	"mcprelay/shared/wire"
)

// tell sends a message of the relay's own and reads what the server says.
func (x *Exchange) tell(ctx context.Context, r *Request, method string, s session.State) (answer, *call.Refusal) {
	m := message{verb: http.MethodPost, method: method, state: s, id: wire.NumberID(x.ids.Add(1))}
	p, refusal := x.post(ctx, r, &m)
	if refusal != nil {
		return answer{}, refusal
	}
	return x.read(p, r, &m)
}

// maxOffers is how often initialize is sent for one opening: a server that
// refuses the newest version with a list of its own is offered one of those.
const maxOffers = 2

// initialize opens a server of 2025-11-25 or older: two messages, and then it
// may be asked (MCP 2025-11-25, basic/lifecycle). It offers the newest version
// and takes any that the relay speaks; what it gives is modern where the
// server says that it speaks no other. It is never retried as it was.
func (x *Exchange) initialize(ctx context.Context, r *Request) (session.State, *call.Refusal) {
	// Some servers want the version header on this message too.
	s := session.State{Era: session.Legacy, Version: wire.Legacy}
	if r.offer != "" {
		s.Version = r.offer
	}
	for range maxOffers {
		a, refusal := x.tell(ctx, r, methodInitialize, s)
		if refusal != nil {
			return s, refusal
		}
		found, refused := a.refusesOffer(s)
		switch {
		case !refused:
			return x.initialized(ctx, r, &a)
		case found.refusal != nil || found.version == "":
			return s, call.Refuse(call.NoCommonVersion, "initialize: status %d, error %d", a.status, a.code())
		}
		s.Era, s.Version = found.era, found.version
		if s.Era == session.Modern {
			return s, nil
		}
	}
	return s, call.Refuse(call.NoCommonVersion, "initialize: the server refuses a version that it names")
}

// refusesOffer is refusesVersion for initialize, which has no effect: the list
// of versions is proof enough, whatever it comes with.
func (a *answer) refusesOffer(s session.State) (finding, bool) {
	if a.isError() {
		versions := wire.ListedVersions(a.reply.Error.Data, "supported")
		if versions != nil || a.code() == call.CodeUnsupportedVersion {
			return choose(versions, s.Version), true
		}
	}
	return a.refusesVersion(s)
}

// initialized completes an opening whose first message was answered. A session
// that comes to nothing is given back.
func (x *Exchange) initialized(ctx context.Context, r *Request, a *answer) (session.State, *call.Refusal) {
	now := x.now()
	s := session.State{Era: session.Legacy, Version: wire.Legacy, SessionID: a.session, Owner: r.Owner, Opened: now, Expires: now.Add(session.Lifetime)}
	if a.isError() || !a.ok() {
		return s, a.failure(methodInitialize)
	}
	version, ok := wire.NegotiatedVersion(a.reply.Result)
	if !ok {
		x.end(ctx, r, s)
		return s, &call.Refusal{Reason: call.NoCommonVersion, Detail: "initialize: another protocolVersion", Quote: clip([]byte(version))}
	}
	s.Version = version
	s.Offers, s.Instructions = wire.Opening(a.reply.Result, r.Mask)
	refusal := x.notify(ctx, r, s)
	if refusal != nil {
		x.end(ctx, r, s)
		return s, refusal
	}
	return s, nil
}

// notify sends notifications/initialized. Any 2xx accepts it: servers answer
// with 200, 202 and 204, with bodies of every type, and none means anything.
func (x *Exchange) notify(ctx context.Context, r *Request, s session.State) *call.Refusal {
	m := message{verb: http.MethodPost, method: methodInitialized, state: s}
	p, refusal := x.post(ctx, r, &m)
	if refusal != nil {
		return refusal
	}
	defer p.done()
	if refusal := p.turnedAway(r); refusal != nil {
		return refusal
	}
	if p.StatusCode/100 != 2 {
		a := answer{status: p.StatusCode, retryAfter: retryAfter(p.Header, x.now())}
		return a.failure(methodInitialized)
	}
	p.whole = mediaType(p.Header) != mediaStream && p.drained(drainTime)
	return nil
}
