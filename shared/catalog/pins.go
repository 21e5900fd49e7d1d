package catalog

import (
	"maps"
	"slices"
)

// Why a tool is held back.
const (
	HeldChanged = "changed" // its description is not the approved one
	HeldNew     = "new"     // nobody approved any of it
)

// Pinned is c with the pins that follow from before, which is what was stored.
// A server that was never read, or was read at another place, has all of its
// tools approved as they are. Otherwise what was approved stays, also of tools
// that are gone, and nothing is approved beside it, unless the names are
// allowed ones: then the operator has named each tool, and what is seen for
// the first time is approved.
func (c Catalog) Pinned(allowed bool, before Catalog) Catalog {
	if before.Acquired.IsZero() || before.Place != c.Place {
		c.Pins = nil
		return c.Approved()
	}
	c.Pins = maps.Clone(before.Pins)
	if !allowed {
		return c
	}
	var unseen []string
	for _, tool := range c.Tools {
		if _, pinned := c.Pins[tool.Name]; !pinned {
			unseen = append(unseen, tool.Name)
		}
	}
	if len(unseen) == 0 {
		return c
	}
	return c.Approved(unseen...)
}

// Held reports whether a tool of the catalog is held back, and why. What is
// not in the catalog is not held.
func (c Catalog) Held(name string) (why string, held bool) {
	tool, ok := c.Tool(name)
	if !ok {
		return "", false
	}
	switch pin, pinned := c.Pins[name]; {
	case !pinned:
		return HeldNew, true
	case pin != tool.Digest:
		return HeldChanged, true
	}
	return "", false
}

// Approved is c with the tools of these names approved as they are now; all of
// its tools where none is named. A name that is not in the catalog changes
// nothing.
func (c Catalog) Approved(names ...string) Catalog {
	pins := make(map[string]string, len(c.Tools))
	maps.Copy(pins, c.Pins)
	for _, tool := range c.Tools {
		if len(names) == 0 || slices.Contains(names, tool.Name) {
			pins[tool.Name] = tool.Digest
		}
	}
	c.Pins = pins
	return c
}
