package policy_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"mcprelay/shared/call"
	"mcprelay/shared/policy"

	"github.com/google/go-cmp/cmp"
)

// engine compiles sources that can be used.
func engine(t testing.TB, sources ...policy.Source) *policy.Engine {
	t.Helper()
	e, _, err := policy.NewEngine(sources)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// sources are policies that each say one thing.
func source(name string) policy.Source {
	word, audit := strings.CutPrefix(name, "audit ")
	text := map[string]string{
		"allow":   `deny contains "never" if input.absent`,
		"deny":    `deny contains "no"`,
		"empty":   `deny contains ""`,
		"number":  `deny contains 5`,
		"mixed":   `deny contains x if some x in {"first", 5}`,
		"object":  `deny := x if x := object.union({}, {"no": true})`,
		"clash":   "deny contains \"no\" if r\nr := input.auth.kind\nr := input.auth.subject",
		"two":     `deny contains x if some x in ["b", "a", "b"]`,
		"whole":   `deny := {"whole"}`,
		"default": "default deny := set()\ndeny := {\"never\"} if input.absent",
	}[word]
	return policy.Source{Name: word, Text: "package mcprelay.policy\n\n" + text, Audit: audit}
}

func TestVerdictsOfPolicies(t *testing.T) {
	for name, want := range map[string]string{
		"":                    "not_run",
		"allow":               "allow",
		"default":             "allow",
		"deny":                "deny [no] denied_by_policy",
		"whole":               "deny [whole] denied_by_policy",
		"empty":               "deny [] denied_by_policy",
		"two":                 "deny [a b] denied_by_policy",
		"allow,deny":          "deny [no] denied_by_policy",
		"deny,whole":          "deny [no whole] denied_by_policy",
		"number":              "error policy_failed, open none: policy number: deny holds something that is not a string",
		"object":              "error policy_failed, open none: policy object: deny is not a set",
		"clash":               "error policy_failed, open none: policy clash: line 5, column 1: eval_conflict_error",
		"mixed":               "error policy_failed, open none: policy mixed: deny holds something that is not a string",
		"number,deny":         "deny [no] denied_by_policy: policy number: deny holds something that is not a string",
		"audit deny":          "deny audited [no]",
		"audit number":        "error: policy number: deny holds something that is not a string",
		"audit deny,allow":    "deny audited [no]",
		"audit deny,number":   "error audited [no] policy_failed, open none: policy number: deny holds something that is not a string",
		"audit number,deny":   "deny [no] denied_by_policy: policy number: deny holds something that is not a string",
		"audit deny,deny":     "deny [no] audited [no] denied_by_policy",
		"audit number,allow":  "error: policy number: deny holds something that is not a string",
		"audit allow,default": "allow",
	} {
		var sources []policy.Source
		for _, one := range slices.DeleteFunc(strings.Split(name, ","), func(s string) bool { return s == "" }) {
			sources = append(sources, source(one))
		}
		synctest.Test(t, func(t *testing.T) {
			if got := describe(engine(t, sources...).Evaluate(t.Context(), policy.Input{Subject: "a", Kind: "b"})); got != want {
				t.Errorf("%s:\ngot  %s\nwant %s", name, got, want)
			}
		})
	}
}

// describe is an outcome in one line.
func describe(o policy.Outcome) string {
	text := string(o.Verdict)
	if o.Deny != nil {
		text += fmt.Sprintf(" %v", o.Deny)
	}
	if o.Audited != nil {
		text += fmt.Sprintf(" audited %v", o.Audited)
	}
	closed, open := o.Refusal(false), o.Refusal(true)
	if closed != nil {
		text += " " + string(closed.Reason)
	}
	if closed != nil && open == nil {
		text += ", open none"
	}
	for _, err := range []error{o.Err, o.AuditErr} {
		if err != nil {
			text += ": " + err.Error()
		}
	}
	return text
}

func TestAnEngineWithoutPoliciesIsNotRun(t *testing.T) {
	var none *policy.Engine
	for _, e := range []*policy.Engine{none, {}, engine(t)} {
		if o := e.Evaluate(t.Context(), policy.Input{}); o.Verdict != call.PolicyNotRun || o.Refusal(false) != nil {
			t.Errorf("got %s", describe(o))
		}
	}
}

func TestBothPackagesAreAsked(t *testing.T) {
	for _, name := range []string{"mcprelay.policy", "chalk.policy"} {
		e := engine(t, policy.Source{Name: "p", Text: "package " + name + "\ndeny contains \"no\""})
		if o := e.Evaluate(t.Context(), policy.Input{}); o.Verdict != call.PolicyDeny {
			t.Errorf("%s: %s", name, describe(o))
		}
	}
}

// A policy may deny with its own helper of a name that another has too, and
// does not see the other's.
func TestPoliciesStandAlone(t *testing.T) {
	e := engine(t,
		policy.Source{Name: "a", Text: "package chalk.policy\ndeny contains word\nword := \"a\""},
		policy.Source{Name: "b", Text: "package chalk.policy\ndeny contains word\nword := \"b\""},
		policy.Source{Name: "c", Text: "package chalk.policy\ndeny contains data.chalk.policy.word"},
	)
	if diff := cmp.Diff([]string{"a", "b"}, e.Evaluate(t.Context(), policy.Input{}).Deny); diff != "" {
		t.Error(diff)
	}
}

func TestUnusablePoliciesAreNamedWithTheirPlace(t *testing.T) {
	for text, want := range map[string]string{
		"":                               "policy p: empty module",
		"deny contains \"x\"":            "policy p:1:1: package expected",
		"package other\ndeny contains 1": "policy p:1:1: the package is not mcprelay.policy or chalk.policy, so that nothing would ask it",
		"package chalk.policy.more\ndeny contains \"x\"":                  "policy p:1:1: the package is not mcprelay.policy or chalk.policy, so that nothing would ask it",
		"\npackage chalk.policy\nallow := true":                           "policy p:2:1: there is no rule named deny, so that nothing would be denied",
		"package chalk.policy\ndeny := true if input.a":                   "policy p:2:1: deny is not a set of messages: write deny contains message if { ... }",
		"package chalk.policy\ndeny[\"x\"] if input.a":                    "policy p:2:1: deny is not a set of messages: write deny contains message if { ... }",
		"package chalk.policy\ndeny(x) := {x}":                            "policy p:2:1: deny is not a set of messages: write deny contains message if { ... }",
		"package chalk.policy\ndeny := [\"x\"]":                           "policy p:2:1: deny is not a set of messages: write deny contains message if { ... }",
		"package chalk.policy\ndeny.more contains \"x\"":                  "policy p:2:1: deny is not a set of messages: write deny contains message if { ... }",
		"package chalk.policy\ndeny contains m if {\n  input.a\n}":        "policy p:2:15: var m is unsafe",
		"package chalk.policy\n\ndeny contains \"x\" if {\n  f(1)\n}":     "policy p:4:3: undefined function f",
		"package chalk.policy\ndeny contains \"x\" if {\n  1 == \"a\"\n}": "policy p:3:3: match error",
		"package chalk.policy\ndeny contains \"x\" if lower(5) == \"a\"":  "policy p:2:22: lower: invalid argument(s)",
	} {
		_, _, err := policy.NewEngine([]policy.Source{source("allow"), {Name: "p", Text: text}})
		var place *policy.CompileError
		if !errors.As(err, &place) || place.Policy != "p" || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%q:\ngot  %v\nwant %s", text, err, want)
		}
	}
}

