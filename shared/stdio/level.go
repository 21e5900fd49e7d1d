package stdio

import (
	"context"
	"encoding/json"

	"mcprelay/shared/call"
	"mcprelay/shared/wire"
)

const methodSetLevel = "logging/setLevel"

// SetLevel sets the least level of the log messages of the child of r's key,
// which it starts where there is none (MCP 2025-11-25, server/utilities/logging).
// Nothing is written to a server that is modern, which is told with each request,
// or that announced no log messages: the reply is empty then. Its error is a
// [*call.Refusal]; the reply's Facts are filled either way.
func (p *Pool) SetLevel(ctx context.Context, r Request, level string) (Reply, error) {
	var reply Reply
	if r.Key == "" || !wire.IsLevel(level) {
		return reply, call.Refuse(call.Internal, "a log level called %.32q", level)
	}
	r.Spec = r.Spec.withDefaults()
	refusal := p.use(ctx, &r, &reply.Facts, func(ctx context.Context, c *child) *failure {
		if c.era == Modern || !c.offers.Has(call.OffersLogging) {
			return nil
		}
		m := message{method: methodSetLevel, id: c.nextID(), agents: true, params: json.RawMessage(`{"level":"` + level + `"}`)}
		got, failed := c.ask(ctx, &r, &reply.Facts, &m)
		reply.Result, reply.Error = got.Result, got.Error
		return failed
	})
	if refusal != nil {
		return reply, refusal
	}
	return reply, nil
}
