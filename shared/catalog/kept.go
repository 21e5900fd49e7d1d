package catalog

import (
	"errors"
	"slices"
	"time"

	"mcprelay/shared/call"
)

const (
	// Fresh is how long a catalog is used before it is read again. After that
	// it is used while one acquisition replaces it.
	Fresh = 5 * time.Minute
	// Lifetime is how long a stored catalog is used without being read again.
	Lifetime = 24 * time.Hour
)

// ErrConflict is the error of a write of a catalog that somebody else replaced.
var ErrConflict = errors.New("the catalog was replaced by somebody else")

// Catalog is what a store keeps of a server: what it said of itself, its four
// lists, and which descriptions of its tools were approved. The zero Catalog
// says that nothing is kept.
type Catalog struct {
	Origin       string // digest of what the registration said when it was read
	Place        string // of where it was read: another place has other pins
	Offers       call.Offers
	Instructions string // of the server to models, bounded when they were read
	Tools        []Tool
	Resources    []Item
	Templates    []Item
	Prompts      []Item
	Skips        []Skip            // of all four lists
	Pins         map[string]string // tool -> the digest that was approved
	Acquired     time.Time         // when the tools were read
	Listed       time.Time         // when all four lists were; zero: tools only
	Version      int64             // of the store; 0 where it is not stored
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