func TestAnErrorOfSyntaxIsThatOfTheVersionMeant(t *testing.T) {
	for text, line := range map[string]int{
		"package chalk.policy\ndeny contains m if {\n  m := \"x\"\n  input.a ==\n}": 5,
		"package chalk.policy\ndeny[m] {\n  m := \"x\"\n  input.a ==\n}":            5,
	} {
		_, _, err := policy.NewEngine([]policy.Source{{Name: "p", Text: text}})
		var place *policy.CompileError
		if !errors.As(err, &place) || place.Line != line {
			t.Errorf("%q: got %v, want line %d", text, err, line)
		}
	}
}

// Nothing that reaches out of a policy, or differs from call to call, is there.
func TestPoliciesAreClosedIn(t *testing.T) {
	for _, use := range []string{
		`http.send({"method": "get", "url": "http://127.0.0.1/"})`, `net.lookup_ip_addr("localhost")`, `net.cidr_expand("10.0.0.0/8")`, `opa.runtime()`,
		`time.now_ns()`, `time.clock([0, "Europe/Paris"])`, `rand.intn("x", 3)`, `uuid.rfc4122("x")`, `trace("x")`, `io.jwt.decode("x")`,
		`crypto.x509.parse_certificates("x")`, `json.match_schema({}, {"$ref": "http://127.0.0.1/"})`, `json.verify_schema({})`, `bits.lsh(1, 1000000000)`,
		`yaml.unmarshal("a: 1")`, `graph.reachable_paths({}, [])`, `rego.parse_module("a", "b")`, `strings.render_template("x", {})`, `providers.aws.sign_req({}, {}, 1)`,
		`json.marshal(input)`, `json.marshal_with_options(input, {"prefix": "x"})`, `strings.replace_n({}, "a")`, `regex.replace("a", "b", "c")`,
		`regex.find_all_string_submatch_n("a", "b", 1)`, `product([1])`, `array.flatten([])`, `strings.any_prefix_match("a", "b")`, `graph.reachable({}, [])`, `urlquery.encode_object({})`, `object.subset({}, {})`,
	} {
		name, _, _ := strings.Cut(use, "(")
		_, _, err := policy.NewEngine([]policy.Source{{Name: "p", Text: "package chalk.policy\ndeny contains \"x\" if {\n  " + use + "\n}"}})
		var place *policy.CompileError
		if !errors.As(err, &place) || place.Line != 3 || place.Message != "undefined function "+name {
			t.Errorf("%s: got %v", use, err)
		}
	}
	// A policy that prints can be used, and its prints are left out.
	if o := engine(t, policy.Source{Name: "p", Text: "package chalk.policy\ndeny contains \"x\" if {\n  print(input)\n  input.never\n}"}).Evaluate(t.Context(), policy.Input{}); o.Verdict != call.PolicyAllow {
		t.Errorf("a policy that prints: got %s", describe(o))
	}
	// Neither is the process's environment there.
	t.Setenv("RELAY_PROBE", "here")
	e := engine(t, policy.Source{Name: "p", Text: "package chalk.policy\ndeny contains sprintf(\"%v\", [data.system]) if data.system\ndeny contains sprintf(\"%v\", [data.env]) if data.env"})
	if o := e.Evaluate(t.Context(), policy.Input{}); o.Verdict != call.PolicyAllow {
		t.Errorf("got %s", describe(o))
	}
}

