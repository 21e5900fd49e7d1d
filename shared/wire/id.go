package wire

import "strconv"

// ID is a JSON-RPC id: a string or an integer, kept as the bytes that came.
// The zero ID is none: a notification, or an id that could not be read.
type ID struct{ raw string }

// NumberID makes the id of a request of the relay's own.
func NumberID(n int64) ID { return ID{strconv.FormatInt(n, 10)} }

// Raw is the JSON text of the id, empty for none.
func (id ID) Raw() []byte { return []byte(id.raw) }

// IsZero reports whether there is no id.
func (id ID) IsZero() bool { return id.raw == "" }

// Spells reports whether both ids mean the same.
func (id ID) Spells(other ID) bool { return id.raw == other.raw && id.raw != "" }
