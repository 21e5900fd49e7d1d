package policy

// The costs of patterns, for tests.

// Reach is how many bytes a search for a pattern may look at for nothing.
func Reach(pattern string) int {
	re, _ := readPattern(pattern)
	return reach(re)
}

// States is how many instructions a pattern compiles to, about.
func States(pattern string) int {
	_, n := readPattern(pattern)
	return n
}

// Matches reports whether it is little work to look for a pattern in a text.
func Matches(pattern, text string) bool { return matches(pattern, text) }

// Finds is Matches for all places of a text.
func Finds(pattern, text string) bool { return finds(pattern, text) }

// Tries is in how many ways glob.match puts n bytes on a pattern.
func Tries(pattern string, n int) int { return tries(pattern, n) }

// The bounds of a step.
const (
	MaxMade   = maxMade
	MaxWork   = maxWork
	MaxStates = maxStates
	MaxTries  = maxTries
	MaxFound  = maxFound
	Endless   = endless
	MaxSteps  = maxSteps
)