func TestDoubtsAboutPolicies(t *testing.T) {
	const v0, uri = "it is written in Rego v0", "it matches a resource URI as a gateway encodes it, which is not what the server is asked for: compare input.gateway.upstream_uri"
	for text, want := range map[string]string{
		`deny contains "x"`:                        "",
		`deny["x"] { input.a }`:                    v0,
		`deny[m] { m := "x"; re_match("a", "b") }`: v0,
		`deny contains "x" if input.request.params.uri == "mcprelay://resource/v1/docs/file%3A%2F%2F%2Fa"`:      uri,
		`deny contains "x" if startswith(input.request.params.uri, "other-gateway://resource/docs/")`:           uri,
		`deny contains "x" if input.request.params.uri == "gw://docs/file%3a%2f%2fa"`:                           uri,
		`deny contains "x" if startswith(input.gateway.upstream_uri, "file:///secrets/")`:                       "",
		`deny contains "x" if startswith(input.gateway.upstream_uri, "https://example.com/resources/?a=b%3A1")`: "",
		`deny contains "x" if data.users[input.auth.subject]`:                                                   "it uses data.users[input.auth.subject], which is not there",
		`deny contains "x" if not startswith(input.request.params.name, "a")`:                                   "not with a function of the agent's params says nothing where the member is absent",
		`deny contains "x" if not input.request.params.arguments.a in {1, 2}`:                                   "not with a function of the agent's params says nothing where the member is absent",
		`deny contains "x" if not f(input.relay.metadata.a)` + "\nf(x) if x == 1":                               "not with a function of the agent's params says nothing where the member is absent",
		`deny contains "x" if not input.request.params.name == "a"`:                                             "",
		`deny contains "x" if not input.request.params.name`:                                                    "",
		`deny contains "x" if { name := input.request.params.name; not f(name) }` + "\nf(x) if x == 1":          "",
		`deny contains data.chalk.policy.word
word := "x"`: "",
	} {
		_, warnings, err := policy.NewEngine([]policy.Source{{Name: "p", Text: "package chalk.policy\n" + text}})
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		if want == "" && len(warnings) > 0 || want != "" && (len(warnings) != 1 || !strings.HasPrefix(warnings[0].Text, want) || warnings[0].Policy != "p") {
			t.Errorf("%s:\ngot  %v\nwant %s", text, warnings, want)
		}
	}
}

