package front

import (
	"context"
	"encoding/json"
	"slices"
	"strings"

	"mcprelay/shared/call"
	"mcprelay/shared/catalog"
	"mcprelay/shared/relay"
	"mcprelay/shared/wire"
)

// desk translates between the names that agents use on one MCP path and those
// of the servers (FEATURES 60). On the path of one server they are that
// server's; on the path of all, they say which server is meant.
type desk struct {
	relay  *relay.Relay
	server string // empty for all of them
}

// address says in q's call which server is asked for what, by the servers' own
// names. The refusal is of a name that belongs to nobody.
func (d desk) address(ctx context.Context, q *request) *call.Refusal {
	c := &q.call
	switch q.Method {
	case "tools/call":
		return d.named(ctx, c, &c.Tool, relay.View.Tools)
	case "prompts/get":
		return d.named(ctx, c, &c.Prompt, relay.View.Prompts)
	case "resources/read":
		return short(c, d.located(ctx, c))
	case "completion/complete":
		c.Argument, c.Context = q.Argument, q.Context
		if q.Ref.Type == refPrompt {
			c.Prompt = bounded(q.Ref.Name)
			return d.named(ctx, c, &c.Prompt, relay.View.Prompts)
		}
		c.Resource = q.Ref.URI
		return short(c, d.templated(c))
	}
	return call.Refuse(call.Internal, "a call of %.64q", q.Method)
}

const refPrompt = "ref/prompt"

// short refuses a server's own URI that no list can have shown.
func short(c *call.Call, refusal *call.Refusal) *call.Refusal {
	if refusal == nil && len(c.Resource) > wire.MaxName {
		c.Resource = "" // no rule or record is about it
		refusal = call.Refuse(call.BadParams, "the URI is longer than %d bytes", wire.MaxName)
	}
	return refusal
}

func nobody(what string) *call.Refusal {
	return call.Refuse(call.UnknownServer, "the %s names no server", what)
}

// named takes the server off the name of a tool or a prompt. A name that was
// shortened is looked up among those that are shown; one that looks like it and
// is nobody's is the server's own.
func (d desk) named(ctx context.Context, c *call.Call, name *string, shown func(relay.View) []relay.Shown) *call.Refusal {
	if d.server != "" {
		return nil
	}
	server, rest, ok := catalog.Split(*name)
	if !ok {
		return nobody("name")
	}
	c.Server = bounded(server)
	if catalog.Shortened(*name) { // it must not reach the server as it is shown
		view, refusal := d.relay.Read(ctx, *c)
		if refusal != nil {
			return refusal
		}
		rest = behind(*name, server, rest, shown(view))
	}
	*name = rest
	return nil
}

// behind is the name that a shortened one stands for: rest itself where that is
// an item's name, or where there is not exactly one that it could stand for.
func behind(name, server, rest string, items []relay.Shown) string {
	var found []string
	for _, item := range items {
		switch {
		case item.Name == rest:
			return rest
		case catalog.Shown(server, item.Name) == name:
			found = append(found, item.Name)
		}
	}
	if len(found) != 1 {
		return rest
	}
	return found[0]
}

// located finds the server's own URI of a resource: one that was shown, else an
// expansion of a template that was, else whatever the URI says.
func (d desk) located(ctx context.Context, c *call.Call) *call.Refusal {
	if d.server != "" {
		return nil
	}
	shown := c.Resource
	server, ok := catalog.ResourceServer(shown)
	if !ok {
		return nobody("URI")
	}
	c.Server, c.Resource = bounded(server), ""
	_, uri, exact := catalog.SplitResource(shown)
	view, refusal := d.relay.Read(ctx, *c)
	if refusal != nil {
		return refusal
	}
	if exact && slices.ContainsFunc(view.Resources(), func(s relay.Shown) bool { return s.Upstream == uri }) {
		c.Resource = uri
		return nil
	}
	for _, template := range view.Templates() {
		expanded, ok := catalog.Expanded(shown, template.Upstream)
		// A link of the server's to what no list names may look like an expansion.
		if ok && !(exact && catalog.Expands(uri, template.Upstream)) {
			c.Resource = expanded
			return nil
		}
	}
	if !exact {
		return nobody("URI")
	}
	c.Resource = uri
	return nil
}

// templated finds the server's own template, or URI, that a completion is of.
func (d desk) templated(c *call.Call) *call.Refusal {
	if d.server != "" {
		return nil
	}
	server, template, ok := catalog.SplitTemplate(c.Resource)
	if !ok {
		server, template, ok = catalog.SplitResource(c.Resource)
	}
	if !ok {
		return nobody("URI")
	}
	c.Server, c.Resource = bounded(server), template
	return nil
}

// descriptor is an item of a list as agents of this path are shown it; nil for
// one that cannot be.
func (d desk) descriptor(server string, list call.List, item relay.Shown) json.RawMessage {
	if d.server != "" {
		return item.Raw
	}
	member, shown := "name", ""
	switch list {
	case call.ListResources:
		member, shown = "uri", catalog.ResourceURI(server, item.Upstream)
	case call.ListTemplates:
		template, err := catalog.TemplateURI(server, item.Upstream)
		if err != nil {
			return nil
		}
		member, shown = "uriTemplate", template
	default:
		shown = catalog.Shown(server, item.Name)
	}
	raw, err := wire.SetMember(item.Raw, member, wire.AppendString(nil, shown))
	if err != nil {
		return nil
	}
	if list == call.ListTools {
		raw, _ = wire.RewriteURIs(raw, wire.WhereTool, func(uri string) string { return catalog.ResourceURI(server, uri) })
	}
	return raw
}

// result is what a server answered, with its links as agents of this path can
// follow them.
func (d desk) result(c call.Call, result json.RawMessage) json.RawMessage {
	if d.server != "" || len(result) == 0 {
		return result
	}
	where := wire.WhereResult
	switch c.Operation {
	case call.OperationPromptsGet:
		where = wire.WherePrompt
	case call.OperationResourcesRead:
		where = wire.WhereResource
	case call.OperationComplete:
		return result
	}
	// A result that cannot be read is given as it came.
	rewritten, _ := wire.RewriteURIs(result, where, func(uri string) string { return catalog.ResourceURI(c.Server, uri) })
	return rewritten
}

// collided are the indexes of items whose shown names are not theirs alone: of
// two that were shortened to one name nobody could say which is meant. A name
// that is shown as it is wins over one that was shortened.
func collided(names []string, exact []bool) map[int]bool {
	first := make(map[string]int, len(names))
	out := map[int]bool{}
	for i, name := range names {
		j, seen := first[name]
		switch {
		case !seen:
			first[name] = i
		case exact[i] && !exact[j]:
			out[j] = true
			first[name] = i
		case exact[j]:
			out[i] = true
		default:
			out[i], out[j] = true, true
		}
	}
	return out
}

// plainly reports whether a name is shown with nothing but its server before it.
func plainly(server, name, shown string) bool {
	return strings.TrimPrefix(shown, server+"__") == name
}
