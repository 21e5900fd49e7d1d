package wire

import (
	"net/http"
	"strings"
)

// Via is the value of the Via header on every request that a relay sends
// (RFC 9110 7.6.3).
const Via = "1.1 mcprelay"

// Passed reports whether a relay sent a request with these headers. A chain of
// relays could be a circle, in which each records and repeats the call.
func Passed(h http.Header) bool {
	for _, value := range h.Values("Via") {
		if strings.Contains(strings.ToLower(value), "mcprelay") {
			return true
		}
	}
	return false
}
