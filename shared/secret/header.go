package secret

import (
	"errors"
	"fmt"
	"strings"
)

const authorization = "Authorization"

// maxHeaderName bounds a configured header name. The longest registered field
// name has 46 bytes (IANA field name registry).
const maxHeaderName = 64

// errReserved is the error of a header that is not the operator's to set.
var errReserved = errors.New("this header belongs to the protocol or to the connection")

// HeaderName reports whether an operator may put a secret into the header s:
// a token of RFC 9110 section 5.6.2 that neither frames the message, nor
// routes it, nor belongs to MCP or to a cloud platform. An underscore counts as
// a hyphen: servers behind CGI cannot tell the two apart (RFC 3875 section
// 4.1.18).
func HeaderName(s string) error {
	if s == "" {
		return errors.New("a header needs a name")
	}
	if len(s) > maxHeaderName {
		return fmt.Errorf("a header name has at most %d bytes", maxHeaderName)
	}
	for i := range len(s) {
		if !tokenByte(s[i]) {
			return fmt.Errorf("byte %d cannot be in a header name", i+1)
		}
	}
	if reserved(strings.ReplaceAll(strings.ToLower(s), "_", "-")) {
		return errReserved
	}
	return nil
}

// reserved holds the names of lower-case headers that are refused.
func reserved(name string) bool {
	switch name {
	case "host", "content-length", "transfer-encoding", "connection", "keep-alive", "te", "trailer", "upgrade",
		"expect", "forwarded", "via", "cookie", "accept", "accept-encoding", "content-type", "content-encoding",
		"idempotency-key", "x-idempotency-key":
		return true
	}
	for _, prefix := range [...]string{"proxy-", "x-forwarded-", "mcp-", "x-amz-", "x-amzn-"} {
		if strings.HasPrefix(name, prefix) {
			return true
		}
	}
	return false
}

func tokenByte(c byte) bool {
	return alphanumeric(c) || strings.IndexByte("!#$%&'*+-.^_`|~", c) >= 0
}

func alphanumeric(c byte) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9'
}
