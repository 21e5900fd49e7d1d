package front

import (
	"mime"
	"strconv"
)

// usualAccept is what the SDKs send.
const usualAccept = "application/json, text/event-stream"

// takesEvents reports whether the values of Accept name the type of event
// streams with a weight over 0 (RFC 9110 section 12.5.1). A wildcard does not:
// MCP has its clients name the type, and who sends "*/*" or no Accept at all
// mostly reads JSON alone. A malformed element counts for nothing.
func takesEvents(accept []string) bool {
	if len(accept) == 1 && accept[0] == usualAccept {
		return true
	}
	for _, value := range accept {
		for _, element := range elements(value) {
			media, params, err := mime.ParseMediaType(element)
			if err == nil && media == eventStream && weighs(params) {
				return true
			}
		}
	}
	return false
}

// weighs reports whether the parameters of an element leave it a weight over 0.
func weighs(params map[string]string) bool {
	text, given := params["q"]
	if !given {
		return true
	}
	q, err := strconv.ParseFloat(text, 64)
	return err == nil && q > 0 && q <= 1
}

// elements splits a list at the commas outside quoted strings (RFC 9110
// sections 5.6.1 and 5.6.4).
func elements(list string) []string {
	var found []string
	quoted, from := false, 0
	for i := 0; i < len(list); i++ {
		switch c := list[i]; {
		case quoted && c == '\\':
			i++
		case c == '"':
			quoted = !quoted
		case c == ',' && !quoted:
			found = append(found, list[from:i])
			from = i + 1
		}
	}
	return append(found, list[from:])
}
