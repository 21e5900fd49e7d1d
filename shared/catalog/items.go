package catalog

import (
	"encoding/json"

	"mcprelay/shared/call"
)

// Item is one resource, resource template or prompt of a server. Raw is the
// descriptor as the server sent it.
type Item struct {
	Name string // uri, uriTemplate or name
	Raw  json.RawMessage
}

// Items reads the raw descriptors of a list that is not of tools.
func Items(list call.List, raw []json.RawMessage, bounds Bounds) ([]Item, []Skip) {
	return nil, nil
}