// What the doubt about "not" is about: with a function it says nothing.
func TestNotHoldsForAbsentMembers(t *testing.T) {
	for condition, denies := range map[string]bool{
		`not input.request.params.name`:                   true,
		`not input.request.params.name == "a"`:            true,
		`not startswith(input.request.params.name, "a")`:  false,
		`not input.request.params.name in {"a"}`:          false,
		`input.gateway.upstream_tool != "search"`:         true,
		`not startswith(input.gateway.upstream_uri, "a")`: true,
	} {
		e := engine(t, policy.Source{Name: "p", Text: "package chalk.policy\ndeny contains \"x\" if " + condition})
		if o := e.Evaluate(t.Context(), policy.Input{}); (o.Verdict == call.PolicyDeny) != denies {
			t.Errorf("%s: got %s", condition, describe(o))
		}
	}
}

// What a policy gives away of its input is bounded.
func TestMessagesAreBounded(t *testing.T) {
	long := `"` + strings.Repeat("é", 100_000) + `"`
	e := engine(t,
		policy.Source{Name: "leak", Text: "package chalk.policy\ndeny contains sprintf(\"%v\", [input])"},
		policy.Source{Name: "many", Text: "package chalk.policy\ndeny contains sprintf(\"%03d\", [n]) if some n in numbers.range(1, 200)"},
		policy.Source{Name: "audited", Text: "package chalk.policy\ndeny contains sprintf(\"%03d\", [n]) if some n in numbers.range(1, 200)", Audit: true},
		policy.Source{Name: "bytes", Text: "package chalk.policy\ndeny contains base64.decode(\"/w==\")", Audit: true},
	)
	synctest.Test(t, func(t *testing.T) {
		o := e.Evaluate(t.Context(), policy.Input{Params: []byte(`{"a":` + long + `}`)})
		if len(o.Deny) != policy.MaxMessages || len(o.Audited) != policy.MaxMessages {
			t.Errorf("got %d and %d messages, want %d", len(o.Deny), len(o.Audited), policy.MaxMessages)
		}
		if o.Deny[1] != "001" || o.Audited[31] != "032" {
			t.Errorf("got %q, %q", o.Deny[1], o.Audited[31])
		}
		for _, message := range append(o.Deny, o.Refusal(false).Detail) {
			if len(message) > policy.MaxMessage || strings.ToValidUTF8(message, "") != message {
				t.Errorf("a message has %d bytes: %q", len(message), message)
			}
		}
	})
}

func TestErrorsHoldNoInput(t *testing.T) {
	e := engine(t,
		policy.Source{Name: "keys", Text: "package chalk.policy\ndeny contains \"x\" if {k: v | some v in input.auth.scopes; k := input.auth.subject}"},
		policy.Source{Name: "clash", Text: "package chalk.policy\ndeny := {input.auth.subject}\ndeny := {input.auth.kind}"},
		policy.Source{Name: "number", Text: "package chalk.policy\ndeny contains {input.auth.subject}"},
	)
	synctest.Test(t, func(t *testing.T) {
		o := e.Evaluate(t.Context(), policy.Input{Subject: "hunter2", Kind: "hunter2-kind", Scopes: []string{"hunter2-a", "hunter2-b"}})
		if o.Err == nil || strings.Count(o.Err.Error(), "policy ") != 3 || strings.Contains(o.Err.Error(), "hunter2") {
			t.Errorf("got %v", o.Err)
		}
	})
}

