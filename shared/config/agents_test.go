package config_test

import (
	"fmt"
	"strings"
	"testing"

	"mcprelay/shared/config"
	"mcprelay/shared/registry"

	"github.com/google/go-cmp/cmp"
)

func TestWhatNarrowsCallers(t *testing.T) {
	c := read(t, file([]any{entry("docs"), entry("wiki")}, "agents", []any{
		object{"subject": "ci", "servers": []any{"docs"}, "access": "read"}, object{"subject": "Zoë #1"}, object{"subject": "ops", "access": "build"},
	}), config.Options{})
	want := map[string]registry.Agent{
		"ci":     {Subject: "ci", Servers: []string{"docs"}, Access: "read"},
		"Zoë #1": {Subject: "Zoë #1", Access: "build"},
		"ops":    {Subject: "ops", Access: "build"},
	}
	if diff := cmp.Diff(want, c.Tenant.Agents); diff != "" || c.Warnings != nil {
		t.Errorf("agents (-want +got):\n%s\nwarnings %q", diff, c.Warnings)
	}
}

func TestBudgetsAndLimits(t *testing.T) {
	c := read(t, file([]any{entry("docs", "budget_classes", object{"get": "a", "put": "b"}, "limits", object{"get": object{"max_arguments_bytes": 1 << 20}, "a b": object{"per_minute": 1}})},
		"budgets", object{"a": object{"per_minute": 1, "per_hour": 2, "per_day": 1_000_000_000}, "b": object{"per_day": 3, "on_error": "allow"}}), config.Options{})
	budgets := map[string]registry.Budget{
		"a": {Class: "a", PerMinute: 1, PerHour: 2, PerDay: 1_000_000_000, OnError: "refuse"},
		"b": {Class: "b", PerDay: 3, OnError: "allow"},
	}
	if diff := cmp.Diff(budgets, c.Tenant.Budgets); diff != "" {
		t.Errorf("budgets (-want +got):\n%s", diff)
	}
	limits := map[string]registry.ToolLimit{"get": {ArgumentsBytes: 1 << 20}, "a b": {PerMinute: 1}}
	if diff := cmp.Diff(limits, c.Tenant.Servers["docs"].ToolLimits); diff != "" {
		t.Errorf("limits (-want +got):\n%s", diff)
	}
}

