package relay

import (
	"context"
	"log/slog"
	"slices"

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

// Held is a tool whose description no operator has approved.
type Held struct {
	Tool string // the upstream's own name
	Why  string // changed or new
}

// Held lists the tools of a view whose descriptions are not the pinned ones,
// whether or not that holds them back.
func (v View) Held() []Held {
	if v.server.Pin == registry.PinOff {
		return nil
	}
	var held []Held
	for _, tool := range v.Catalog.Tools {
		if why, is := v.Catalog.Held(tool.Name); is {
			held = append(held, Held{Tool: tool.Name, Why: why})
		}
	}
	return held
}

// Approve pins tools of a server as they were last described, all of them where
// none is named, and gives the names of those that it changed. The error is the
// store's, [catalog.ErrConflict] where somebody else replaced the catalog
// meanwhile, or a refusal of a server or a tool that is not known.
func (r *Relay) Approve(ctx context.Context, tenantID, server string, tools ...string) ([]string, error) {
	tenant, err := r.Registry.Tenant(ctx, tenantID)
	if err != nil {
		return nil, err
	}
	if _, ok := tenant.Servers[server]; !ok {
		return nil, call.Refuse(call.UnknownServer, "no server called %.64q is registered", server)
	}
	c, err := r.Catalogs.Catalog(ctx, tenantID, server)
	if err != nil {
		return nil, err
	}
	for _, name := range tools {
		if _, ok := c.Tool(name); !ok {
			return nil, call.Refuse(call.UnknownTool, "server %s was not found to offer a tool called %.128q", server, name)
		}
	}
	var changed []string
	for _, tool := range c.Tools {
		if _, held := c.Held(tool.Name); held && (len(tools) == 0 || slices.Contains(tools, tool.Name)) {
			changed = append(changed, tool.Name)
		}
	}
	if len(changed) == 0 {
		return nil, nil
	}
	if _, err := r.Catalogs.PutCatalog(ctx, tenantID, server, c.Approved(changed...)); err != nil {
		return nil, err
	}
	r.shelf.drop(tenantID, server)
	r.Log.LogAttrs(ctx, slog.LevelInfo, "approved", slog.String("tenant", tenantID), slog.String("server", server), slog.Any("tools", changed))
	return changed, nil
}
