package policy_test

import (
	"testing"

	"mcprelay/shared/call"
	"mcprelay/shared/policy"
)

func TestAnAgentReachesWhatItIsScopedTo(t *testing.T) {
	for _, c := range []struct {
		name    string
		servers []string
		server  string
		want    bool
	}{
		{"nil is all", nil, "docs", true},
		{"empty is none", []string{}, "docs", false},
		{"a listed one", []string{"wiki", "docs"}, "docs", true},
		{"another", []string{"wiki"}, "docs", false},
		{"a beginning", []string{"doc", "docs2"}, "docs", false},
		{"no pattern", []string{"*"}, "docs", false},
		{"no name", []string{"docs"}, "", false},
	} {
		if got := policy.Narrow(c.servers, c.server); got != c.want {
			t.Errorf("%s: got %v, want %v", c.name, got, c.want)
		}
		refusal := policy.Caller{Servers: c.servers}.Scoped(c.server)
		if (refusal == nil) != c.want || refusal != nil && refusal.Reason != call.OutOfScope {
			t.Errorf("%s: got %v", c.name, refusal)
		}
	}
}

func TestAccessReadReachesToolsThatRead(t *testing.T) {
	tool := func(effect call.Effect) policy.Target {
		return policy.Target{Server: "docs", Tool: "t", Effect: effect}
	}
	for _, c := range []struct {
		name   string
		access policy.Access
		op     call.Operation
		target policy.Target
		want   bool
	}{
		{"build writes", policy.AccessBuild, call.OperationToolsCall, tool(call.EffectWrite), true},
		{"nothing said writes", "", call.OperationToolsCall, tool(call.EffectUnclassified), true},
		{"read reads", policy.AccessRead, call.OperationToolsCall, tool(call.EffectRead), true},
		{"read does not write", policy.AccessRead, call.OperationToolsCall, tool(call.EffectWrite), false},
		{"unclassified is a write", policy.AccessRead, call.OperationToolsCall, tool(call.EffectUnclassified), false},
		{"an unknown effect is a write", policy.AccessRead, call.OperationToolsCall, tool("Read"), false},
		{"an unknown access reaches nothing", "Build", call.OperationToolsCall, tool(call.EffectRead), false},
		{"a tool without a name is one", policy.AccessRead, call.OperationToolsCall, policy.Target{Server: "docs"}, false},
		{"read reads resources", policy.AccessRead, call.OperationResourcesRead, policy.Target{Server: "docs", Resource: "a:b"}, true},
		{"read gets prompts", policy.AccessRead, call.OperationPromptsGet, policy.Target{Server: "docs", Prompt: "p"}, true},
		{"read completes", policy.AccessRead, call.OperationComplete, policy.Target{Server: "docs", Prompt: "p"}, true},
	} {
		refusal := policy.Caller{Access: c.access}.Permits(c.op, c.target)
		if (refusal == nil) != c.want || refusal != nil && refusal.Reason != call.AccessRead {
			t.Errorf("%s: got %v", c.name, refusal)
		}
		if c.target.Tool == "" && c.op == call.OperationToolsCall {
			continue
		}
		if got := (policy.Caller{Access: c.access}).Offered(c.target); got != c.want {
			t.Errorf("%s: offered %v", c.name, got)
		}
		if (policy.Caller{Servers: []string{"wiki"}, Access: c.access}).Offered(c.target) {
			t.Errorf("%s: offered out of scope", c.name)
		}
	}
}
