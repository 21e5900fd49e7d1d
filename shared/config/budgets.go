package config

import "mcprelay/shared/registry"

// readBudgets reads the budgets of classes; nil where there are none.
func readBudgets(members []member) map[string]registry.Budget {
	if len(members) > registry.MaxBudgets {
		members[registry.MaxBudgets].value.fail("a tenant has at most %d budgets", registry.MaxBudgets)
		return nil
	}
	var budgets map[string]registry.Budget
	for _, m := range members {
		if err := registry.BudgetClass(m.name); err != nil {
			m.value.fail("the name of a budget class: %v", err)
		}
		if budgets == nil {
			budgets = make(map[string]registry.Budget)
		}
		budgets[m.name] = readBudget(m)
	}
	return budgets
}

// classes are the tools' budget classes, as they are written.
func (p parts) classes() []node {
	var all []node
	for _, n := range p.servers {
		for _, m := range (object{object{n}.get("config")}).get("budget_classes").entries() {
			all = append(all, m.value)
		}
	}
	return all
}

// checkClasses refuses a class that no budget has, once there are budgets: its
// calls would be counted by nobody.
func (p parts) checkClasses() {
	if len(p.budgets) == 0 {
		return
	}
	budgets := make(map[string]bool)
	for _, m := range p.budgets {
		budgets[m.name] = true
	}
	for _, class := range p.classes() {
		if class.kind == '"' && class.text() != "" && !budgets[class.text()] {
			class.fail("no budget has this class")
		}
	}
}

func readBudget(m member) registry.Budget {
	o := m.value.object("per_minute per_hour per_day on_error")
	b := registry.Budget{
		Class:     m.name,
		PerMinute: int(o.get("per_minute").within(registry.MaxPerWindow)),
		PerHour:   int(o.get("per_hour").within(registry.MaxPerWindow)),
		PerDay:    int(o.get("per_day").within(registry.MaxPerWindow)),
		OnError:   o.get("on_error").word(registry.OnErrorRefuse, registry.OnErrorAllow),
	}
	if o.present() && !o.oneOf("per_minute per_hour per_day") {
		m.value.fail("it bounds nothing: per_minute, per_hour or per_day is needed")
	}
	return b
}

// readToolLimit reads what bounds the calls of one tool.
func readToolLimit(n node) registry.ToolLimit {
	o := n.object("max_arguments_bytes per_minute")
	l := registry.ToolLimit{
		ArgumentsBytes: o.get("max_arguments_bytes").within(registry.MaxArgumentsBytes),
		PerMinute:      int(o.get("per_minute").within(registry.MaxPerWindow)),
	}
	if o.present() && !o.oneOf("max_arguments_bytes per_minute") {
		n.fail("it bounds nothing: max_arguments_bytes or per_minute is needed")
	}
	return l
}

// within is a whole number from 1 to top; 0 where n is not there.
func (n node) within(top int64) int64 {
	number, ok := n.limit()
	switch {
	case !ok:
		return 0
	case number < 1:
		n.fail("it is under the least of 1")
	case number > top:
		n.fail("it is over the hard cap of %d", top)
	}
	return number
}
