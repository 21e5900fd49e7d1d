package policy

import (
	"github.com/open-policy-agent/opa/v1/ast"
)

// OPA's compiler cannot be interrupted, and takes minutes for sources of some
// kilobytes that are made for it. These bounds keep what was tried below a
// second; a limit of time would refuse on a slow machine what a fast one saved.
// Beside each: what was measured at it, on one core.
const (
	// MaxLines bounds the lines of a source: 0.01 s for as many comments.
	MaxLines = 10_000
	// MaxNesting bounds the terms of a source that are within one another, and,
	// before it is parsed, the brackets that are open at once.
	MaxNesting = 64
	// maxComprehensions bounds the comprehensions within one another: 0.1 s.
	// Each more doubles it.
	maxComprehensions = 8
	// maxRules bounds rules, with their else: 0.6 s for a chain of as many.
	maxRules = 1000
	// maxSteps bounds the expressions and calls of one rule: 0.1 s.
	maxSteps = 500
	// maxTerms bounds all terms: 0.6 s for a table of 18,000.
	maxTerms = 20_000
	// maxType bounds how large the type of one name is when written out, which
	// doubles with each rule that names another twice: 0.13 s.
	maxType = 1 << 20
)

// checkText holds a source to the bounds that are seen before it is parsed.
func checkText(text string) error {
	depth, line, start := 0, 1, 0
	for i, c := range []byte(text) {
		switch c {
		case '(', '[', '{':
			depth++
		case ')', ']', '}':
			depth = max(depth-1, 0)
		case '\n':
			line, start = line+1, i+1
		}
		at := &ast.Location{Row: line, Col: i - start + 1}
		switch {
		case depth > MaxNesting:
			return ast.NewError(ast.ParseErr, at, "more than %d brackets are open", MaxNesting)
		case line > MaxLines:
			return ast.NewError(ast.ParseErr, at, "there are more than %d lines", MaxLines)
		}
	}
	return nil
}

// checkSize holds a parsed source to the other bounds.
func checkSize(m *ast.Module) error {
	var s sizes
	for _, rule := range m.Rules {
		s.steps = 0
		ast.NewBeforeAfterVisitor(s.enter, s.leave).Walk(rule)
		if s.excess != "" {
			return ast.NewError(ast.CompileErr, rule.Location, "%s", s.excess)
		}
	}
	if i := typesOf(m).excess(); i >= 0 {
		return ast.NewError(ast.CompileErr, m.Rules[i].Location, "the type of a name in the rule is too large when it is written out")
	}
	return nil
}

// sizes counts what a walk over a module meets.
type sizes struct {
	rules, terms, steps    int
	nesting, comprehension int
	excess                 string
}

func (s *sizes) enter(x any) bool {
	switch x := x.(type) {
	case *ast.Rule:
		s.rules++
	case *ast.Expr:
		s.steps++
	case *ast.Term:
		s.terms++
		s.nesting++
		switch x.Value.(type) {
		case ast.Call, *ast.TemplateString:
			s.steps++
		case *ast.ArrayComprehension, *ast.SetComprehension, *ast.ObjectComprehension:
			s.comprehension++
		}
	}
	switch {
	case s.rules > maxRules:
		s.excess = "there are too many rules"
	case s.steps > maxSteps:
		s.excess = "the rule has too many expressions"
	case s.terms > maxTerms:
		s.excess = "there are too many terms"
	case s.nesting > MaxNesting, s.comprehension > maxComprehensions:
		s.excess = "the rule is nested too deep"
	}
	return s.excess != ""
}

func (s *sizes) leave(x any) {
	term, ok := x.(*ast.Term)
	if !ok {
		return
	}
	s.nesting--
	switch term.Value.(type) {
	case *ast.ArrayComprehension, *ast.SetComprehension, *ast.ObjectComprehension:
		s.comprehension--
	}
}
