package main

import (
	"fmt"
	"go/ast"
	"go/token"
	"slices"
	"strings"
)

// mutant is one small change of a package.
type mutant struct {
	id     int // from 1, in its package
	trial  int // which package
	file   string
	line   int
	change string
	text   string // what is changed, on one line
}

// edit replaces what stands between two offsets of a file. The text that to is
// given has the edits within it made already.
type edit struct {
	from, end int
	to        func(inner string) string
}

// maxText bounds a text that is written twice: within it is what has been
// written twice itself.
const maxText = 1 << 12

// finder finds the mutants of one file.
type finder struct {
	fset    *token.FileSet
	source  []byte
	name    string
	next    *int
	mutants []mutant
	edits   []edit
	results []*ast.FieldList // of the functions around
}

// find visits every function. A constant, a type or the value of a variable of
// the package is left alone.
func (f *finder) find(file *ast.File) {
	for _, decl := range file.Decls {
		if fn, ok := decl.(*ast.FuncDecl); ok && fn.Body != nil {
			f.function(fn.Type, fn.Body)
		}
	}
}

func (f *finder) function(kind *ast.FuncType, body *ast.BlockStmt) {
	f.results = append(f.results, kind.Results)
	ast.Inspect(body, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.FuncLit:
			f.function(n.Type, n.Body)
			return false
		case *ast.GenDecl:
			return n.Tok != token.CONST
		case *ast.BlockStmt:
			f.drops(n.List)
		case *ast.CaseClause:
			f.drops(n.Body)
		case *ast.CommClause:
			f.drops(n.Body)
		case *ast.IfStmt:
			f.negate(n.Cond)
		case *ast.ForStmt:
			f.negate(n.Cond)
		case *ast.BinaryExpr:
			f.swap(n)
		case *ast.ReturnStmt:
			f.zero(n)
		}
		return true
	})
	f.results = f.results[:len(f.results)-1]
}

// add notes a mutant and the edit that makes it.
func (f *finder) add(n ast.Node, change string, to func(id int, inner string) string) {
	*f.next++
	id, at := *f.next, f.fset.Position(n.Pos())
	text := strings.Join(strings.Fields(string(f.source[at.Offset:f.fset.Position(n.End()).Offset])), " ")
	f.mutants = append(f.mutants, mutant{id: id, file: f.name, line: at.Line, change: change, text: text[:min(len(text), 100)]})
	f.edits = append(f.edits, edit{at.Offset, f.fset.Position(n.End()).Offset, func(inner string) string { return to(id, inner) }})
}

// negate takes a condition for its opposite.
func (f *finder) negate(cond ast.Expr) {
	if cond == nil {
		return
	}
	if b, ok := cond.(*ast.BinaryExpr); ok && (b.Op == token.EQL || b.Op == token.NEQ) {
		return // what swap makes is the same
	}
	f.add(cond, "negate", func(id int, inner string) string { return fmt.Sprintf("(mutated__(%d) != (%s))", id, inner) })
}

// swap takes one operator for another.
func (f *finder) swap(b *ast.BinaryExpr) {
	other, ok := map[token.Token]string{
		token.LSS: "<=", token.LEQ: "<", token.GTR: ">=", token.GEQ: ">", token.EQL: "!=", token.NEQ: "==", token.LAND: "||", token.LOR: "&&",
	}[b.Op]
	if !ok {
		return
	}
	at := f.fset.Position(b.OpPos).Offset
	x, y := string(f.source[f.fset.Position(b.X.Pos()).Offset:at]), string(f.source[at+len(b.Op.String()):f.fset.Position(b.End()).Offset])
	f.add(b, b.Op.String()+" for "+other, func(id int, inner string) string {
		if len(inner) > maxText {
			return inner
		}
		return fmt.Sprintf("((mutated__(%d) && ((%s) %s (%s))) || (!mutated__(%d) && (%s)))", id, x, other, y, id, inner)
	})
}

// drops leaves statements out, each by itself: calls, assignments, counts, and
// ends of loops.
func (f *finder) drops(list []ast.Stmt) {
	for _, stmt := range list {
		switch s := stmt.(type) {
		case *ast.ExprStmt, *ast.IncDecStmt:
		case *ast.BranchStmt:
			if s.Tok != token.BREAK && s.Tok != token.CONTINUE {
				continue
			}
		case *ast.AssignStmt:
			if s.Tok == token.DEFINE || !slices.ContainsFunc(s.Lhs, named) {
				continue
			}
		default:
			continue
		}
		f.add(stmt, "drop", func(id int, inner string) string { return fmt.Sprintf("if !mutated__(%d) { %s }", id, inner) })
	}
}

// named reports whether an assignment to x is more than leaving a value out.
func named(x ast.Expr) bool {
	id, ok := x.(*ast.Ident)
	return !ok || id.Name != "_"
}

// zero gives back the zero values of a function's results.
func (f *finder) zero(r *ast.ReturnStmt) {
	results := f.results[len(f.results)-1]
	if len(r.Results) == 0 || !slices.ContainsFunc(r.Results, notZero) {
		return
	}
	var vars, names []string
	for _, field := range results.List {
		kind := string(f.source[f.fset.Position(field.Type.Pos()).Offset:f.fset.Position(field.Type.End()).Offset])
		for range max(1, len(field.Names)) {
			name := fmt.Sprintf("zero%d__", len(names))
			vars, names = append(vars, "var "+name+" "+kind), append(names, name)
		}
	}
	f.add(r, "zero", func(id int, inner string) string {
		return fmt.Sprintf("if mutated__(%d) { %s; return %s }; %s", id, strings.Join(vars, "; "), strings.Join(names, ", "), inner)
	})
}

// notZero reports whether x is anything but a plain zero value.
func notZero(x ast.Expr) bool {
	switch x := x.(type) {
	case *ast.Ident:
		return x.Name != "nil" && x.Name != "false"
	case *ast.BasicLit:
		return x.Value != `""` && x.Value != "0"
	case *ast.CompositeLit:
		return len(x.Elts) > 0
	}
	return true
}
