package policy

import (
	"errors"
	"strings"
	"sync"

	"github.com/open-policy-agent/opa/v1/ast"
	"github.com/open-policy-agent/opa/v1/topdown"
)

// OPA ends an evaluation between two steps. A step is one function, and some
// would run for a minute, or make gigabytes, of what an agent can send: these
// bounds hold each function to what was measured beside them, on one core.
const (
	// maxMade bounds the bytes of all that functions give in one evaluation.
	maxMade = 32 << 20
	// maxWork bounds the product of a text's length with what is looked for at
	// each of its bytes: 0.04 s for indexof, 0.3 s for regex.match.
	maxWork = 32 << 20
	// maxTries bounds in how many ways glob.match tries a pattern: 0.2 s.
	maxTries = 100_000
	// maxStates bounds what a pattern compiles to, in instructions: 0.02 s.
	maxStates = 20_000
	// maxFound bounds a text, in bytes, of which all matches are found: 0.1 s.
	maxFound = 128 << 10
	// element is about how many bytes a member of a list takes.
	element = 64
)

// errLarge says that a function was given too much, or gave too much. As with
// errSlow, that is partly the agent's doing: no setting lets the call pass.
var errLarge = errors.New("a function has too much to do")

// codeLarge is errLarge as a code of OPA's errors.
const codeLarge = "mcprelay_too_large"

// boundSteps puts the bounds around every function that policies have. OPA looks
// functions up by name in one table of the process.
var boundSteps = sync.OnceFunc(func() {
	for _, name := range strings.Fields(builtins) {
		if f := topdown.GetBuiltin(name); f != nil {
			// So that what was made is counted over the whole evaluation.
			ast.BuiltinMap[name].CanSkipBctx = false
			topdown.RegisterBuiltinFunc(name, bounded(name, f))
		}
	}
})

func bounded(name string, f topdown.BuiltinFunc) topdown.BuiltinFunc {
	return func(b topdown.BuiltinContext, operands []*ast.Term, give func(*ast.Term) error) error {
		if !fits(name, operands) || !made(b, written(name, operands)) {
			return large(name, b.Location)
		}
		return f(b, operands, func(result *ast.Term) error {
			if !made(b, size(result)) {
				return large(name, b.Location)
			}
			return give(result)
		})
	}
}

// large ends the evaluation. An error of the function itself would only leave a
// rule undefined.
func large(name string, at *ast.Location) error {
	return topdown.Halt{Err: &topdown.Error{Code: codeLarge, Message: name, Location: at}}
}

// counter is the key of what functions made, in the cache that OPA keeps for
// the time of one evaluation.
type counter struct{}

// made adds n bytes to what the evaluation made, and reports whether it may.
func made(b topdown.BuiltinContext, n int) bool {
	if n == 0 {
		return true
	}
	total, ok := b.Cache.Get(counter{})
	if !ok {
		total = new(int)
		b.Cache.Put(counter{}, total)
	}
	sum := total.(*int)
	*sum += n
	return *sum <= maxMade
}

// size is about how many bytes a value adds to those that its members had.
func size(t *ast.Term) int {
	switch v := t.Value.(type) {
	case ast.String:
		return len(v)
	case ast.Number:
		return len(v)
	}
	return members(t) * element
}

// members is how many a list, a set or an object has.
func members(t *ast.Term) int {
	switch v := t.Value.(type) {
	case *ast.Array:
		return v.Len()
	case ast.Set:
		return v.Len()
	case ast.Object:
		return v.Len()
	}
	return 0
}

// written is how many bytes the functions are about to make that can write one
// text many times.
func written(name string, operands []*ast.Term) int {
	switch name {
	case ast.Concat.Name:
		return length(operands[1]) + members(operands[1])*length(operands[0])
	case ast.Sprintf.Name:
		return length(operands[0]) + length(operands[1])
	case ast.InternalTemplateString.Name:
		return length(operands[0])
	case ast.Replace.Name:
		return strings.Count(text(operands[0]), text(operands[1])) * len(text(operands[2]))
	}
	return 0
}

// length is how many bytes t has when it is written out, at least. It stops at
// maxMade.
func length(t *ast.Term) int {
	n := 0
	ast.WalkTerms(t, func(part *ast.Term) bool {
		switch v := part.Value.(type) {
		case ast.String:
			n += len(v)
		case ast.Number:
			n += len(v)
		default:
			n++
		}
		return n > maxMade
	})
	return n
}

// fits reports whether a function can be given operands.
func fits(name string, operands []*ast.Term) bool {
	for _, o := range operands {
		if n, ok := o.Value.(ast.Number); ok && len(n) > MaxDigits {
			return false
		}
	}
	switch name {
	case "to_number", "json.unmarshal", "units.parse", "units.parse_bytes":
		return !hasLongNumber([]byte(text(operands[0])))
	case "trim", "trim_left", "trim_right", "indexof", "indexof_n":
		return len(text(operands[0]))*len(text(operands[1])) <= maxWork
	case "regex.match", "re_match":
		return matches(text(operands[0]), text(operands[1]))
	case "regex.split", "regex.find_n":
		return finds(text(operands[0]), text(operands[1]))
	case "glob.match":
		return tries(text(operands[0]), len(text(operands[2]))) <= maxTries
	}
	return true
}

// text is a string, or empty for what is none.
func text(t *ast.Term) string {
	s, _ := t.Value.(ast.String)
	return string(s)
}
