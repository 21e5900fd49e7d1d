package relay

import (
	"context"

	"mcprelay/shared/call"
	"mcprelay/shared/catalog"
	"mcprelay/shared/registry"
)

// held refuses a tool whose description is not the one that was pinned
// (FEATURES 51), and one that was left out of the catalog. It is part of the
// policy station: nothing is recorded as intended before. Where nothing is
// known of the server, or only of the place where it was, there is nothing to
// compare with.
func (r *Relay) held(ctx context.Context, p plan) *call.Refusal {
	if p.call.Operation != call.OperationToolsCall || p.server.Pin == registry.PinOff {
		return nil
	}
	k := r.known(ctx, p)
	if k.failed != nil && p.server.Pin != registry.PinWarn {
		return unreadable(k.failed)
	}
	if k.moved {
		return nil
	}
	return heldBack(p.server, k.catalog, p.tool)
}

// unreadable is the refusal where nobody can say what was pinned.
func unreadable(err error) *call.Refusal {
	return &call.Refusal{Reason: call.PolicyUnavailable, Detail: "the catalog of the server could not be read", Err: err}
}

// heldBack is the refusal of a tool that is not pinned as it is now. A server
// without exact allowed_tools cannot add one to those that were found first.
func heldBack(server *registry.Server, c catalog.Catalog, tool string) *call.Refusal {
	if server.Pin == registry.PinOff || server.Pin == registry.PinWarn || c.Acquired.IsZero() {
		return nil
	}
	why, held := c.Held(tool)
	if _, known := c.Tool(tool); !known && server.AllowedTools == nil {
		if _, skipped := c.Skipped(tool); !skipped {
			why, held = catalog.HeldNew, true // since the catalog was read, if at all
		}
	}
	if held {
		return call.Refuse(call.ToolHeld, "tool %.128q is %s", tool, why)
	}
	return nil
}
