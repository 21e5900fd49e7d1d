package secret

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"mcprelay/shared/call"
)

// MaxVariable is the longest value that a variable of a child process takes,
// in bytes: a quarter of what Linux lets one string of an environment have
// (MAX_ARG_STRLEN, execve(2)).
const MaxVariable = 32 << 10

// maxVariableName bounds the name of a variable, in bytes.
const maxVariableName = 128

// errVariable is the error of a variable that is not the operator's to set.
var errVariable = errors.New("this variable belongs to the relay, to its platform or to the loader of programs")

// Variable says what is wrong with the name of a variable that an operator
// gives to a child process: [A-Za-z_][A-Za-z0-9_]* (POSIX.1-2024, section
// 8.1) that is neither the relay's or its platform's own nor, as LD_PRELOAD
// does, makes the program another one.
func Variable(name string) error {
	switch {
	case name == "":
		return errors.New("a variable needs a name")
	case len(name) > maxVariableName:
		return fmt.Errorf("it is longer than %d bytes", maxVariableName)
	}
	for i := range len(name) {
		if c := name[i]; c != '_' && (!alphanumeric(c) || i == 0 && c <= '9') {
			return fmt.Errorf("its byte %d is not one of a-z A-Z 0-9 _, or is a digit at the beginning", i+1)
		}
	}
	upper := strings.ToUpper(name)
	for _, prefix := range [...]string{"RELAY_", "AWS_", "_AWS_", "LAMBDA_", "_LAMBDA_", "_X_AMZN_", "_HANDLER", "LD_", "DYLD_"} {
		if strings.HasPrefix(upper, prefix) {
			return errVariable
		}
	}
	return nil
}

// variable is one variable of a child process.
type variable struct {
	name  string
	value Value
}

// Environ gives the credential's variables as NAME=value, in the order of
// their names.
func (b Binding) Environ() []string {
	var environ []string
	for _, v := range b.variables {
		environ = append(environ, v.name+"="+string(v.value.Expose()))
	}
	return environ
}

// bindVariables puts values, by reference, into the variables of a.
func bindVariables(a Auth, values map[string]Value) ([]variable, *call.Refusal) {
	if a.Type != TypeEnvironment && len(a.Environment) > 0 {
		return nil, call.Refuse(call.SecretUnusable, "auth type %q sets no variables", a.Type)
	}
	var variables []variable
	for _, name := range slices.Sorted(maps.Keys(a.Environment)) {
		ref := a.Environment[name]
		value := values[ref]
		switch n := value.Len(); {
		case n == 0:
			return nil, call.Refuse(call.SecretMissing, "secret %s is not set", ref)
		case n < MinLength || n > MaxVariable:
			return nil, call.Refuse(call.SecretUnusable, "secret %s has %d bytes, not %d to %d", ref, n, MinLength, MaxVariable)
		}
		if err := Variable(name); err != nil {
			return nil, call.Refuse(call.SecretUnusable, "variable of secret %s: %v", ref, err)
		}
		if at := bytes.IndexByte(value.Expose(), 0); at >= 0 {
			return nil, call.Refuse(call.SecretUnusable, "byte %d of secret %s cannot be in an environment", at+1, ref)
		}
		variables = append(variables, variable{name, value})
	}
	return variables, nil
}
