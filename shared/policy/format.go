package policy

import (
	"regexp"

	"github.com/open-policy-agent/opa/v1/ast"
)

// unbounded finds verbs that write more than they are given: a width or a
// precision of four digits and more (one of a million each: 430 MB for 100
// verbs), one that an argument chooses, or an argument by its index, which can
// be repeated.
var unbounded = regexp.MustCompile(`%[^a-zA-Z%]*(\*|\[|[0-9]{4})`)

// checkFormats holds sprintf to what its text shows: a format and a list that
// are written out, and no wide verbs. Otherwise one step makes gigabytes.
func checkFormats(m *ast.Module) (found error) {
	refuse := func(at *ast.Location, text string) {
		if found == nil {
			found = ast.NewError(ast.CompileErr, at, "%s", text)
		}
	}
	check := func(at *ast.Location, terms []*ast.Term) {
		if len(terms) < 3 || !isSprintf(terms[0]) {
			return
		}
		format, text := terms[1].Value.(ast.String)
		_, list := terms[2].Value.(*ast.Array)
		switch {
		case !text || !list:
			refuse(at, "sprintf wants its format and the list of its values written out: sprintf(\"...\", [a, b])")
		case unbounded.MatchString(string(format)):
			refuse(at, "a verb of sprintf has a width over 999, a * or an index")
		}
	}
	ast.WalkTerms(m, func(t *ast.Term) bool {
		if c, ok := t.Value.(ast.Call); ok {
			check(t.Location, c)
		}
		return false
	})
	ast.WalkExprs(m, func(e *ast.Expr) bool {
		if terms, ok := e.Terms.([]*ast.Term); ok {
			check(e.Location, terms)
		}
		for _, with := range e.With {
			if isSprintf(with.Value) {
				refuse(with.Location, "sprintf cannot stand for another function")
			}
		}
		return false
	})
	return found
}

func isSprintf(t *ast.Term) bool {
	return t.Equal(ast.NewTerm(ast.Sprintf.Ref())) || t.Equal(ast.VarTerm("sprintf"))
}
