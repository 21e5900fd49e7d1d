package policy_test

import (
	"errors"
	"strings"
	"testing"

	"mcprelay/shared/call"
	"mcprelay/shared/policy"
)

// Whatever a source is, it is refused with its place or answers; it does not
// take the process with it, and what it says is bounded.
func FuzzNewEngine(f *testing.F) {
	for _, text := range []string{
		head, "package mcprelay.policy\ndeny[m] { m := input.auth.subject }", "package chalk.policy\ndeny := {input.gateway.backend} if { not f(input) }\nf(x) if x.a",
		"package chalk.policy\nimport data.a\ndeny contains $\"{input.auth.kind}\" if every x in input.auth.scopes { x != a }", "package chalk.policy\ndeny contains [x | x := [y | y := 1]]",
		"package chalk.policy\ndefault deny := set()\ndeny := {\"a\"} if input.a else := {\"b\"} if input.b with input.b as 1",
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		e, warnings, err := policy.NewEngine([]policy.Source{{Name: "p", Text: text}})
		var place *policy.CompileError
		if err != nil {
			if !errors.As(err, &place) || place.Policy != "p" || place.Message == "" || len(place.Message) > policy.MaxMessage || place.Line > strings.Count(text, "\n")+1 {
				t.Fatalf("got %v", err)
			}
			return
		}
		if len(warnings) > 0 && warnings[0].Text == "" {
			t.Error("a warning says nothing")
		}
		o := e.Evaluate(t.Context(), policy.Input{Subject: "a", Params: []byte(`{"a":[1,{"b":null}]}`)})
		if o.Verdict == call.PolicyNotRun || len(o.Deny) > policy.MaxMessages || (o.Verdict == call.PolicyAllow) != (o.Refusal(false) == nil) {
			t.Errorf("got %s", describe(o))
		}
	})
}
