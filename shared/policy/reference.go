package policy

import "strings"

// Reference is a secret that a server's credential is made of.
type Reference struct {
	Name   string
	Shared bool // several servers refer to it
}

// credential is what the table says of sending a secret to a server.
type credential struct {
	Match
	misses bool // a rule allows the secret, but not to this server
}

// credential finds the most specific rule that concerns the secret ref and the
// server that the given action reaches, by its host or as a process. A deny or ask that is limited to other
// servers does not concern it. An allow always does: limited to other servers,
// or, for a shared secret, to none, it says that this server may not have it.
func (r Rules) credential(ref Reference, reach string) credential {
	for rules := range r.levels(secretUse + ref.Name) {
		if c := concerning(rules, ref, reach); c.Found {
			return c
		}
	}
	return credential{}
}

// concerning is credential among equally specific rules.
func concerning(rules []Rule, ref Reference, reach string) credential {
	var found credential
	for _, rule := range rules {
		covers := rule.To == nil || covered(rule.To, reach)
		if rule.Decision != Allow && !covers {
			continue
		}
		misses := rule.Decision == Allow && (!covers || ref.Shared && rule.To == nil)
		if next := (credential{Match{rule.Decision, rule.Action, true}, misses}); stricter(next, found) {
			found = next
		}
	}
	return found
}

// stricter reports whether a goes before b: deny, ask, an allow for this
// server, an allow for others, nothing.
func stricter(a, b credential) bool { return a.rank() > b.rank() }

func (c credential) rank() int {
	switch {
	case !c.Found:
		return 0
	case c.misses:
		return 1
	case c.Word == Allow:
		return 2
	case c.Word == Ask:
		return 3
	}
	return 4
}

// covered reports whether one of the patterns stands for the action of reaching a server.
func covered(to []string, reach string) bool {
	for _, pattern := range to {
		body, wild := strings.CutSuffix(pattern, ".*")
		if pattern == reach || wild && (reach == body || strings.HasPrefix(reach, body+".")) {
			return true
		}
	}
	return false
}
