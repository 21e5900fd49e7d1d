package policy

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/open-policy-agent/opa/v1/ast"
	"github.com/open-policy-agent/opa/v1/rego"
)

// fileName stands for the source in OPA's own errors; it is never shown.
const fileName = "policy.rego"

// prepared is one policy that can be asked.
type prepared struct {
	name  string
	audit bool
	query rego.PreparedEvalQuery
}

// prepare compiles one source and says what is doubtful about it.
func prepare(s Source) (p prepared, doubts []string, err error) {
	defer func() {
		if recover() != nil {
			err = &CompileError{Policy: s.Name, Message: "the compiler failed on it"}
		}
	}()
	boundSteps()
	if len(s.Text) > MaxSource {
		return prepared{}, nil, &CompileError{Policy: s.Name, Message: fmt.Sprintf("it is longer than %d bytes", MaxSource)}
	}
	module, version, err := parse(s.Text)
	if err != nil {
		return prepared{}, nil, place(s.Name, err)
	}
	if err := errors.Join(checkModule(module), checkSize(module), checkFormats(module)); err != nil {
		return prepared{}, nil, place(s.Name, err)
	}
	if version == ast.RegoV0 {
		doubts = append(doubts, "it is written in Rego v0: write it in v1, for instance with opa fmt --v0-v1")
	}
	doubts = append(doubts, doubtful(module)...)
	query, err := compile(module, version)
	if err != nil {
		return prepared{}, nil, place(s.Name, err)
	}
	return prepared{name: s.Name, audit: s.Audit, query: query}, doubts, nil
}

// parse reads text as Rego v1, else as v0. Where it is neither, the error is
// that of the version that understood more of it.
func parse(text string) (*ast.Module, ast.RegoVersion, error) {
	if err := checkText(text); err != nil {
		return nil, ast.RegoV1, err
	}
	module, err := parseAs(text, ast.RegoV1)
	if err == nil {
		return module, ast.RegoV1, nil
	}
	module, err0 := parseAs(text, ast.RegoV0)
	if err0 == nil {
		return module, ast.RegoV0, nil
	}
	if before(first(err), first(err0)) {
		err = err0
	}
	return nil, ast.RegoV1, err
}

func parseAs(text string, version ast.RegoVersion) (*ast.Module, error) {
	return ast.ParseModuleWithOpts(fileName, text, ast.ParserOptions{RegoVersion: version, Capabilities: capabilities(version)})
}

// compile makes module answer what its deny is.
func compile(module *ast.Module, version ast.RegoVersion) (rego.PreparedEvalQuery, error) {
	// Strict mode is off: it refuses imports and variables that are not used,
	// which change nothing, in policies that have worked elsewhere.
	c := ast.NewCompiler().WithCapabilities(capabilities(version)).WithDefaultRegoVersion(version).WithStrict(false)
	if c.Compile(map[string]*ast.Module{fileName: module}); c.Failed() {
		return rego.PreparedEvalQuery{}, c.Errors
	}
	deny := module.Package.Path.Append(ast.StringTerm("deny"))
	return rego.New(
		rego.ParsedQuery(ast.NewBody(ast.NewExpr(ast.NewTerm(deny)))),
		rego.Compiler(c),
		rego.Capabilities(c.Capabilities()),
		rego.GenerateJSON(func(t *ast.Term, _ *rego.EvalContext) (any, error) { return t.Value, nil }),
	).PrepareForEval(context.Background())
}

// place makes err an error of the policy, at its first place.
func place(policy string, err error) *CompileError {
	found := &CompileError{Policy: policy, Message: "it cannot be compiled"}
	if e := first(err); e != nil {
		found.Message = cut(e.Message)
		if e.Location != nil {
			found.Line, found.Column = e.Location.Row, e.Location.Col
		}
	}
	return found
}

// first is the error of OPA that stands first in the source, or nil.
func first(err error) *ast.Error {
	var one *ast.Error
	if errors.As(err, &one) {
		return one
	}
	var all ast.Errors
	errors.As(err, &all)
	for _, e := range all {
		if one == nil || before(e, one) {
			one = e
		}
	}
	return one
}

// before reports whether a stands before b in the source.
func before(a, b *ast.Error) bool {
	if a == nil || b == nil || a.Location == nil || b.Location == nil {
		return false
	}
	return a.Location.Compare(b.Location) < 0
}

// cut shortens text to MaxMessage bytes of valid UTF-8.
func cut(text string) string {
	if len(text) > MaxMessage {
		text = text[:MaxMessage]
	}
	// A copy, since the text that a policy built may be very long.
	return strings.Clone(strings.ToValidUTF8(text, ""))
}
