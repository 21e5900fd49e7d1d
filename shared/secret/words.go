package secret

import (
	"bytes"
	"encoding/base64"
	"strings"
)

// words gives the parts of a value like "Token <secret>", "Basic <base64>" or a
// PEM text that are secrets by themselves: what lies between blanks, line
// breaks and whatever is not visible ASCII, and the password of a Basic
// credential (RFC 7617), each of at least [MinLength]. A masker knows how every
// encoding spells visible ASCII, and of the rest how it is.
func words(v Value) []Value {
	parts := bytes.FieldsFunc(v.Expose(), func(r rune) bool { return r < 0x21 || r > 0x7e })
	if len(parts) == 0 || len(parts) == 1 && len(parts[0]) == v.Len() {
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