// An agent cannot switch policies off with a call that they cannot be asked
// about, not even where the tenant lets calls pass whose policies fail.
func TestACallThatCannotBeReadIsRefused(t *testing.T) {
	for _, params := range []string{`{"a":1e1000000000}`, `{`, `{"a":"\"","b":[-` + strings.Repeat("9", policy.MaxDigits) + `]}`, `{"a":0.` + strings.Repeat("3", 1_000_000) + `}`} {
		in := policy.Input{Params: []byte(params)}
		if o := engine(t, source("allow")).Evaluate(t.Context(), in); o.Verdict != call.PolicyError || o.Refusal(true) == nil {
			t.Errorf("%.40s: got %s", params, describe(o))
		}
		if o := engine(t, source("audit allow")).Evaluate(t.Context(), in); o.Verdict != call.PolicyError || o.Refusal(false) != nil {
			t.Errorf("%.40s audited: got %s", params, describe(o))
		}
	}
}

// Digits in strings are no numbers, and long numbers are read to their bound.
func TestNumbersUpToTheBoundAreRead(t *testing.T) {
	digits := strings.Repeat("9", policy.MaxDigits)
	for _, params := range []string{`{"a":` + digits + `}`, `{"a":"` + digits + digits + `"}`, `{"a":"\\\"` + digits + `9"}`, `{"` + digits + `9":[1,` + digits + `,2]}`} {
		synctest.Test(t, func(t *testing.T) {
			if o := engine(t, source("allow")).Evaluate(t.Context(), policy.Input{Params: []byte(params)}); o.Verdict != call.PolicyAllow {
				t.Errorf("%.40s: got %s", params, describe(o))
			}
		})
	}
}

func TestAnEndedCallIsNotEvaluated(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	o := engine(t, source("allow")).Evaluate(ctx, policy.Input{})
	if want := "error policy_failed: policy allow: the call ended first"; describe(o) != want {
		t.Errorf("got %s, want %s", describe(o), want)
	}
}

func TestOneEngineAnswersManyAtOnce(t *testing.T) {
	e := engine(t, policy.Source{Name: "p", Text: "package chalk.policy\ndeny contains input.auth.subject if not input.auth.subject in {\"a0\", \"a1\"}"})
	var wg sync.WaitGroup
	for i := range 32 {
		wg.Go(func() {
			subject := fmt.Sprint("a", i)
			o := e.Evaluate(t.Context(), policy.Input{Subject: subject})
			if denied := slices.Equal(o.Deny, []string{subject}); denied != (i > 1) {
				t.Errorf("%s: got %s", subject, describe(o))
			}
		})
	}
	wg.Wait()
}

// What one step of sprintf writes is bounded by what it is given.
func TestFormatsAreWrittenOut(t *testing.T) {
	for use, fine := range map[string]bool{
		`sprintf("%03d of %-20s, %5.2f %v 100%%", [1, "a", 2.5, input])`: true,
		`sprintf("%1000000d", [1])`:                                      false,
		`sprintf("%.1000000f", [1])`:                                     false,
		`sprintf("%*d", [1000000, 1])`:                                   false,
		`sprintf("%[1]s%[1]s", [input.auth.kind])`:                       false,
		`sprintf(input.request.params.a, [1])`:                           false,
		`sprintf("x", input.request.params.a)`:                           false,
		`f("%1000000d", [1]) with f as sprintf`:                          false,
	} {
		_, _, err := policy.NewEngine([]policy.Source{{Name: "p", Text: "package chalk.policy\ndeny contains \"x\" if {\n  " + use + "\n}\nf(a, b) := a"}})
		if (err == nil) != fine {
			t.Errorf("%s: got %v", use, err)
		}
	}
}
