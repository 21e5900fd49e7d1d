package catalog

import "mcprelay/shared/call"

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
