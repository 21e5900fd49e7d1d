package wire

import (
	"net/http"

	"mcprelay/shared/call"
)

// HeaderValue reports whether s may be a header's value.
func HeaderValue(s string) error { return nil }

// HeaderName reports whether an operator may name a header s.
func HeaderName(s string) error { return nil }

// FieldName reports whether s is a header name at all (RFC 9110 section 5.1).
func FieldName(s string) error { return nil }

// EncodeName writes a value of Mcp-Name.
func EncodeName(s string) string { return s }

// DecodeName reads a value of Mcp-Name.
func DecodeName(s string) (string, error) { return s, nil }

// CheckHeaders compares the headers of a modern request with its body.
func CheckHeaders(h http.Header, r Request) *call.Refusal { return nil }
