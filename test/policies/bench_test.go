package policies_test

import (
	"fmt"
	"testing"

	"mcprelay/shared/call"
	"mcprelay/shared/policy"
)

// BenchmarkDecision is the cost of one decision: by rules alone, with one
// policy of twenty lines, and with ten.
func BenchmarkDecision(b *testing.B) {
	rules, err := policy.Compile([]policy.Rule{{Action: "mcp.*", Decision: policy.Allow}, {Action: "mcp.warehouse.tool.drop", Decision: policy.Deny}})
	if err != nil {
		b.Fatal(err)
	}
	target := policy.Target{Server: "warehouse", ReversedHost: "com.example.warehouse", Tool: "query", Effect: call.EffectRead}
	in := policy.Input{
		Subject: "agent-7", Kind: "service_token", Scopes: []string{"call"}, Backend: "warehouse", Tool: "query", Method: "tools/call",
		Params: []byte(`{"name":"query","arguments":{"sql":"SELECT name FROM users WHERE id = 1"}}`), Tenant: "acme", Effect: call.EffectRead,
	}
	twenty := example(b, "select-only", false)
	for _, n := range []int{0, 1, 10} {
		sources := make([]policy.Source, n)
		for i := range sources {
			sources[i] = policy.Source{Name: fmt.Sprint("p", i), Text: twenty.Text}
		}
		e := engine(b, sources...)
		b.Run(fmt.Sprintf("policies=%d", n), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, refusal := policy.Decide(rules, call.OperationToolsCall, target); refusal != nil {
					b.Fatal(refusal)
				}
				if o := e.Evaluate(b.Context(), in); o.Refusal(false) != nil {
					b.Fatal(o)
				}
			}
		})
	}
}

// BenchmarkCompile is the cost of one policy of twenty lines in a new snapshot.
func BenchmarkCompile(b *testing.B) {
	source := example(b, "select-only", false)
	b.ReportAllocs()
	for b.Loop() {
		engine(b, source)
	}
}
