// Package catalog holds what a server offers: its tools as they came, checked
// against what was registered.
//
// It promises that a descriptor's bytes are kept, that one odd tool never
// loses the others, and that a list which differs from an exact registration
// is refused whole. It refuses to do I/O: it is given lists and gives lists.
package catalog

import (
	"encoding/json"
	"errors"
	"slices"
	"time"

	"mcprelay/shared/call"
	"mcprelay/shared/wire"
)

// Tool is one tool of a server. Raw is the descriptor as the server sent it.
type Tool struct {
	Name string
	Raw  json.RawMessage
}

// Skip reports a descriptor that was left out, and why.
type Skip struct {
	Name   string
	Reason string
}

// Lifetime is how long a stored catalog is used without being read again.
const Lifetime = 24 * time.Hour

// ErrConflict is the error of a write of a catalog that somebody else replaced.
var ErrConflict = errors.New("the catalog was replaced by somebody else")

// Catalog is what a store keeps of a server's tools. The zero Catalog says
// that nothing is kept.
type Catalog struct {
	Origin   string // digest of what the registration said when it was read
	Tools    []Tool
	Skips    []Skip
	Acquired time.Time
	Version  int64 // of the store; 0 where it is not stored
}

// Tool finds a tool by the upstream's own name.
func (c Catalog) Tool(name string) (Tool, bool) {
	at := slices.IndexFunc(c.Tools, func(t Tool) bool { return t.Name == name })
	if at < 0 {
		return Tool{}, false
	}
	return c.Tools[at], true
}

// Skipped finds why a tool was left out.
func (c Catalog) Skipped(name string) (Skip, bool) {
	at := slices.IndexFunc(c.Skips, func(s Skip) bool { return s.Name == name })
	if at < 0 || name == "" {
		return Skip{}, false
	}
	return c.Skips[at], true
}

// Bounds say which descriptors are usable.
type Bounds struct {
	Bytes int64              // of one descriptor; 0 for any
	Name  func(string) error // what is wrong with a tool's name
}

// Tools reads raw descriptors. A descriptor without a usable name, of a name
// seen before, over its bound, or with an inputSchema that is not an object, is
// left out and reported; the others stay, in the order of the server.
func Tools(raw []json.RawMessage, bounds Bounds) ([]Tool, []Skip) {
	tools := make([]Tool, 0, len(raw))
	seen := make(map[string]bool, len(raw))
	var skips []Skip
	for _, descriptor := range raw {
		name, reason := check(descriptor, bounds)
		if reason == "" && seen[name] {
			reason = "a tool of this name came before"
		}
		if reason != "" {
			skips = append(skips, Skip{Name: name, Reason: reason})
			continue
		}
		seen[name] = true
		tools = append(tools, Tool{Name: name, Raw: descriptor})
	}
	return tools, skips
}

func check(descriptor json.RawMessage, bounds Bounds) (name, reason string) {
	member, ok := wire.Member(descriptor, "name")
	if !ok || json.Unmarshal(member, &name) != nil || name == "" {
		return "", "it has no name"
	}
	if err := bounds.Name(name); err != nil {
		return "", "its name is unusable: " + err.Error()
	}
	if bounds.Bytes > 0 && int64(len(descriptor)) > bounds.Bytes {
		return name, "its description is over max_descriptor_bytes"
	}
	schema, ok := wire.Member(descriptor, "inputSchema")
	if !ok || len(schema) == 0 || schema[0] != '{' {
		return name, "its inputSchema is not an object"
	}
	return name, ""
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
