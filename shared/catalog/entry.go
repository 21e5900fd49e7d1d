package catalog

import (
	"fmt"
	"unicode/utf8"

	"mcprelay/shared/call"
)

// Entry is one descriptor of a list, as stores keep it: its bytes are bytes,
// since JSON within JSON would be written anew.
type Entry struct {
	List   call.List `json:"list"`
	Name   string    `json:"name"`
	Raw    []byte    `json:"raw"`
	Digest string    `json:"digest,omitempty"` // of a tool
}

// Entries are the descriptors of all four lists, each list in its order. With
// what the JSON form of c says and its pins they are all of c.
func (c Catalog) Entries() []Entry {
	all := make([]Entry, 0, len(c.Tools)+len(c.Resources)+len(c.Templates)+len(c.Prompts))
	for _, tool := range c.Tools {
		all = append(all, Entry{call.ListTools, tool.Name, tool.Raw, tool.Digest})
	}
	for _, list := range []call.List{call.ListResources, call.ListTemplates, call.ListPrompts} {
		for _, item := range c.Items(list) {
			all = append(all, Entry{List: list, Name: item.Name, Raw: item.Raw})
		}
	}
	return all
}

// The bounds of one catalog, in any store.
const (
	// MaxListed is the most items of one list; the hard cap of max_tools is half
	// of it.
	MaxListed = 1024
	// MaxBytes bounds the descriptors together, in bytes: the defaults of
	// max_tools and max_descriptor_bytes multiplied. Reading as much takes
	// DynamoDB 16 pages.
	MaxBytes = 16 << 20
)

// InBounds refuses descriptors that are too many, or too large together, with
// tooLarge, and a name that no store could give back.
func InBounds(entries []Entry, tooLarge error) error {
	size, listed := 0, 0
	for i, e := range entries {
		if listed++; i > 0 && e.List != entries[i-1].List {
			listed = 1
		}
		if listed > MaxListed {
			return fmt.Errorf("%w: over %d %s", tooLarge, MaxListed, e.List)
		}
		if size += len(e.Raw); size > MaxBytes {
			return fmt.Errorf("%w: its descriptors up to %.128q have %d bytes, at most %d", tooLarge, e.Name, size, MaxBytes)
		}
		if !utf8.ValidString(e.Name) {
			return fmt.Errorf("the name %.128q is not UTF-8", e.Name)
		}
	}
	return nil
}

// Add puts a descriptor at the end of its list.
func (c *Catalog) Add(e Entry) {
	switch e.List {
	case call.ListResources:
		c.Resources = append(c.Resources, Item{e.Name, e.Raw})
	case call.ListTemplates:
		c.Templates = append(c.Templates, Item{e.Name, e.Raw})
	case call.ListPrompts:
		c.Prompts = append(c.Prompts, Item{e.Name, e.Raw})
	default:
		c.Tools = append(c.Tools, Tool{e.Name, e.Raw, e.Digest})
	}
}
