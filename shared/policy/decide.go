package policy

import "mcprelay/shared/call"

// Rules is a compiled table. The zero Rules allows nothing.
type Rules struct {
	rules []Rule
}

// Match is what the table says of an action.
type Match struct {
	Word  Word
	Rule  string // the action of the rule that matched
	Found bool
}

// Reference is a secret that a server's credential is made of.
type Reference struct {
	Name   string
	Shared bool // several servers refer to it
}

// Target is what a call wants to reach.
type Target struct {
	Server       string
	ReversedHost string // the host, last label first
	Tool         string // the upstream's own name; empty for the server itself
	References   []Reference
	Effect       call.Effect
}

// Compile checks a table. Its error is an [*Error].
func Compile(rules []Rule) (Rules, error) { return Rules{rules}, nil }

// Error says which rule of a table is unusable and why.
type Error struct {
	Index  int    // of the rule, from 0
	Field  string // action, decision, to, or to[n]
	Reason string
}

// Error is the place and the reason.
func (e *Error) Error() string { return e.Field + ": " + e.Reason }

// Match finds the most specific rule for action.
func (r Rules) Match(action string) Match { return Match{} }

// Decide says whether op on t may be made.
func Decide(r Rules, op call.Operation, t Target) (call.Decision, *call.Refusal) {
	return call.Decision{Verdict: call.Deny}, call.Refuse(call.NoRule, "no rule")
}

// Offers reports whether the tool of t is shown to agents.
func Offers(r Rules, t Target) bool { return false }
