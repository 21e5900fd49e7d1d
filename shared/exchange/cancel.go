package exchange

import (
	"context"
	"net/http"
	"time"

	"mcprelay/shared/call"
	"mcprelay/shared/session"
)

// cancelTime is how long a call outlives its end to tell the server: a round
// trip to the other side of the world, with the handshake, takes about 400 ms.
const cancelTime = 500 * time.Millisecond

// What a server is told of a request that nobody waits for any more.
const (
	reasonGone = "the caller went away"
	reasonLate = "the caller's time is up"
)

// abandon tells the server that nobody waits for the request any more, where
// the caller left after it was written. Closing the connection, which is done,
// says so to a modern server (MCP 2026-07-28, basic/patterns/cancellation); to
// an older one it says nothing, so it gets notifications/cancelled, on another
// connection (MCP 2025-11-25, basic/utilities/cancellation).
func (x *Exchange) abandon(ctx context.Context, r *Request, m *message, why *call.Refusal) {
	reason := reasonLate
	switch why.Reason {
	case call.Cancelled:
		reason = reasonGone
	case call.HeadTimeout, call.CallTimeout:
	default:
		return
	}
	if why.MayHaveRun() == call.ImpactNone {
		return // nothing was written
	}
	if m.state.Era == session.Modern {
		r.facts.Cancelled = true
		return
	}
	ctx, stop := context.WithTimeout(context.WithoutCancel(ctx), min(r.Close, cancelTime))
	defer stop()
	status, address := r.facts.Status, r.facts.Address
	p, refusal := x.post(ctx, r, &message{verb: http.MethodPost, method: methodCancelled, state: m.state, about: m.id, reason: reason})
	if refusal == nil {
		r.facts.Cancelled = p.StatusCode/100 == 2
		p.whole = mediaType(p.Header) != mediaStream && p.drained(drainTime)
		p.done()
	}
	r.facts.Status, r.facts.Address = status, address
}
