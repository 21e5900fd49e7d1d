package config

import (
	"maps"
	"slices"
	"strings"

	"mcprelay/shared/policy"
	"mcprelay/shared/registry"
)

// warn reports what is well-formed and yet has no effect, or another one than
// it seems to have: mistyped names above all.
func (p parts) warn(t *registry.Tenant) {
	p.warnRules(t)
	for _, n := range p.agents {
		for _, item := range (object{n}).get("servers").list() {
			if _, ok := t.Servers[item.text()]; !ok {
				item.warn("no server has this name")
			}
		}
	}
	p.warnBudgets()
	for _, n := range p.issuers {
		warnSubjects(object{n}, t)
	}
}

// warnBudgets looks for classes that only one side names. That there are budgets,
// and none of a class, is refused before.
func (p parts) warnBudgets() {
	used := make(map[string]bool)
	for _, class := range p.classes() {
		used[class.text()] = true
		if len(p.budgets) == 0 {
			class.warn("there are no budgets: the calls of this class are not counted")
		}
	}
	for _, m := range p.budgets {
		if !used[m.name] {
			m.value.warn("no tool has this budget class")
		}
	}
}

// warnSubjects looks for callers of an issuer that nothing narrows, though
// something narrows others.
func warnSubjects(issuer object, t *registry.Tenant) {
	subjects := issuer.get("subjects")
	if subjects.present() && len(subjects.members) == 0 {
		subjects.warn("it is empty: every caller of this issuer is refused")
	}
	if len(t.Agents) == 0 {
		return
	}
	for _, m := range subjects.entries() {
		if _, ok := t.Narrowed(m.value.text(), ""); !ok {
			m.value.warn("agents has no entry for this subject, so nothing narrows it")
		}
	}
	name := issuer.get("issuer")
	own := func(a registry.Agent) bool { return a.Issuer == name.text() }
	if !subjects.present() && !slices.ContainsFunc(slices.Collect(maps.Values(t.Agents)), own) {
		name.warn("agents has no entry with this issuer, so nothing narrows its callers")
	}
}

// warnRules looks for rules that never decide.
func (p parts) warnRules(t *registry.Tenant) {
	table := t.Rules.Table()
	first := make(map[string]int)
	for i, rule := range table {
		at := object{p.rules.items[i]}
		if reason := unreachable(rule, t); reason != "" {
			at.get("action").warn("%s", reason)
		}
		for j, to := range rule.To {
			if name := strings.Split(to, ".")[1]; t.Servers[name] == nil {
				at.get("to").items[j].warn("no server has this name")
			}
		}
		key := rule.Action + " " + strings.Join(rule.To, " ")
		before, repeated := first[key]
		switch {
		case !repeated:
			first[key] = i
		case stricter(rule.Decision) > stricter(table[before].Decision):
			object{p.rules.items[before]}.get("action").warn("it never decides: a stricter rule has the same action")
			first[key] = i
		default:
			at.get("action").warn("it never decides: a rule of the same action goes before it")
		}
	}
}

// stricter orders decisions by which goes before which.
func stricter(w policy.Word) int {
	return map[policy.Word]int{policy.Allow: 1, policy.Ask: 2, policy.Deny: 3}[w]
}

// unreachable says why a rule matches nothing of t, or is empty.
func unreachable(rule policy.Rule, t *registry.Tenant) string {
	words := strings.Split(rule.Action, ".")
	switch {
	case words[0] == "secret":
		return unusedSecret(rule, t)
	case words[1] == "*":
		return ""
	case t.Servers[words[1]] == nil:
		return "it matches nothing: no server has this name"
	case words[2] == "host", words[2] == "process":
		return otherPlace(rule.Action, t.Servers[words[1]])
	case words[2] == "tool":
		return unknownTool(rule.Action, t.Servers[words[1]])
	}
	return ""
}

// covers reports whether a rule for action stands for name.
func covers(action, name string) bool {
	body, wild := strings.CutSuffix(action, ".*")
	return name == body || wild && strings.HasPrefix(name, body+".")
}

func otherPlace(action string, s *registry.Server) string {
	reach := "mcp." + s.Name + ".process"
	if s.Process == nil {
		reach = "mcp." + s.Name + ".host." + s.Endpoint.ReversedHost()
	}
	if covers(action, reach) {
		return ""
	}
	return "it matches nothing: the server is reached by " + reach
}

func unknownTool(action string, s *registry.Server) string {
	prefix := "mcp." + s.Name + ".tool."
	known := false
	for _, tool := range s.AllowedTools {
		known = known || covers(action, prefix+tool)
	}
	if known || covers(action, strings.TrimSuffix(prefix, ".")) {
		return ""
	}
	for upstream, offered := range s.Bindings {
		if covers(action, prefix+upstream) {
			return ""
		}
		if action == prefix+offered {
			return "it is the name that the tool is offered under: rules use the server's own name of it"
		}
	}
	if s.AllowedTools == nil {
		return ""
	}
	return "it matches nothing: allowed_tools has no such tool"
}

func unusedSecret(rule policy.Rule, t *registry.Tenant) string {
	const prefix = "secret.use."
	if !strings.HasPrefix(rule.Action, prefix) || rule.Action == prefix+"*" {
		return ""
	}
	for _, s := range t.Servers {
		for _, ref := range s.References() {
			if !covers(rule.Action, prefix+ref) {
				continue
			}
			if rule.Action == prefix+ref && rule.Decision == policy.Allow && rule.To == nil && t.Shared(ref) {
				return `it allows nothing: several servers have this secret, which needs "to"`
			}
			return ""
		}
	}
	return "it matches nothing: no server refers to this secret"
}
