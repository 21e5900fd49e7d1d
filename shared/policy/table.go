package policy

import (
	"fmt"
	"slices"
	"strings"
)

// Rules is a compiled table. The zero Rules allows nothing.
type Rules struct {
	exact    map[string][]Rule // by action
	prefix   map[string][]Rule // by action without its ".*"
	compiled []Rule
}

// Match is what a table says of an action.
type Match struct {
	Word  Word
	Rule  string // the action of the rule that matched
	Found bool
}

// Compile checks a table and makes it ready. Its error is an [*Error].
func Compile(rules []Rule) (Rules, error) {
	if len(rules) > MaxRules {
		return Rules{}, &Error{Index: MaxRules, Field: "action", Reason: fmt.Sprintf("a table has at most %d rules", MaxRules)}
	}
	r := Rules{exact: make(map[string][]Rule), prefix: make(map[string][]Rule), compiled: slices.Clone(rules)}
	for i, rule := range r.compiled {
		if field, reason := check(rule); field != "" {
			return Rules{}, &Error{Index: i, Field: field, Reason: reason}
		}
		if body, ok := strings.CutSuffix(rule.Action, ".*"); ok {
			r.prefix[body] = append(r.prefix[body], rule)
		} else {
			r.exact[rule.Action] = append(r.exact[rule.Action], rule)
		}
	}
	return r, nil
}

// Table gives the rules as they were compiled, in their order.
func (r Rules) Table() []Rule { return slices.Clone(r.compiled) }

// Match finds the most specific rule for action, whatever servers it is
// limited to.
func (r Rules) Match(action string) Match {
	for rules := range r.levels(action) {
		return strictest(rules)
	}
	return Match{}
}

// levels gives the rules that match action, those of one specificity at a
// time, the most specific first.
func (r Rules) levels(action string) func(yield func([]Rule) bool) {
	return func(yield func([]Rule) bool) {
		if rules := r.exact[action]; len(rules) > 0 && !yield(rules) {
			return
		}
		// No rule is longer, and a server may give a resource a URI of any length.
		for body := action[:min(len(action), MaxAction+1)]; body != ""; {
			if rules := r.prefix[body]; len(rules) > 0 && !yield(rules) {
				return
			}
			body = body[:max(strings.LastIndexByte(body, '.'), 0)]
		}
	}
}

// strictest is the match of the rule that goes first among equally specific
// ones, of which there is at least one.
func strictest(rules []Rule) Match {
	for _, word := range [...]Word{Deny, Ask, Allow} {
		for _, rule := range rules {
			if rule.Decision == word {
				return Match{Word: word, Rule: rule.Action, Found: true}
			}
		}
	}
	return Match{}
}
