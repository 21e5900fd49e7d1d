package catalog

import (
	"errors"
	"slices"
	"time"
)

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

// Skipped finds why no tool of the name is in the catalog though the server
// has one. Of a name that the server gives several times, one is kept.
func (c Catalog) Skipped(name string) (Skip, bool) {
	at := slices.IndexFunc(c.Skips, func(s Skip) bool { return s.Name == name })
	if _, kept := c.Tool(name); at < 0 || kept || name == "" {
		return Skip{}, false
	}
	return c.Skips[at], true
}
