package wire

import (
	"strconv"
	"strings"
)

// ID is a JSON-RPC id: a string or an integer, kept as the bytes that came.
// The zero ID is none: a notification, or an id that could not be read. Ids
// are comparable with ==, byte for byte.
type ID struct{ raw string }

// NumberID makes the id of a request of the relay's own.
func NumberID(n int64) ID { return ID{strconv.FormatInt(n, 10)} }

// Raw is the JSON text of the id, nil for none. The caller owns it.
func (id ID) Raw() []byte {
	if id.raw == "" {
		return nil
	}
	return []byte(id.raw)
}

// IsZero reports whether there is no id.
func (id ID) IsZero() bool { return id.raw == "" }

// Spells reports whether both ids mean the same: the same bytes, the same
// string with other escapes, a string of our number or the reverse, or a
// number that a peer keeps as a float (1.0 for 1). No id spells none.
func (id ID) Spells(other ID) bool {
	if id.raw == "" || other.raw == "" {
		return false
	}
	return id.raw == other.raw || id.text() == other.text()
}

// text is the id without its JSON spelling.
func (id ID) text() string {
	if id.raw[0] == '"' {
		return string(unquote([]byte(id.raw)))
	}
	return integral(id.raw)
}

// integral drops the fraction of a JSON number when it is zero.
func integral(number string) string {
	whole, fraction, found := strings.Cut(number, ".")
	if found && strings.Trim(fraction, "0") == "" {
		return whole
	}
	return number
}
