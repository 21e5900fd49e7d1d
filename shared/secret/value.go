// Package secret holds credentials: where they come from, how they are cached,
// and how they get into a request's headers, a child process's variables or
// the TLS settings of a connection.
//
// It promises that a [Value] cannot be printed, logged or marshalled, that a
// credential is sent exactly as it was stored, and that a source is asked at
// most once at a time for one secret. It refuses values that a header or a
// variable cannot carry unchanged, values too short to be masked, names of
// headers and variables that belong to others, and PEM text that is not wholly
// what its place is for.
package secret

import (
	"bytes"
	"crypto/subtle"
	"fmt"
	"log/slog"
)

// hidden is all that any printing of a Value gives.
const hidden = "[redacted]"

// Value is the value of a secret and the version it was read as. It prints as
// "[redacted]" by every verb, encoder and logger. The zero Value is empty.
type Value struct {
	// open closes over the bytes: a printer that walks fields, as fmt does for
	// verbs it does not know, comes to the address of a function and no further.
	open func() ([]byte, string)
}

// NewValue makes a value of a copy of b. The version is the source's own id of
// it; a source without versions gives something that differs whenever the
// bytes do.
func NewValue(b []byte, version string) Value {
	kept := bytes.Clone(b)
	return Value{func() ([]byte, string) { return kept, version }}
}

// Version is the source's id of the value.
func (v Value) Version() string {
	if v.open == nil {
		return ""
	}
	_, version := v.open()
	return version
}

// Len is the length in bytes.
func (v Value) Len() int { return len(v.Expose()) }

// Expose gives the bytes. They must not be changed. Only this package and
// redact may call it.
func (v Value) Expose() []byte {
	if v.open == nil {
		return nil
	}
	b, _ := v.open()
	return b
}

// Same reports whether v and w have the same bytes and version, in a time that
// depends on the lengths only.
func (v Value) Same(w Value) bool {
	return v.Version() == w.Version() && subtle.ConstantTimeCompare(v.Expose(), w.Expose()) == 1
}

// String hides the value.
func (Value) String() string { return hidden }

// GoString hides the value from %#v.
func (Value) GoString() string { return hidden }

// Format hides the value from every verb and flag.
func (Value) Format(s fmt.State, _ rune) { _, _ = s.Write([]byte(hidden)) }

// MarshalJSON hides the value.
func (Value) MarshalJSON() ([]byte, error) { return []byte(`"` + hidden + `"`), nil }

// MarshalText hides the value.
func (Value) MarshalText() ([]byte, error) { return []byte(hidden), nil }

// LogValue hides the value from slog.
func (Value) LogValue() slog.Value { return slog.StringValue(hidden) }
