package secret

import "mcprelay/shared/call"

// Environ gives the variables of a as NAME=value, in the order of their names.
// A value may hold line breaks, but no NUL, and has [MinLength] to
// [MaxVariable] bytes. The refusal is that of [Bind].
func Environ(a Auth, values map[string]Value) ([]string, *call.Refusal) {
	b, refusal := Bind(a, values)
	return b.Environ(), refusal
}
