// Package policy decides whether a call may be made.
//
// It promises one answer for one question: the rules are a value, compiled
// once, and a decision depends on nothing else. It names the rule that
// decided, or the one that was missing. It refuses what no rule allows, what a
// rule denies, and what a rule leaves to a person's consent, since nobody is
// there to ask.
package policy

// Word is what a rule says.
type Word string

// The words. Where two rules match equally well, deny goes before ask and ask
// before allow.
const (
	Allow Word = "allow"
	Ask   Word = "ask"
	Deny  Word = "deny"
)

// Rule is one row of a tenant's table. Action is exact, or ends in ".*" and
// then matches what stands before it and whatever continues that with a dot.
// To, for secret.use rules only, lists the servers the secret may be sent to
// ("mcp.docs.*"); a secret that several servers refer to needs it.
type Rule struct {
	Action   string   `json:"action"`
	Decision Word     `json:"decision"`
	To       []string `json:"to,omitempty"`
}
