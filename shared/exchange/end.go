package exchange

import (
	"context"
	"net/http"
	"strconv"

	"mcprelay/shared/call"
	"mcprelay/shared/session"
)

// End ends a session at the server with DELETE, within r.Close (MCP 2025-11-25,
// basic/transports, Session Management). Any 2xx is an end, and so are 404 and
// 405: the session is gone, or the server ends its sessions itself. A state
// without a session id needs none and nothing is sent. This process no longer
// uses the session, whatever came of it. Its error is a [*call.Refusal]; the
// facts are filled either way.
func (x *Exchange) End(ctx context.Context, r Request, s session.State) (Facts, error) {
	var f Facts
	r.facts = &f
	r.ready()
	if s.SessionID == "" {
		return f, nil
	}
	f.opened(s, SessionReused)
	if x.memory.get(r.Session).Is(s) {
		x.memory.drop(r.Session)
	}
	ctx, cancel := context.WithTimeout(ctx, r.Close)
	defer cancel()
	if refusal := x.delete(ctx, &r, s); refusal != nil {
		f.unnamed(refusal)
		return f, refusal
	}
	return f, nil
}

// delete is the one DELETE.
func (x *Exchange) delete(ctx context.Context, r *Request, s session.State) *call.Refusal {
	p, refusal := x.post(ctx, r, &message{verb: http.MethodDelete, state: s})
	if refusal != nil {
		return refusal
	}
	defer p.done()
	if refusal := p.turnedAway(r); refusal != nil {
		return refusal
	}
	p.whole = p.drained(drainTime)
	if p.StatusCode/100 == 2 || p.StatusCode == http.StatusNotFound || p.StatusCode == http.StatusMethodNotAllowed {
		return nil
	}
	return &call.Refusal{
		Reason: call.UpstreamStatus, Status: p.StatusCode, RetryAfter: retryAfter(p.Header, x.now()),
		Detail: "DELETE: status " + strconv.Itoa(p.StatusCode),
	}
}

// end gives a session back that nobody needs, as far as the server will take
// it: what it keeps expires there.
func (x *Exchange) end(ctx context.Context, r *Request, s session.State) {
	if s.SessionID == "" {
		return
	}
	limit := r.Close
	if deadline, ok := ctx.Deadline(); ok {
		limit = min(limit, max(cancelTime, deadline.Sub(x.now())))
	}
	status := r.facts.Status
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), limit)
	defer cancel()
	_ = x.delete(ctx, r, s)
	r.facts.Status = status
}
