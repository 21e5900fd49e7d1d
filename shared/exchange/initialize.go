package exchange

import (
	"context"
	"encoding/json"
	"net/http"
	"slices"
	"time"

	"mcprelay/shared/call"
	"mcprelay/shared/session"
	"mcprelay/shared/wire"
)

// closeTime bounds the ending of a session that nobody needs.
const closeTime = 2 * time.Second

// tell sends a message of the relay's own and reads what the server says.
func (x *Exchange) tell(ctx context.Context, r *Request, method string, s session.State) (answer, *call.Refusal) {
	m := message{verb: http.MethodPost, method: method, state: s, id: wire.NumberID(x.ids.Add(1))}
	p, refusal := x.post(ctx, r, &m)
	if refusal != nil {
		return answer{}, refusal
	}
	return x.read(p, r, &m)
}

// initialize opens a server of 2025-11-25 or older: two messages, and then it
// may be asked (MCP 2025-11-25, basic/lifecycle). It offers the newest version
// and takes any that the relay speaks. It is never retried.
func (x *Exchange) initialize(ctx context.Context, r *Request) (session.State, *call.Refusal) {
	// Some servers want the version header on this message too.
	s := session.State{Era: session.Legacy, Version: wire.Legacy}
	a, refusal := x.tell(ctx, r, methodInitialize, s)
	if refusal != nil {
		return s, refusal
	}
	if a.isError() && (a.reply.Error.Code == call.CodeUnsupportedVersion || listed(a.reply.Error.Data, "supported") != nil) {
		return s, call.Refuse(call.NoCommonVersion, "initialize: status %d, error %d", a.status, a.reply.Error.Code)
	}
	if a.isError() || !a.ok() {
		return s, a.failure(methodInitialize)
	}
	version, ok := negotiated(a.reply.Result)
	if !ok {
		return s, &call.Refusal{Reason: call.NoCommonVersion, Detail: "initialize: another protocolVersion", Quote: clip([]byte(version))}
	}
	now := x.now()
	s = session.State{Era: session.Legacy, Version: version, SessionID: a.session, Opened: now, Expires: now.Add(session.Lifetime)}
	if refusal := x.notify(ctx, r, s); refusal != nil {
		return s, refusal
	}
	return s, nil
}

// negotiated is the version of an initialize result, and whether the relay
// speaks it with sessions.
func negotiated(result json.RawMessage) (string, bool) {
	var version string
	raw, _ := wire.Member(result, "protocolVersion")
	if json.Unmarshal(raw, &version) != nil {
		return string(raw), false
	}
	return version, wire.IsLegacy(version) && slices.Contains(wire.Versions(), version)
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

// end gives a session back to the server, as far as it will take it: servers
// may refuse (MCP 2025-11-25, basic/transports), and then it expires there.
func (x *Exchange) end(ctx context.Context, r *Request, s session.State) {
	if s.SessionID == "" {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, closeTime)
	defer cancel()
	if p, refusal := x.post(ctx, r, &message{verb: http.MethodDelete, state: s}); refusal == nil {
		p.whole = p.drained(drainTime)
		p.done()
	}
}
