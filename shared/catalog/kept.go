package catalog

import (
	"errors"
	"slices"
	"time"

	"mcprelay/shared/call"
)

// Lifetime is how long a stored catalog is used without being read again.
const Lifetime = 24 * time.Hour

// ErrConflict is the error of a write of a catalog that somebody else replaced.
var ErrConflict = errors.New("the catalog was replaced by somebody else")

// Catalog is what a store keeps of a server: what it said of itself, its four
// lists, and which descriptions of its tools were approved. The zero Catalog
// says that nothing is kept. Its JSON form has no descriptors, which are kept
// one by one (see [Catalog.Entries]), and no pins.
type Catalog struct {
	Origin       string            `json:"origin,omitempty"` // digest of what the registration said when it was read
	Place        string            `json:"place,omitempty"`  // of where it was read: another place has other pins
	Offers       call.Offers       `json:"offers,omitempty"`
	Instructions string            `json:"instructions,omitempty"` // of the server to models, bounded when they were read
	Tools        []Tool            `json:"-"`
	Resources    []Item            `json:"-"`
	Templates    []Item            `json:"-"`
	Prompts      []Item            `json:"-"`
	Skips        []Skip            `json:"skips,omitempty"` // of all four lists
	Pins         map[string]string `json:"-"`               // tool -> the digest that was approved
	// Failed are the lists that could not be read when the others were: what is
	// here of them is older, or nothing.
	Failed   map[call.List]call.Reason `json:"failed,omitempty"`
	Acquired time.Time                 `json:"acquired,omitzero"` // when the tools were read
	Listed   time.Time                 `json:"listed,omitzero"`   // when all four lists were; zero: tools only
	Version  int64                     `json:"-"`                 // of the store; 0 where it is not stored
}

// Tool finds a tool by the upstream's own name.
func (c Catalog) Tool(name string) (Tool, bool) {
	at := slices.IndexFunc(c.Tools, func(t Tool) bool { return t.Name == name })
	if at < 0 {
		return Tool{}, false
	}
	return c.Tools[at], true
}

// Items are the items of a list that is not of tools.
func (c Catalog) Items(list call.List) []Item {
	switch list {
	case call.ListResources:
		return c.Resources
	case call.ListTemplates:
		return c.Templates
	case call.ListPrompts:
		return c.Prompts
	}
	return nil
}

// Skipped finds why no tool of the name is in the catalog though the server
// has one. Of a name that the server gives several times, one is kept.
func (c Catalog) Skipped(name string) (Skip, bool) {
	at := slices.IndexFunc(c.Skips, func(s Skip) bool { return s.Name == name && s.List == call.ListTools })
	if _, kept := c.Tool(name); at < 0 || kept || name == "" {
		return Skip{}, false
	}
	return c.Skips[at], true
}
