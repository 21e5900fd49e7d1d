package exchange

import (
	"context"
	"errors"

	"mcprelay/shared/call"
	"mcprelay/shared/session"
	"mcprelay/shared/wire"
)

// errUnheard says that the server has no session that a level could be set in.
var errUnheard = errors.New("the server keeps no log level")

// SetLevel sets the least level of the log messages of the caller's session,
// which it opens where there is none (MCP 2025-11-25, server/utilities/logging).
// Nothing is sent to a server that is modern, which is told with each request,
// that holds no session, or that announced no log messages: the reply is empty
// then. Its error is a [*call.Refusal]; the reply's Facts are filled either way.
func (x *Exchange) SetLevel(ctx context.Context, r Request, level string) (Reply, error) {
	var reply Reply
	if !wire.IsLevel(level) {
		return reply, call.Refuse(call.Internal, "a log level called %.32q", level)
	}
	r.facts = &reply.Facts
	got, refusal := x.ask(ctx, &r, &message{method: methodSetLevel, level: level})
	switch {
	case refusal == nil:
		reply.Result, reply.Error = got.Result, got.Error
	case refusal.Err != errUnheard:
		r.facts.unnamed(refusal)
		return reply, refusal
	}
	return reply, nil
}

// hears reports whether a server that was opened as s says can be told a level.
func hears(s session.State) bool {
	return s.Era != session.Modern && s.SessionID != "" && s.Offers.Has(call.OffersLogging)
}
