package registry

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

const (
	lower   = "abcdefghijklmnopqrstuvwxyz"
	upper   = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
	digits  = "0123456789"
	letters = lower + upper

	maxServerName = 32  // leaves room for a tool's name behind it within 128
	maxName       = 64  // tenants, references and budget classes: parts of keys and rules
	maxTool       = 128 // MCP 2025-11-25, server/tools, tool names
	maxSubject    = 256 // OpenID Connect Core section 2 has 255 for sub
)

// ServerName says what is wrong with the name of a server:
// [a-z][a-z0-9-]{0,31}.
func ServerName(s string) error {
	return spelled(s, lower, lower+digits+"-", maxServerName)
}

// TenantID says what is wrong with the id of a tenant:
// [A-Za-z0-9][A-Za-z0-9._-]{0,63}. It is part of the keys of every store.
func TenantID(s string) error {
	return spelled(s, letters+digits, letters+digits+"._-", maxName)
}

// Reference says what is wrong with the name of a secret:
// [A-Za-z0-9][A-Za-z0-9._-]{0,63}. It is part of rules.
func Reference(s string) error {
	return spelled(s, letters+digits, letters+digits+"._-", maxName)
}

// BudgetClass says what is wrong with the name of a budget class.
func BudgetClass(s string) error {
	return spelled(s, letters+digits, letters+digits+"._-", maxName)
}

// OfferedName says what is wrong with the name that a tool is offered under:
// [A-Za-z0-9_.-]{1,128}, which every client takes.
func OfferedName(s string) error {
	return spelled(s, letters+digits+"_.-", letters+digits+"_.-", maxTool)
}

// ToolName says what is wrong with an upstream's own name of a tool. Servers
// take more liberties than MCP's advice: it may hold anything but control
// characters and blanks at either end.
func ToolName(s string) error { return text(s, maxTool) }

// Subject says what is wrong with the subject of a caller.
func Subject(s string) error { return text(s, maxSubject) }

// spelled checks that s begins with a byte of first, goes on with bytes of
// rest and has at most longest of them.
func spelled(s, first, rest string, longest int) error {
	switch {
	case s == "":
		return fmt.Errorf("it is missing or empty")
	case len(s) > longest:
		return fmt.Errorf("it is longer than %d characters", longest)
	case !strings.Contains(first, s[:1]):
		return fmt.Errorf("it must begin with one of %s", ranges(first))
	}
	for i := range len(s) {
		if strings.IndexByte(rest, s[i]) < 0 {
			return fmt.Errorf("its byte %d is not one of %s", i+1, ranges(rest))
		}
	}
	return nil
}

// ranges writes a set of characters for people.
func ranges(set string) string {
	return strings.TrimSpace(strings.NewReplacer(lower, "a-z ", upper, "A-Z ", digits, "0-9 ").Replace(set))
}

func text(s string, longest int) error {
	switch {
	case s == "":
		return fmt.Errorf("it is missing or empty")
	case utf8.RuneCountInString(s) > longest:
		return fmt.Errorf("it is longer than %d characters", longest)
	case !utf8.ValidString(s):
		return fmt.Errorf("it is not valid UTF-8")
	case strings.TrimSpace(s) != s || strings.ContainsFunc(s, unicode.IsControl):
		return fmt.Errorf("it begins or ends with a blank, or holds a control character")
	}
	return nil
}
