// Package policy decides whether a call may be made.
//
// It promises one answer for one question: the rules are a value, compiled
// once, and a decision depends on nothing else. It names the rule that
// decided, or the one that was missing. It refuses what no rule allows, what a
// rule denies, and what a rule leaves to a person's consent, since nobody is
// there to ask.
//
// # Actions
//
// Reaching a server needs mcp.<server>.host.<host, last label first>. A server
// that is a child process has no host: running it needs mcp.<server>.process
// instead. Calling one of its tools also needs mcp.<server>.tool.<name>,
// reading a resource mcp.<server>.resource.<uri> (of a template, the template
// as it is written), getting a prompt mcp.<server>.prompt.<name>, and giving
// the server a secret secret.use.<reference>: one for each that its credential,
// its TLS settings or its process refer to. A rule's action is one of these in full, or ends in ".*" and then stands
// for what is before it and for whatever continues that with a dot. The most
// specific rule decides: exact, then the longest ".*"; of equal ones deny goes
// before ask, and ask before allow.
//
// # What narrows the rules
//
// An agent may be scoped to servers and have access to tools that read only,
// see [Caller]; and policies in Rego may deny a call by what it says, see
// [Engine]. Neither allows what the rules do not.
package policy

import (
	"fmt"
	"slices"
	"strings"
	"unicode"
)

// Word is what a rule says.
type Word string

// The words.
const (
	Allow Word = "allow"
	Ask   Word = "ask"
	Deny  Word = "deny"
)

// Rule is one row of a tenant's table. To is for secret.use rules only and
// limits the rule to servers ("mcp.docs.*", or finer by the action of reaching
// them); a
// secret that several servers refer to is allowed by no rule without it, so
// that a new entry cannot borrow a credential.
type Rule struct {
	Action   string   `json:"action"`
	Decision Word     `json:"decision"`
	To       []string `json:"to,omitempty"`
}

// Error says which rule of a table is unusable and why.
type Error struct {
	Index  int    // of the rule, from 0
	Field  string // action, decision, to or to[n]
	Reason string
}

// Error is the place and the reason.
func (e *Error) Error() string {
	return fmt.Sprintf("rules[%d].%s: %s", e.Index, e.Field, e.Reason)
}

const (
	// MaxAction bounds an action: a server name, a host of 253 bytes (RFC 1035
	// section 2.3.4) or a tool name, and what is between them.
	MaxAction = 512
	// MaxRules bounds a table. It is kept as one item of at most 350 KB.
	MaxRules = 2000
	// MaxTo bounds the servers that one rule lists.
	MaxTo = 64

	secretUse = "secret.use."
)

// check finds what is unusable about a rule: the field and the reason.
func check(r Rule) (field, reason string) {
	if reason := checkAction(r.Action); reason != "" {
		return "action", reason
	}
	switch r.Decision {
	case Allow, Ask, Deny:
	case "":
		return "decision", "it is missing: allow, ask or deny"
	default:
		return "decision", fmt.Sprintf("%.32q is not allow, ask or deny", string(r.Decision))
	}
	return checkTo(r)
}

func checkAction(action string) string {
	if reason := checkWords(action); reason != "" {
		return reason
	}
	words := strings.Split(action, ".")
	switch {
	case words[0] == "mcp":
		return checkServer(words)
	case words[0] == "secret" && words[1] == "*":
		return ""
	case words[0] == "secret" && words[1] == "use":
		if len(action) <= len(secretUse) {
			return "it names no reference: secret.use.<reference>"
		}
		return ""
	}
	return "it matches nothing: actions are mcp.<server>.host.<host>, mcp.<server>.process, mcp.<server>.tool.<name>, mcp.<server>.resource.<uri>, mcp.<server>.prompt.<name> and secret.use.<reference>"
}

// checkWords checks what every action has in common.
func checkWords(action string) string {
	if action == "" {
		return "it is missing"
	}
	if len(action) > MaxAction {
		return fmt.Sprintf("it is longer than %d bytes", MaxAction)
	}
	if strings.TrimSpace(action) != action || strings.ContainsFunc(action, unicode.IsControl) {
		return "it begins or ends with a blank, or holds a control character"
	}
	body, wild := strings.CutSuffix(action, ".*")
	if action == "*" || body == "" {
		return `a "*" needs something before it, as in mcp.docs.*`
	}
	if strings.Contains(body, "*") {
		return `a "*" can only stand at the end, after a dot`
	}
	if !wild && !strings.Contains(body, ".") {
		return "it matches nothing: an action has several words with dots between them"
	}
	return ""
}

// checkServer checks the words from "mcp" on: what cannot match any question
// is refused, so that a mistyped deny does not look like one.
func checkServer(words []string) string {
	if len(words) == 2 {
		if words[1] == "*" {
			return ""
		}
		return "it matches nothing: mcp.<server>.* stands for all of a server"
	}
	if strings.Trim(words[1], "abcdefghijklmnopqrstuvwxyz0123456789-") != "" || words[1] == "" {
		return "its second word is not the name of a server"
	}
	name := strings.Join(words[3:], ".")
	switch kind := words[2]; {
	case kind == "*":
		return ""
	case kind == "process" && name != "" && name != "*":
		return "nothing comes after process: a server has one"
	case kind == "process":
		return ""
	case !slices.Contains([]string{"host", "tool", "resource", "prompt"}, kind):
		return fmt.Sprintf("%.32q is not host, process, tool, resource or prompt", kind)
	case name == "":
		return "it ends too early: a name or * is missing"
	case kind == "host" && name != strings.ToLower(name):
		return "a host is written in lower case"
	}
	return ""
}

func checkTo(r Rule) (field, reason string) {
	if r.To == nil {
		return "", ""
	}
	switch {
	case r.Action != "secret.*" && !strings.HasPrefix(r.Action, secretUse):
		return "to", "only secret.use rules have it"
	case len(r.To) == 0:
		return "to", "it is empty: leave it out, or list servers as mcp.<server>.*"
	case len(r.To) > MaxTo:
		return "to", fmt.Sprintf("it has more than %d entries", MaxTo)
	}
	for i, to := range r.To {
		words := strings.Split(to, ".")
		if checkAction(to) != "" || words[0] != "mcp" || words[1] == "*" || !slices.Contains([]string{"*", "host", "process"}, words[2]) {
			return fmt.Sprintf("to[%d]", i), "it must name one server: mcp.<server>.*, mcp.<server>.host.<host> or mcp.<server>.process"
		}
	}
	return "", ""
}
