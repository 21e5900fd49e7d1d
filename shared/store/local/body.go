package local

import (
	"encoding/json"
	"fmt"

	"mcprelay/shared/catalog"
)

// bodyFormat is the format of the bodies that this relay writes and reads.
// Those of 0 hold tools only, without the digests that pins are compared with.
const bodyFormat = 1

// body is a catalog as it is stored.
type body struct {
	Format int               `json:"format"`
	Head   catalog.Catalog   `json:"head"`
	Pins   map[string]string `json:"pins,omitempty"`
	Items  []catalog.Entry   `json:"items,omitempty"`
}

// unpack is the catalog that a body holds.
func unpack(text []byte, version int64) (catalog.Catalog, error) {
	var b body
	if err := json.Unmarshal(text, &b); err != nil {
		return catalog.Catalog{}, err
	}
	if b.Format != bodyFormat {
		return catalog.Catalog{Version: version}, nil
	}
	c := b.Head
	c.Pins, c.Version = b.Pins, version
	for _, e := range b.Items {
		c.Add(e)
	}
	return c, nil
}

// pack is a catalog as it is stored, or why it cannot be.
func pack(c catalog.Catalog) ([]byte, error) {
	entries := c.Entries()
	if err := catalog.InBounds(entries, ErrTooLarge); err != nil {
		return nil, err
	}
	for _, e := range entries {
		if err := asItem(e.Raw); err != nil {
			return nil, fmt.Errorf("%.128q of its %s: %w", e.Name, e.List, err)
		}
	}
	for what, value := range map[string]any{"what was left out of it": c, "its pins": c.Pins} {
		text, err := json.Marshal(value)
		if err == nil {
			err = asItem(text)
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", what, err)
		}
	}
	return json.Marshal(body{Format: bodyFormat, Head: c, Pins: c.Pins, Items: entries})
}