func TestProblemsOfAgentsBudgetsAndLimits(t *testing.T) {
	agents := func(a ...any) object { return file([]any{}, "agents", append([]any{}, a...)) }
	budget := func(pairs ...any) object {
		b := object{}
		set(b, pairs)
		return file([]any{}, "budgets", object{"x": b})
	}
	limit := func(pairs ...any) object {
		l := object{}
		set(l, pairs)
		return one(tools("limits", object{"get": l}))
	}
	const at = "servers[0].config.limits.get"
	ci := object{"subject": "ci"}
	cases := []struct {
		name string
		file any
		want []string
	}{
		{"agents of another kind", file([]any{}, "agents", object{}), []string{"agents: it must be a list"}},
		{"an agent of another kind", agents("ci"), []string{"agents[0]: it must be an object"}},
		{"an empty agent", agents(object{}), []string{"agents[0].subject: it is missing"}},
		{"a subject with a blank", agents(object{"subject": " ci"}), []string{"agents[0].subject: it begins or ends with a blank, or holds a control character"}},
		{"a subject of many bytes", agents(object{"subject": strings.Repeat("😀", 241)}), []string{"agents[0].subject: it is longer than 960 bytes"}},
		{"one subject twice", agents(ci, with(ci, "access", "read")), []string{"agents[1].subject: another agent has this subject"}},
		{"an issuer with a blank", agents(with(ci, "issuer", "a b")), []string{"agents[0].issuer: it holds a blank, or something else than printable ASCII"}},
		{"no issuer", agents(with(ci, "issuer", "")), []string{"agents[0].issuer: it is missing or empty"}},
		{"unknown access", agents(with(ci, "access", "write")), []string{"agents[0].access: it is not one of build, read"}},
		{"no servers", agents(with(ci, "servers", []any{})), []string{"agents[0].servers: it is empty; leave it out instead"}},
		{"a server twice", agents(with(ci, "servers", []any{"docs", "docs"})), []string{"agents[0].servers[1]: it is there twice"}},
		{"no name of a server", agents(with(ci, "servers", []any{"*"})), []string{"agents[0].servers[0]: it must begin with one of a-z"}},
		{"a list that is null", agents(with(ci, "servers", raw("null"))), []string{"agents[0].servers: it must be a list"}},
		{"an unknown field of an agent", agents(with(ci, "kind", "user")), []string{"agents[0].kind: it is not a known field"}},

		{"budgets of another kind", file([]any{}, "budgets", []any{}), []string{"budgets: it must be an object"}},
		{"a budget of another kind", file([]any{}, "budgets", object{"x": 60}), []string{"budgets.x: it must be an object"}},
		{"a budget of no class", file([]any{}, "budgets", object{"a b": object{"per_day": 1}}), []string{"budgets[name 0]: the name of a budget class: its byte 2 is not one of a-z A-Z 0-9 ._-"}},
		{"a budget without bounds", budget("on_error", "allow"), []string{"budgets.x: it bounds nothing: per_minute, per_hour or per_day is needed"}},
		{"a budget of nothing", budget("per_minute", 0), []string{"budgets.x.per_minute: it is under the least of 1"}},
		{"a negative budget", budget("per_hour", -1), []string{"budgets.x.per_hour: it is under the least of 1"}},
		{"a budget over the cap", budget("per_day", 1_000_000_001), []string{"budgets.x.per_day: it is over the hard cap of 1000000000"}},
		{"a budget of a class with a dot", file([]any{}, "budgets", object{"data.x": object{"per_day": 0}}), []string{"budgets[name 0].per_day: it is under the least of 1"}},
		{"a fraction", budget("per_day", raw("1.5")), []string{"budgets.x.per_day: it must be a whole number"}},
		{"unknown on_error", budget("per_day", 1, "on_error", "open"), []string{"budgets.x.on_error: it is not one of refuse, allow"}},
		{"an unknown window", budget("per_week", 1), []string{"budgets.x.per_week: it is not a known field", "budgets.x: it bounds nothing: per_minute, per_hour or per_day is needed"}},

		{"an empty limit", limit(), []string{at + ": it bounds nothing: max_arguments_bytes or per_minute is needed"}},
		{"a limit of nothing", limit("max_arguments_bytes", 0), []string{at + ".max_arguments_bytes: it is under the least of 1"}},
		{"a limit over the cap", limit("max_arguments_bytes", 1<<20+1, "per_minute", 1_000_000_001), []string{at + ".max_arguments_bytes: it is over the hard cap of 1048576", at + ".per_minute: it is over the hard cap of 1000000000"}},
		{"a limit of another kind", one(tools("limits", object{"get": 5})), []string{at + ": it must be an object"}},
		{"a limit of another tool", one(tools("limits", object{"del": object{"per_minute": 1}})), []string{"servers[0].config.limits.del: this tool is not in allowed_tools"}},
		{"an unknown limit", limit("per_minute", 1, "per_hour", 1), []string{at + ".per_hour: it is not a known field"}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			if diff := cmp.Diff(c.want, problems(t, c.file, config.Options{})); diff != "" {
				t.Errorf("problems (-want +got):\n%s", diff)
			}
		})
	}
}

func TestAgentsAndBudgetsAreBounded(t *testing.T) {
	var agents []any
	budgets := object{}
	for i := range 1025 {
		agents = append(agents, object{"subject": fmt.Sprint("a", i)})
		if i <= 256 {
			budgets[fmt.Sprintf("c%03d", i)] = object{"per_day": 1}
		}
	}
	got := problems(t, file([]any{}, "agents", agents, "budgets", budgets), config.Options{})
	want := []string{"agents[1024]: a tenant has at most 1024 agents", "budgets.c256: a tenant has at most 256 budgets"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("problems (-want +got):\n%s", diff)
	}
	if got := problems(t, file([]any{}, "agents", agents[:1024]), config.Options{}); got != nil {
		t.Errorf("the most agents: %q", got)
	}
}
