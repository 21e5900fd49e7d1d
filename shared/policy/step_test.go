package policy_test

import (
	"encoding/json"
	"strings"
	"testing"
	"testing/synctest"

	"mcprelay/shared/call"
	"mcprelay/shared/policy"
)

// stepOf asks a policy that denies where use gives nothing for the agent's a and
// b. Its time does not pass, so that no deadline hides a bound.
func stepOf(t *testing.T, use, a, b string) (o policy.Outcome) {
	t.Helper()
	e := engine(t, policy.Source{Name: "p", Text: "package chalk.policy\na := input.request.params.a\nb := input.request.params.b\nv contains x if x := " + use + "\ndeny contains \"nothing\" if count(v) == 0"})
	params, err := json.Marshal(map[string]string{"a": a, "b": b})
	if err != nil {
		t.Fatal(err)
	}
	synctest.Test(t, func(t *testing.T) { o = e.Evaluate(t.Context(), policy.Input{Params: params}) })
	return o
}

// Each of these takes from half a second to minutes, or makes half a gigabyte,
// where nothing bounds a step. Agents choose a and b.
func TestNoFunctionIsGivenTooMuch(t *testing.T) {
	long, accents, nines := strings.Repeat("a", 500_000), strings.Repeat("é", 120_000)+"a", strings.Repeat("9", 500_000)
	for _, step := range [][3]string{
		{`trim(a, b)`, long, accents}, {`trim_left(a, b)`, long, accents}, {`trim_right(a, b)`, long, accents},
		{`indexof(a, b)`, "é" + long, long[:250_000] + "b"}, {`indexof_n(a, b)`, "é" + long, long[:250_000] + "b"},
		{`glob.match(b, [], a)`, long, "*a*a*b*a"}, {`glob.match(b, [], a)`, long[:50], "*a*a*a*a*a*b*a"},
		{`glob.match(b, ["."], a)`, long[:25], "*{a,aa}*{a,aa}*{a,aa}*{a,aa}*{a,aa}*{b,bb}*a"},
		{`regex.match(b, a)`, long, "(a?){1000}b"}, {`regex.match(b, a)`, long, "((a?){30}){30}b"}, {`regex.match(b, a)`, long, strings.Repeat("a?", 100) + "b"},
		{`regex.match(b, a)`, "a", strings.Repeat("a{1000}", 3000)}, {`regex.match(b, a)`, "a", long}, {`regex.match(b, a)`, "a", long + "("},
		{`regex.find_n(b, a, -1)`, long[:100_000], ".*b|a"}, {`regex.split(b, a)`, long[:20_000], ".*b|a"}, {`regex.split(b, a)`, long[:20_000], "(a*c)*b|a"},
		{`regex.split(b, a)`, long, "a"}, {`regex.find_n(b, a, -1)`, "a", long},
		{`to_number(a) * to_number(a)`, nines, ""}, {`to_number(a) > to_number(b)`, nines, nines}, {`json.unmarshal(a)`, "[" + nines + "]", ""}, {`units.parse(a)`, nines, ""}, {`units.parse_bytes(a)`, nines, ""},
		{`concat(a, split(b, ""))`, long[:100_000], strings.Repeat("ab", 1000)}, {`concat("", [x | some i in numbers.range(1, 100); x := a])`, long, ""},
		{`sprintf("` + strings.Repeat("%s", 100) + `", [` + strings.Repeat("a,", 99) + `a])`, long, ""},
		{`$"` + strings.Repeat("{a}", 100) + `"`, long, ""}, {`replace(a, "a", b)`, long, long},
		{`[x | some i in numbers.range(1, 100); x := trim_prefix(a, "a")]`, long, ""},
	} {
		o, name := stepOf(t, step[0], step[1], step[2]), step[0][:min(len(step[0]), 60)]
		if o.Verdict != call.PolicyError || !strings.Contains(o.Err.Error(), "a function has too much to do") {
			t.Errorf("%s with %.20q: got %s", name, step[2], describe(o))
		} else if o.Refusal(true) == nil {
			t.Errorf("%s passes where calls may pass whose policies fail", name)
		}
	}
}

// What policies do with what agents send, large files among it, they can.
func TestFunctionsDoTheirWork(t *testing.T) {
	file := strings.Repeat("select a, b from t where c = 'é';\n", 10_000)
	for _, step := range [][3]string{
		{`trim(a, " \n\t;'")`, file, ""}, {`indexof(a, "drop table")`, file, ""}, {`trim_space(a)`, file, ""},
		{`regex.match(b, a)`, file, `(?i)\b(insert|update|delete|drop|alter|grant)\b`}, {`regex.match(b, a)`, file, `^(?s).{0,40}$`}, {`regex.match(b, a)`, file, "[a-z]{2,40}x$"},
		{`regex.match(b, a)`, "a", "a{0}b{1,3}|c{2,}|a"}, {`regex.find_n(b, a, 2)`, file[:50_000], `[a-z_]+`}, {`regex.split(b, a)`, file[:100_000], `;\s+`}, {`regex.split(b, a)`, file[:1000], `".*"|'[^']*'`},
		{`glob.match(b, ["."], a)`, "api.eu.example.com", "*.{eu,us}.example.{com,net}"}, {`glob.match(b, null, a)`, file, "select*drop*"}, {`glob.match(b, [], a)`, "a.b.c.d.e", "*.*.*.*.*"},
		{`lower(upper(a))`, file, ""}, {`replace(a, "select", "SELECT")`, file, ""}, {`replace(a, "", "-")`, file[:1000], ""}, {`concat(", ", split(a, "\n"))`, file, ""}, {`sprintf("%s %d", [a, 1])`, file, ""}, {`$"{a} of {b}"`, file, "t"},
		{`to_number(a) + 1`, strings.Repeat("9", 300), ""}, {`json.unmarshal(a)`, `{"a": ["` + strings.Repeat("9", 5000) + `", 1.5e3]}`, ""}, {`units.parse_bytes(a)`, "10MiB", ""},
	} {
		if o := stepOf(t, step[0], step[1], step[2]); o.Verdict != call.PolicyAllow {
			t.Errorf("%s with %.40q: got %s", step[0], step[2], describe(o))
		}
	}
}

// A pattern that is none leaves the rule undefined, as OPA has it.
func TestAPatternThatIsNoneMatchesNothing(t *testing.T) {
	for _, use := range []string{`regex.match(b, a)`, `regex.split(b, a)`, `regex.find_n(b, a, -1)`} {
		if o := stepOf(t, use, strings.Repeat("a", 500_000), "(a{2}"); o.Verdict != call.PolicyDeny || o.Deny[0] != "nothing" {
			t.Errorf("%s: got %s", use, describe(o))
		}
	}
}

// Numbers that grow in an evaluation end it before they take seconds.
func TestNumbersDoNotGrowWithoutBound(t *testing.T) {
	e := engine(t, policy.Source{Name: "p", Text: "package chalk.policy\ndeny contains \"x\" if {\nx0 := 12345678901234567890\n" + lines(30, "x%d := x%[2]d * x%[2]d") + "x30 == 1\n}"})
	if o := e.Evaluate(t.Context(), policy.Input{}); o.Verdict != call.PolicyError || !strings.Contains(o.Err.Error(), "line 10, column 7: a function has too much to do: mul") {
		t.Errorf("got %s", describe(o))
	}
}
