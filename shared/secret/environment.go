package secret

import "mcprelay/shared/call"

// MaxVariable is the longest value that a variable of a child process takes,
// in bytes: a quarter of what Linux lets one string of an environment have
// (MAX_ARG_STRLEN, execve(2)).
const MaxVariable = 32 << 10

// Variable says what is wrong with the name of a variable that an operator
// gives to a child process.
func Variable(name string) error { return nil }

// Environ gives the variables of a as NAME=value, in the order of their names.
// The refusal is secret_missing or secret_unusable, with the position of the
// first bad byte of a value at most.
func Environ(a Auth, values map[string]Value) ([]string, *call.Refusal) { return nil, nil }
