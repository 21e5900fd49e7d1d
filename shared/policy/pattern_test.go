package policy_test

import (
	"strings"
	"testing"

	"mcprelay/shared/call"
	"mcprelay/shared/policy"
)

func TestHowFarASearchLooksForNothing(t *testing.T) {
	for pattern, want := range map[string]int{
		"":             0,
		"ab":           8, // a byte of a pattern stands for up to four of a text
		"[a-z]":        4,
		".":            4,
		"(?s).":        4,
		"a|bcd":        12,
		"(ab)":         8,
		"(a|b.*)":      policy.Endless,
		"a+":           4, // what repeats at the end is a match already
		"(a+)":         4,
		"(ab)*":        8,
		"xa*":          8,
		"x(ya*)":       12,
		"a{3}":         12,
		"[ab]{2,5}":    20,
		"(ab){2,}":     16,
		"x{0,}":        4,
		"(a.*b)*":      policy.Endless,
		"a*b":          policy.Endless,
		"(a*)(b)":      policy.Endless,
		"a+b":          policy.Endless,
		"a?b":          8,
		"(?:a{2,})b":   policy.Endless,
		"(a{10}b){50}": 50 * 44,
		"^a$":          4,
		`\ba\b`:        4,
	} {
		if got := policy.Reach(pattern); got != want {
			t.Errorf("%q reaches %d bytes, want %d", pattern, got, want)
		}
	}
}

func TestHowManyStatesAPatternHas(t *testing.T) {
	for pattern, want := range map[string]int{
		"": 1, "a": 1, "abc": 3, "[ab]": 1, "a|b": 1, "ab|cd": 5, "a*": 2, "(a)": 2, "a{5}": 10, "a{2,7}": 14, "a{3,}": 6, "(a{10}){10}": 220,
		"((a{1000}){1})": 2003, strings.Repeat("a{1000}", 11): policy.MaxStates + 1,
	} {
		if got := policy.States(pattern); got != want {
			t.Errorf("%q has %d states, want %d", pattern, got, want)
		}
	}
}

// Each bound of a pattern, at it and over it.
func TestTheWorkOfPatternsIsBounded(t *testing.T) {
	text := func(n int) string { return strings.Repeat("a", n) }
	plain, counted := strings.Repeat("b", 64), "b{32}" // 64 states
	for name, c := range map[string]struct{ got, want bool }{
		"plain, at the bound":         {policy.Matches(plain[:32], text(policy.MaxWork/64)), true},
		"plain, over the quick guess": {policy.Matches(plain[:32], text(policy.MaxWork/32)), true},
		"plain, over the bound":       {policy.Matches(plain[:32], text(policy.MaxWork/32+1)), false},
		"counted, at the bound":       {policy.Matches(counted, text(policy.MaxWork/64)), true},
		"counted, over it":            {policy.Matches(counted, text(policy.MaxWork/64+1)), false},
		"states, at the bound":        {policy.Matches(text(policy.MaxStates), "a"), true},
		"states, over it":             {policy.Matches(text(policy.MaxStates+1), "a"), false},
		"counted states, over it":     {policy.Matches(strings.Repeat("a{1000}", 11), ""), false},
		"no pattern":                  {policy.Matches("(", text(1000)), true},
		"no pattern, counted":         {policy.Matches("(a{2}", text(1000)), true},
		"all, at the bound":           {policy.Finds("a", text(policy.MaxFound)), true},
		"all, over it":                {policy.Finds("a", text(policy.MaxFound+1)), false},
		"all, of much reach":          {policy.Finds("a*b", text(2800)), true},
		"all, of too much":            {policy.Finds("a*b", text(2900)), false},
		"all, no pattern":             {policy.Finds("(", text(10)), true},
		"all, too long":               {policy.Finds(text(policy.MaxStates+1), ""), false},
		"all, too many states":        {policy.Finds("a{1000}", text(policy.MaxFound)), false},
	} {
		if c.got != c.want {
			t.Errorf("%s: got %v", name, c.got)
		}
	}
}

func TestHowOftenAGlobIsTried(t *testing.T) {
	for _, c := range []struct {
		pattern string
		n, want int
	}{
		{"", 100, 1}, {"abc", 100, 1}, {"*", 100, 1}, {"a*b*c", 100, 1}, {"**a**", 100, 1},
		{"*a*b*", 100, 101}, {"*a*b*c*", 100, 101 * 102 / 2}, {"*a**b*", 100, 101},
		{"{a,b}", 100, 2}, {"{a,b,c}*{d,e}", 100, 8}, {"*a*{b,c}*", 10, 22},
		{"*.*.*.*.*", 9, 220},
	} {
		if got := policy.Tries(c.pattern, c.n); got != c.want {
			t.Errorf("%q on %d bytes: got %d, want %d", c.pattern, c.n, got, c.want)
		}
	}
	if got := policy.Tries(strings.Repeat("*a", 50), 1000); got <= policy.MaxTries {
		t.Errorf("got %d, want over %d", got, policy.MaxTries)
	}
}

// What functions give is counted over the evaluation, whoever gave it.
func TestWhatFunctionsMakeIsCounted(t *testing.T) {
	half := strings.Repeat("a", policy.MaxMade/64)
	for use, fits := range map[string]bool{
		`[x | some i in numbers.range(1, 60); x := trim_prefix(a, "b")]`:                            true,
		`[x | some i in numbers.range(1, 70); x := trim_prefix(a, "b")]`:                            false,
		`[x | some i in numbers.range(1, 5); x := split(a, "a")]`:                                   false,
		`[x | some i in numbers.range(1, 5); x := {c | some c in split(substring(a, 0, 10), "")}]`:  true,
		`concat("", [x | some i in numbers.range(1, 31); x := a])`:                                  true, // written and given
		`concat("", [x | some i in numbers.range(1, 33); x := a])`:                                  false,
		`concat("", {x | some i in numbers.range(1, 31); x := concat("", [a, format_int(i, 10)])})`: false,
		`concat(a, ["", "", ""])`:                                                               true,
		`concat(a, split(substring(a, 0, 80), ""))`:                                             false,
		`sprintf("%v", [[a, [a, {"b": a}]]])`:                                                   true,
		`sprintf("%v", [[x | some i in numbers.range(1, 70); x := a]])`:                         false,
		`[n | some i in numbers.range(1, 100); n := array.concat(numbers.range(1, 10000), [])]`: false,
		`[n | some i in numbers.range(1, 100); n := object.keys({"a": 1})]`:                     true,
	} {
		o := stepOf(t, use, half, "")
		if got := o.Verdict == call.PolicyAllow; got != fits {
			t.Errorf("%s: got %s", use, describe(o))
		}
	}
}
