package policy_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"mcprelay/shared/policy"
)

// head begins a policy that can be used.
const head = "package chalk.policy\n\ndeny contains \"no\" if input.never\n"

// lines writes format n times, with the number of the line and of the one
// before it.
func lines(n int, format string) string {
	var b strings.Builder
	for i := 1; i <= n; i++ {
		fmt.Fprintf(&b, format+"\n", i, i-1)
	}
	return b.String()
}

// What takes the compiler minutes, or a stack without end, is refused before.
func TestSourcesThatWouldExplodeAreRefused(t *testing.T) {
	many := strings.Repeat
	for name, c := range map[string]struct{ text, want string }{
		"a megabyte":               {head + many("#", 1<<20), "it is longer than 262144 bytes"},
		"lines":                    {head + many("#\n", 110_000), "there are more than 10000 lines"},
		"brackets":                 {head + "y := " + many("[", 100_000), "more than 64 brackets are open"},
		"operators":                {head + "y := " + many("1+", 60_000) + "1", "the rule is nested too deep"},
		"operators within a bound": {head + "y := " + many("1+", 100) + "1", "the rule is nested too deep"},
		"comprehensions":           {head + "y := " + many("[x | x := ", 20) + "1" + many("]", 20), "the rule is nested too deep"},
		"a chain of rules":         {head + "r0 if input.a\n" + lines(2000, "r%d if r%d"), "there are too many rules"},
		"else":                     {head + "y := 1 if input.a" + many(" else := 2 if true", 2000), "the rule has too many expressions"},
		"variables":                {head + "r if {\nv0 := 1\n" + lines(4000, "v%d := v%d") + "}", "the rule has too many expressions"},
		"templates":                {head + "y := [" + many(`$"{input.a}",`, 4000) + "]", "the rule has too many expressions"},
		"a long reference":         {head + "y := input" + many(".a", 100_000), "there are too many terms"},
		"types that double":        {head + "r0 := 1\n" + lines(60, `r%d := {"a": r%[2]d, "b": r%[2]d}`), "the type of a name in the rule is too large when it is written out"},
		"types of variables":       {head + "r if {\nv0 := {1}\n" + lines(60, "v%d := [v%[2]d, v%[2]d]") + "}", "the type of a name in the rule is too large when it is written out"},
		"types through variables":  {head + "r0 := 1\n" + lines(60, `r%d := y if { x := r%[2]d; y := {"a": x, "b": x} }`), "the type of a name in the rule is too large when it is written out"},
	} {
		_, _, err := policy.NewEngine([]policy.Source{{Name: "p", Text: c.text}})
		var place *policy.CompileError
		if !errors.As(err, &place) || place.Message != c.want {
			t.Errorf("%s: got %.200v, want %s", name, err, c.want)
		}
	}
}

func TestSourcesWithinTheBoundsAreTaken(t *testing.T) {
	many := strings.Repeat
	for name, text := range map[string]string{
		"a table":        head + "users := {\n" + lines(9000, `"user-%d-%d",`) + "}",
		"comments":       head + many("#\n", policy.MaxLines-10),
		"rules":          head + "r0 if input.a\n" + lines(300, "r%d if r%d"),
		"comprehensions": head + "y := " + many("[x | x := ", 8) + "1" + many("]", 8),
		"brackets":       head + "y := " + many("[", 60) + many("]", 60),
		"a name of many": head + "users := {\n" + lines(5000, `"user-%d-%d",`) + "}\n" + lines(100, `m%d := {"a": users, "b": %d}`),
		"the same name":  head + lines(100, `r%d := x if { y := {"n": %d}; x := {"a": y, "b": y} }`),
	} {
		if _, _, err := policy.NewEngine([]policy.Source{{Name: "p", Text: text}}); err != nil {
			t.Errorf("%s: %.200v", name, err)
		}
	}
}

func TestAnEngineHasAtMostMaxPolicies(t *testing.T) {
	sources := make([]policy.Source, policy.MaxPolicies+1)
	for i := range sources {
		sources[i] = policy.Source{Name: fmt.Sprint("p", i), Text: head}
	}
	if _, _, err := policy.NewEngine(sources[1:]); err != nil {
		t.Errorf("%d policies: %v", policy.MaxPolicies, err)
	}
	_, _, err := policy.NewEngine(sources)
	var place *policy.CompileError
	if !errors.As(err, &place) || place.Policy != "p64" || place.Line != 0 {
		t.Errorf("%d policies: got %v", len(sources), err)
	}
}

// explosions are policies that would run, or grow, without end.
func explosions() map[string]string {
	grow := func(format string) string {
		return "deny contains m if {\nx0 := \"0123456789abcdef\"\n" + lines(40, format) + "m := x40\n}"
	}
	deny := func(what string) string { return "deny contains m if { " + what + "; m := \"done\" }" }
	return map[string]string{
		"a comprehension":       deny("xs := numbers.range(1, 1000); count([1 | some a in xs; some b in xs; some c in xs; a + b + c == 7]) > 0"),
		"a product kept":        deny("xs := numbers.range(1, 1000); count({[a, b, c] | some a in xs; some b in xs; some c in xs}) > 0"),
		"a range":               deny("count(numbers.range(1, 1000000000)) > 0"),
		"a range of steps":      deny("count(numbers.range_step(1, 1000000000, 2)) > 0"),
		"every":                 deny("xs := numbers.range(1, 3000); every a in xs { every b in xs { a + b > 0 } }"),
		"a text that doubles":   grow(`x%d := concat("", [x%[2]d, x%[2]d])`),
		"an array that doubles": strings.Replace(grow("x%d := array.concat(x%[2]d, x%[2]d)"), `"0123456789abcdef"`, "[1, 2, 3, 4, 5, 6, 7, 8]", 1),
		"messages":              "deny contains sprintf(\"%d\", [n]) if some n in numbers.range(1, 100000000)",
	}
}

// The deadline ends an evaluation wherever it is. A fresh call is answered
// after each, and nothing goes on in between.
func TestTheDeadlineEndsEvaluation(t *testing.T) {
	for name, text := range explosions() {
		e := engine(t, policy.Source{Name: "boom", Text: "package chalk.policy\n" + text}, policy.Source{Name: "ok", Text: "package chalk.policy\ndeny contains \"no\""})
		start := time.Now()
		o := e.Evaluate(context.Background(), policy.Input{})
		// Far above the bound, since other work may share the machine.
		if took := time.Since(start); took > 50*policy.MaxEvaluation {
			t.Errorf("%s took %v", name, took)
		}
		// Which of the two ends what doubles depends on the machine.
		large := strings.HasSuffix(name, "that doubles") && o.Err != nil && strings.Contains(o.Err.Error(), "a function has too much to do")
		if want := "policy boom: it took longer than 100ms"; !large && (o.Err == nil || o.Err.Error() != want) {
			t.Errorf("%s: got %v, want %s", name, o.Err, want)
		}
		if alone := (policy.Outcome{Err: o.Err}); alone.Refusal(true) == nil {
			t.Errorf("%s passes where calls may pass whose policies fail", name)
		}
		if len(o.Deny) != 1 || o.Deny[0] != "no" {
			t.Errorf("%s keeps another policy from denying: %q", name, o.Deny)
		}
	}
}
