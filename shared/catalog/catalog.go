// Package catalog holds what a server offers: its tools, resources, resource
// templates and prompts as they came, the tools checked against what was
// registered.
//
// It promises that a descriptor's bytes and order are kept, that one odd
// descriptor never loses the others, and that a list of tools which differs
// from an exact registration is refused whole. It refuses to judge a schema:
// whatever is an object passes as it is. It does no I/O: it is given lists and
// gives lists.
package catalog

import (
	"encoding/json"
	"slices"

	"mcprelay/shared/call"
	"mcprelay/shared/wire"
)

// Tool is one tool of a server. Raw is the descriptor as the server sent it.
type Tool struct {
	Name   string
	Raw    json.RawMessage
	Digest string // hex SHA-256 of what the descriptor says, however it is written
}

// Skip reports a descriptor that was left out, and why.
type Skip struct {
	List   call.List `json:"list"`           // which list it is of
	Name   string    `json:"name,omitempty"` // empty where it has none that could be shown
	Reason string    `json:"reason"`         // holds nothing of the descriptor
}

// Bounds say which descriptors are usable.
type Bounds struct {
	Bytes int64              // of one descriptor; 0 for any
	Name  func(string) error // what is wrong with the name of a tool or a prompt
}

// Tools reads raw descriptors. A descriptor without a usable name, of a name
// seen before, over its bound, with an inputSchema that is not an object or
// with x-mcp-header annotations that a client must not follow (MCP 2026-07-28,
// basic/transports), is left out and reported; the others stay, in the order
// of the server. What else a schema says is not looked at.
func Tools(raw []json.RawMessage, bounds Bounds) ([]Tool, []Skip) {
	kept, skips := read(raw, bounds, kind{list: call.ListTools, name: "name", check: bounds.named, rest: checkTool})
	tools := make([]Tool, len(kept))
	for i, item := range kept {
		tools[i] = Tool{Name: item.Name, Raw: item.Raw, Digest: Digest(item.Raw)}
	}
	return tools, skips
}

// checkTool checks what a tool has beside its name.
func checkTool(descriptor json.RawMessage) string {
	schema, ok := wire.Member(descriptor, "inputSchema")
	if !ok || len(schema) == 0 || schema[0] != '{' {
		return "its inputSchema is not an object"
	}
	if _, err := wire.Params(schema); err != nil {
		return "its x-mcp-header annotations are invalid: " + err.Error()
	}
	return ""
}

// Exact compares tools with the names of an exact registration; nil allowed
// names accept any tool. A missing tool refuses. An unexpected one refuses
// too, or is left out where hide is set.
func Exact(tools []Tool, allowed []string, hide bool) ([]Tool, *call.Refusal) {
	if allowed == nil {
		return tools, nil
	}
	kept := make([]Tool, 0, len(allowed))
	for _, tool := range tools {
		switch {
		case slices.Contains(allowed, tool.Name):
			kept = append(kept, tool)
		case !hide:
			return nil, call.Refuse(call.ToolUnexpected, "tool %.128q is not in allowed_tools", tool.Name)
		}
	}
	for _, name := range allowed {
		if !slices.ContainsFunc(kept, func(t Tool) bool { return t.Name == name }) {
			return nil, call.Refuse(call.ToolMissing, "tool %.128q of allowed_tools is not offered by the server", name)
		}
	}
	return kept, nil
}

// Unexpected reports the tools that are not among the allowed names, for where
// [Exact] hides them.
func Unexpected(tools []Tool, allowed []string) []Skip {
	var skips []Skip
	for _, tool := range tools {
		if allowed != nil && !slices.Contains(allowed, tool.Name) {
			skips = append(skips, Skip{List: call.ListTools, Name: tool.Name, Reason: "it is not in allowed_tools"})
		}
	}
	return skips
}

// Renamed is the tool's descriptor under another name, its other bytes as they came.
func (t Tool) Renamed(name string) (json.RawMessage, error) {
	if name == t.Name {
		return t.Raw, nil
	}
	quoted, err := json.Marshal(name)
	if err != nil {
		return nil, err
	}
	return wire.SetMember(t.Raw, "name", quoted)
}
