package session

import "mcprelay/shared/call"

// Offers is which of its lists a server said it has, when it was opened. The
// zero Offers means that it said nothing about any.
type Offers uint8

// The lists that a server may announce (MCP 2025-11-25, basic/lifecycle,
// Capability Negotiation). Resource templates come with resources.
const (
	Announced Offers = 1 << iota // the server announced its capabilities
	OffersTools
	OffersResources
	OffersPrompts
)

// Lacks reports whether the server announced its capabilities and l is not
// among them. Tools are never lacking: servers in the field have them without
// a word, and whoever has none says so when asked.
func (o Offers) Lacks(l call.List) bool {
	if o&Announced == 0 {
		return false
	}
	switch l {
	case call.ListResources, call.ListTemplates:
		return o&OffersResources == 0
	case call.ListPrompts:
		return o&OffersPrompts == 0
	}
	return false
}
