package event

import (
	"net/http"
	"strings"

	"github.com/aws/aws-lambda-go/events"

	"mcprelay/shared/call"
)

// single reports whether a header may be given once only: two values of it
// would let two readers see two different requests.
func single(name string) bool {
	switch name {
	case "Authorization", "Content-Type", "Content-Encoding", "Content-Length", "Host", "Origin",
		"Mcp-Protocol-Version", "Mcp-Method", "Mcp-Name", "Mcp-Session-Id", "Idempotency-Key",
		"X-Relay-Client-Id", "X-Relay-Client-Secret", "X-Relay-Run", "X-Relay-Turn":
		return true
	}
	return false
}

// joinable reports whether a comma in a single header can only mean that
// something on the way joined two values. Mcp-Name is not among them: it may
// hold a URI, and differs from the body if it was joined.
func joinable(name string) bool {
	switch name {
	case "Authorization", "Content-Type", "Mcp-Protocol-Version", "Mcp-Method", "Mcp-Session-Id":
		return true
	}
	return false
}

// requestHeader merges the two header maps of an event, whatever the case of
// their names: multiValueHeaders holds every value, headers the last of each.
func requestHeader(e events.APIGatewayProxyRequest) (http.Header, *call.Refusal) {
	header, size := http.Header{}, 0
	add := func(name string, values []string) *call.Refusal {
		if strings.Contains(name, "_") {
			return nil
		}
		for _, value := range values {
			if !token(name) || !fieldValue(value) {
				return call.Refuse(call.BadRequest, "a header of the event holds a byte that a header cannot carry")
			}
			header.Add(name, value)
			size += len(name) + len(value)
		}
		return nil
	}
	for name, values := range e.MultiValueHeaders {
		if refusal := add(name, values); refusal != nil {
			return nil, refusal
		}
	}
	given := header.Clone()
	for name, last := range e.Headers {
		if _, have := given[http.CanonicalHeaderKey(name)]; have {
			continue
		}
		if refusal := add(name, []string{last}); refusal != nil {
			return nil, refusal
		}
	}
	return header, checkHeader(header, size)
}

// checkHeader applies the bounds and the rule of single headers, and removes
// what framed the message on a connection that is not ours.
func checkHeader(header http.Header, size int) *call.Refusal {
	count := 0
	for name, values := range header {
		count += len(values)
		if single(name) && len(values) > 1 {
			return call.Refuse(call.BadRequest, "the header %s was given %d times", name, len(values))
		}
		if joinable(name) && strings.Contains(values[0], ",") {
			return call.Refuse(call.BadRequest, "the header %s holds a comma", name)
		}
	}
	if count > MaxHeaders || size > MaxHeaderBytes {
		return call.Refuse(call.TooLarge, "the event has %d header values, %d bytes", count, size)
	}
	for _, name := range framing() {
		header.Del(name)
	}
	return nil
}

// token reports whether s is a token (RFC 9110 section 5.6.2).
func token(s string) bool {
	for i := range len(s) {
		c := s[i]
		alphanumeric := '0' <= c && c <= '9' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z'
		if !alphanumeric && !strings.Contains("!#$%&'*+-.^_`|~", string(rune(c))) {
			return false
		}
	}
	return s != ""
}

// fieldValue reports whether s can be a header value: visible characters,
// spaces and tabs (RFC 9110 section 5.5); other bytes over 0x7e are opaque.
func fieldValue(s string) bool {
	for i := range len(s) {
		if c := s[i]; c < ' ' && c != '\t' || c == 0x7f {
			return false
		}
	}
	return true
}

// framing lists what describes a connection that is not ours, either way.
func framing() []string {
	return []string{"Content-Length", "Transfer-Encoding", "Connection", "Keep-Alive", "Te", "Trailer", "Upgrade"}
}

// sendable checks every byte of a head that is about to leave: nothing that a
// handler took from elsewhere may split the response.
func sendable(header http.Header) bool {
	for name, values := range header {
		for _, value := range values {
			opaque := strings.ContainsFunc(value, func(c rune) bool { return c > '~' })
			if !token(name) || !fieldValue(value) || opaque {
				return false
			}
		}
	}
	return true
}
