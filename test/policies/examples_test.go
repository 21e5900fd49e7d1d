package policies_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"mcprelay/shared/call"
	"mcprelay/shared/policy"
)

// example reads one of the example policies.
func example(t testing.TB, name string, audit bool) policy.Source {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", "examples", name+".rego"))
	if err != nil {
		t.Fatal(err)
	}
	return policy.Source{Name: name, Text: string(text), Audit: audit}
}

// examples are the names of the example policies.
func examples(t testing.TB) []string {
	t.Helper()
	paths, err := filepath.Glob("testdata/examples/*.rego")
	if err != nil || len(paths) != 5 {
		t.Fatalf("there are %d example policies (%v), want 5", len(paths), err)
	}
	for i, path := range paths {
		paths[i] = strings.TrimSuffix(filepath.Base(path), ".rego")
	}
	return paths
}

// engine compiles sources, which must be beyond doubt.
func engine(t testing.TB, sources ...policy.Source) *policy.Engine {
	t.Helper()
	e, warnings, err := policy.NewEngine(sources)
	if err != nil || len(warnings) > 0 {
		t.Fatal(err, warnings)
	}
	return e
}

// example case: one question to one policy.
type exampleCase struct {
	Policy string
	Name   string
	Input  struct {
		Subject, Kind, Backend, Tool, URI, Prompt, Method string
		Scopes                                            []string
		Params                                            json.RawMessage
		Effect                                            call.Effect
	}
	Deny []string
}

func TestExamplePolicies(t *testing.T) {
	raw, err := os.ReadFile("testdata/examples/cases.json")
	if err != nil {
		t.Fatal(err)
	}
	var cases []exampleCase
	if err := json.Unmarshal(raw, &cases); err != nil {
		t.Fatal(err)
	}
	asked := make(map[string]int)
	for _, c := range cases {
		asked[c.Policy]++
		in := policy.Input{
			Subject: c.Input.Subject, Kind: c.Input.Kind, Scopes: c.Input.Scopes, Backend: c.Input.Backend, Tool: c.Input.Tool, URI: c.Input.URI,
			Prompt: c.Input.Prompt, Method: c.Input.Method, Params: c.Input.Params, Effect: c.Input.Effect,
		}
		for _, audit := range []bool{false, true} {
			e := engine(t, example(t, c.Policy, audit))
			synctest.Test(t, func(t *testing.T) {
				o := e.Evaluate(t.Context(), in)
				if got := slices.Concat(o.Deny, o.Audited); !slices.Equal(got, c.Deny) || o.Err != nil || o.AuditErr != nil {
					t.Errorf("%s: %s: got %q (%v, %v), want %q", c.Policy, c.Name, got, o.Err, o.AuditErr, c.Deny)
				}
				if refused := o.Refusal(true) != nil; refused != (len(c.Deny) > 0 && !audit) {
					t.Errorf("%s: %s: refused %v", c.Policy, c.Name, refused)
				}
			})
		}
	}
	for _, name := range examples(t) {
		if asked[name] < 5 {
			t.Errorf("%s is asked %d questions, want 5", name, asked[name])
		}
	}
}
