package wire

import (
	"errors"
	"fmt"
	"strings"
)

// The faults of a header that hold no position.
var (
	errEmptyValue = errors.New("a header value is empty")
	errEmptyName  = errors.New("a header name is empty")
	errReserved   = errors.New("the header is the relay's own to set, or belongs to the connection")
)

// HeaderValue reports whether s may be sent as a header's value: one or more
// bytes from 0x20 to 0x7e, no blank at either end, because net/http trims
// blanks and turns other bytes into blanks without an error. The error tells
// the position of the first bad byte, counted from 0, and never a byte: the
// value may be a credential (SECURITY 4.1).
func HeaderValue(s string) error {
	if s == "" {
		return errEmptyValue
	}
	for i := range len(s) {
		edge := i == 0 || i == len(s)-1
		if s[i] < ' ' || s[i] > '~' || edge && s[i] == ' ' {
			return fmt.Errorf("a header value cannot hold its byte %d", i)
		}
	}
	return nil
}

// FieldName reports whether s has the syntax of a header's name: a token (RFC
// 9110 section 5.6.2). net/http drops other names without an error.
func FieldName(s string) error {
	if s == "" {
		return errEmptyName
	}
	for i := range len(s) {
		c := s[i]
		letter := c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9'
		if !letter && strings.IndexByte("!#$%&'*+-.^_`|~", c) < 0 {
			return fmt.Errorf("a header name cannot hold its byte %d", i)
		}
	}
	return nil
}

// HeaderName reports whether an operator may have a credential sent in a
// header called s: a token that neither frames the message, nor routes it, nor
// makes it repeatable, nor belongs to MCP or AWS (SECURITY 4.1). An underscore
// counts as a hyphen: servers behind CGI cannot tell the two apart.
func HeaderName(s string) error {
	if err := FieldName(s); err != nil {
		return err
	}
	name := strings.ReplaceAll(strings.ToLower(s), "_", "-")
	switch name {
	case "host", "content-length", "transfer-encoding", "connection", "keep-alive", "te", "trailer",
		"upgrade", "expect", "forwarded", "via", "cookie", "accept", "accept-encoding", "content-type",
		"idempotency-key", "x-idempotency-key":
		return errReserved
	}
	for _, prefix := range []string{"proxy-", "x-forwarded-", "mcp-", "x-amz-", "x-amzn-"} {
		if strings.HasPrefix(name, prefix) {
			return errReserved
		}
	}
	return nil
}
