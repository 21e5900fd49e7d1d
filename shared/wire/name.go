package wire

import (
	"encoding/base64"
	"errors"
	"strings"
	"unicode/utf8"
)

// The sentinel around a value that a header cannot carry plainly. Its case
// counts, so "=?BASE64?" begins a plain value (2026-07-28, basic/transports).
const (
	sentinelStart = "=?base64?"
	sentinelEnd   = "?="
)

// errSentinel is of a value between the sentinel that is not base64 of UTF-8.
var errSentinel = errors.New("the sentinel does not hold base64 of UTF-8")

// EncodeName gives the value of Mcp-Name for a tool, prompt or URI: s itself
// where [HeaderValue] allows it and it does not look encoded already, else its
// base64 inside the sentinel.
func EncodeName(s string) string {
	if HeaderValue(s) == nil && !sentinel(s) {
		return s
	}
	return sentinelStart + base64.StdEncoding.EncodeToString([]byte(s)) + sentinelEnd
}

// DecodeName is the reverse of [EncodeName]. A plain value is itself, so is
// one that has only half of the sentinel.
func DecodeName(s string) (string, error) {
	if !sentinel(s) {
		return s, nil
	}
	text, err := base64.StdEncoding.Strict().DecodeString(s[len(sentinelStart) : len(s)-len(sentinelEnd)])
	if err != nil || !utf8.Valid(text) || strings.ContainsAny(s, "\r\n") {
		return "", errSentinel
	}
	return string(text), nil
}

// sentinel reports whether s looks encoded.
func sentinel(s string) bool {
	return len(s) >= len(sentinelStart)+len(sentinelEnd) &&
		strings.HasPrefix(s, sentinelStart) && strings.HasSuffix(s, sentinelEnd)
}
