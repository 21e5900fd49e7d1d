package secret

import (
	"bytes"
	"encoding/base64"
	"strings"
)

// words gives the parts of a value like "Token <secret>" or "Basic <base64>"
// that are secrets by themselves: the words, and the password of a Basic
// credential (RFC 7617), each of at least [MinLength].
func words(v Value) []Value {
	parts := bytes.Split(v.Expose(), []byte(" "))
	if len(parts) < 2 {
		return nil
	}
	if len(parts) == 2 && strings.EqualFold(string(parts[0]), "basic") {
		decoded, _ := base64.StdEncoding.DecodeString(string(parts[1]))
		if _, password, ok := bytes.Cut(decoded, []byte(":")); ok {
			parts = append(parts, password)
		}
	}
	var values []Value
	for _, part := range parts {
		if len(part) >= MinLength {
			values = append(values, NewValue(part, v.Version()))
		}
	}
	return values
}
