package exchange

import (
	"context"
	"encoding/json"

	"mcprelay/shared/call"
)

// Call asks the server to run r.Tool. Its error is a [*call.Refusal]; the
// reply's Facts are filled either way.
func (x *Exchange) Call(ctx context.Context, r Request) (Reply, error) {
	return Reply{}, call.Refuse(call.Internal, "not built yet")
}

// List reads the server's tools, page by page: each tool as it came. A list
// that cannot be read whole is an error, never a part. Its error is a
// [*call.Refusal]; the facts are filled either way.
func (x *Exchange) List(ctx context.Context, r Request) ([]json.RawMessage, Facts, error) {
	return nil, Facts{}, call.Refuse(call.Internal, "not built yet")
}
