package policy

import (
	"regexp/syntax"
	"strings"
)

// matches reports whether it is little work to look for pattern in text.
func matches(pattern, text string) bool {
	n := len(text)
	// Without counts a pattern has about one instruction a byte, at most two.
	if !strings.Contains(pattern, "{") && 2*len(pattern) <= maxStates && 2*len(pattern)*n <= maxWork {
		return true
	}
	_, s := readPattern(pattern)
	return s <= maxStates && s*n <= maxWork
}

// finds is matches for all places of a text: after each, the search begins
// anew, and where it was for nothing it may have gone to the end.
func finds(pattern, text string) bool {
	re, s := readPattern(pattern)
	if re == nil {
		return s <= maxStates
	}
	n := len(text)
	return n <= maxFound && s <= maxStates && s*n*max(1, min(reach(re), n)) <= maxWork
}

// readPattern gives a pattern and its states: too many, and no pattern, for one
// that is too long to be read; none for what is no pattern, of which the
// function itself says so.
func readPattern(pattern string) (*syntax.Regexp, int) {
	if len(pattern) > maxStates {
		return nil, maxStates + 1
	}
	re, err := syntax.Parse(pattern, syntax.Perl)
	if err != nil {
		return nil, 0
	}
	return re, states(re)
}

// states is how many instructions re compiles to, about.
func states(re *syntax.Regexp) int {
	n := 1
	if re.Op == syntax.OpLiteral {
		n = len(re.Rune)
	}
	for _, sub := range re.Sub {
		n = min(n+states(sub), maxStates+1)
	}
	if re.Op == syntax.OpRepeat {
		n *= max(re.Min, re.Max, 1)
	}
	return min(n, maxStates+1)
}

// endless is the reach of what has no bound.
const endless = 1 << 31

// reach is how many bytes a search may look at beyond the place where it begins
// before it is for nothing. What repeats at the very end does not count: from
// there on each byte is part of a match, and is passed once.
func reach(re *syntax.Regexp) int {
	switch re.Op {
	case syntax.OpCapture:
		return reach(re.Sub[0])
	case syntax.OpStar, syntax.OpPlus:
		return longest(re.Sub[0])
	case syntax.OpRepeat:
		if re.Max < 0 {
			return max(re.Min, 1) * longest(re.Sub[0])
		}
	case syntax.OpConcat:
		n := 0
		for _, sub := range re.Sub[:len(re.Sub)-1] {
			n = min(n+longest(sub), endless)
		}
		return min(n+reach(re.Sub[len(re.Sub)-1]), endless)
	}
	return longest(re)
}

// longest is how many bytes a match of re has at most.
func longest(re *syntax.Regexp) int {
	n := 0
	for _, sub := range re.Sub {
		if re.Op == syntax.OpAlternate {
			n = max(n, longest(sub))
		} else {
			n = min(n+longest(sub), endless)
		}
	}
	switch re.Op {
	case syntax.OpLiteral:
		return 4 * len(re.Rune)
	case syntax.OpCharClass, syntax.OpAnyChar, syntax.OpAnyCharNotNL:
		return 4
	case syntax.OpStar, syntax.OpPlus:
		return endless
	case syntax.OpRepeat:
		if re.Max < 0 {
			return endless
		}
		return min(n*re.Max, endless)
	}
	return n
}

// tries is about in how many ways glob.match puts n bytes of text on pattern:
// each wildcard but the outer two may begin at any of them, and each of a
// group's alternatives is tried for each.
func tries(pattern string, n int) int {
	ways, wildcards, last := 1, 0, byte(0)
	for i := range len(pattern) {
		c := pattern[i]
		switch {
		case c == '*' && last != '*':
			if wildcards++; wildcards > 2 {
				k := wildcards - 2
				ways = ways * (n + k) / k
			}
		case c == ',':
			// A comma outside a group counts too, which makes it no faster.
			ways *= 2
		}
		if last = c; ways > maxTries {
			break
		}
	}
	return ways
}
