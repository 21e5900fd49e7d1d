package exchange

import (
	"context"

	"mcprelay/shared/call"
	"mcprelay/shared/session"
)

// End ends a session at the server with DELETE, within r.Close (MCP 2025-11-25,
// basic/transports, Session Management). Any 2xx is an end, and so are 404 and
// 405: the session is gone, or the server ends its sessions itself. A state
// without a session id needs none and nothing is sent. Its error is a
// [*call.Refusal]; the facts are filled either way.
func (x *Exchange) End(ctx context.Context, r Request, s session.State) (Facts, error) {
	return Facts{}, call.Refuse(call.Internal, "not built yet")
}
