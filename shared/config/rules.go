package config

import (
	"errors"
	"regexp"
	"strings"

	"mcprelay/shared/policy"
)

// readRules reads and compiles the table; one that is not there is empty.
func readRules(n node) policy.Rules {
	var rules []policy.Rule
	readable := true
	for _, item := range n.list() {
		rule, ok := readRule(item)
		rules = append(rules, rule)
		readable = readable && ok
	}
	if !readable {
		return policy.Rules{}
	}
	compiled, err := policy.Compile(rules)
	var broken *policy.Error
	if errors.As(err, &broken) {
		item := n.items[broken.Index]
		item.path += "." + broken.Field
		item.fail("%s", broken.Reason)
	}
	return compiled
}

// plain is a word that an error may repeat, as the errors of policy do with a
// decision and with the third word of an action. The longest that means
// something is "resource".
var plain = regexp.MustCompile(`^[A-Za-z]{0,8}$`)

// readRule is false where the report says what is wrong with the shape of n.
func readRule(n node) (policy.Rule, bool) {
	problems := len(n.report.problems)
	o := n.object("action decision to")
	rule := policy.Rule{Action: o.get("action").optional(), Decision: policy.Word(o.get("decision").optional())}
	if !plain.MatchString(string(rule.Decision)) {
		o.get("decision").fail("it is not allow, ask or deny")
	}
	if words := strings.Split(rule.Action, "."); len(words) > 2 && words[0] == "mcp" && words[2] != "*" && !plain.MatchString(words[2]) {
		o.get("action").fail("its third word is not host, process, tool, resource or prompt")
	}
	if to := o.get("to"); to.present() {
		rule.To = []string{}
		for _, server := range to.list() {
			rule.To = append(rule.To, server.text())
		}
	}
	return rule, len(n.report.problems) == problems
}

// optional is the string n, "" where it is not there.
func (n node) optional() string {
	if !n.present() {
		return ""
	}
	return n.text()
}
