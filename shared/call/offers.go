package call

// Offers is which of its lists a server said it has, when it was opened. The
// zero Offers means that it said nothing about any.
type Offers uint8

// What a server may announce (MCP 2025-11-25, basic/lifecycle,
// Capability Negotiation). Resource templates come with resources.
const (
	Announced Offers = 1 << iota // the server announced its capabilities
	OffersTools
	OffersResources
	OffersPrompts
	OffersCompletions
	OffersLogging
)

// Has reports whether all of what are among the offers.
func (o Offers) Has(what Offers) bool { return o&what == what }

// Lacks reports whether the server announced its capabilities and l is not
// among them. Tools are never lacking: servers in the field have them without
// a word, and whoever has none says so when asked.
func (o Offers) Lacks(l List) bool {
	if o&Announced == 0 {
		return false
	}
	switch l {
	case ListResources, ListTemplates:
		return o&OffersResources == 0
	case ListPrompts:
		return o&OffersPrompts == 0
	}
	return false
}
