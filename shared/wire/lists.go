package wire

import "mcprelay/shared/call"

// Listing is how MCP speaks of one of a server's lists (2025-11-25 and
// 2026-07-28, schema).
type Listing struct {
	List   call.List
	Method string // that asks for it
	Member string // of the result, that holds it
}

func listings() [4]Listing {
	return [...]Listing{
		{call.ListTools, "tools/list", "tools"},
		{call.ListResources, "resources/list", "resources"},
		{call.ListTemplates, "resources/templates/list", "resourceTemplates"},
		{call.ListPrompts, "prompts/list", "prompts"},
	}
}

// ListingOf is how a list is asked for; false for a word that names none.
func ListingOf(list call.List) (Listing, bool) {
	for _, l := range listings() {
		if l.List == list {
			return l, true
		}
	}
	return Listing{}, false
}

// ListedBy is the listing that a method asks for; false for another method.
func ListedBy(method string) (Listing, bool) {
	for _, l := range listings() {
		if l.Method == method {
			return l, true
		}
	}
	return Listing{}, false
}
