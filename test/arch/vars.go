package arch

import (
	"go/ast"
	"go/token"
	"go/types"
	"strings"
)

// vars refuses variables of a package that anything could change. Free are: _,
// values of the calls in vars.txt, embedded files, and unexported tables
// (literals and conversions) that no line of the package writes to.
func vars(t *Tree, d *Data) []Violation {
	var found []Violation
	for _, p := range t.Packages {
		if p.Test || under(p.Dir, "test") {
			continue
		}
		written := p.written()
		for _, f := range p.Files {
			if f.Test {
				continue
			}
			for _, decl := range f.Syntax.Decls {
				gen, ok := decl.(*ast.GenDecl)
				if !ok || gen.Tok != token.VAR || embedded(gen) {
					continue
				}
				for _, spec := range gen.Specs {
					for _, id := range p.mutable(spec.(*ast.ValueSpec), d, written) {
						found = append(found, t.at(id.Pos(), "%s is a variable of the package", id.Name))
					}
				}
			}
		}
	}
	return found
}

// mutable lists the names of spec that are not free.
func (p *Package) mutable(spec *ast.ValueSpec, d *Data, written map[types.Object]bool) []*ast.Ident {
	var found []*ast.Ident
	for i, id := range spec.Names {
		if id.Name == "_" {
			continue
		}
		var value ast.Expr
		if len(spec.Values) == len(spec.Names) {
			value = spec.Values[i]
		}
		table := p.literal(value) && !id.IsExported()
		if written[p.Info.Defs[id]] || !table && !p.constant(value, d) {
			found = append(found, id)
		}
	}
	return found
}

// constant reports whether value is a call that vars.txt lists.
func (p *Package) constant(value ast.Expr, d *Data) bool {
	call, ok := value.(*ast.CallExpr)
	if !ok {
		return false
	}
	fun := call.Fun
	if index, ok := fun.(*ast.IndexExpr); ok { // sync.OnceValue[T]
		fun = index.X
	}
	sel, ok := fun.(*ast.SelectorExpr)
	return ok && d.Values[p.imported(sel.X)+"."+sel.Sel.Name]
}

// literal reports whether value is a table: a composite literal, a basic one,
// or a conversion of one such as []byte("x").
func (p *Package) literal(value ast.Expr) bool {
	switch v := value.(type) {
	case *ast.CompositeLit:
		// A lock or a counter changes by its methods.
		sel, ok := v.Type.(*ast.SelectorExpr)
		return !ok || !under(p.imported(sel.X), "sync")
	case *ast.BasicLit:
		return true
	case *ast.CallExpr:
		_, slice := v.Fun.(*ast.ArrayType)
		return slice && len(v.Args) == 1 && p.literal(v.Args[0])
	}
	return false
}

// written is what the package assigns to, takes the address of, deletes from
// or clears, tests included: a test that changes a table is no better.
func (p *Package) written() map[types.Object]bool {
	out := map[types.Object]bool{}
	mark := func(x ast.Expr) {
		if id := root(x); id != nil {
			if v, ok := p.Info.Uses[id].(*types.Var); ok && p.Types != nil && v.Parent() == p.Types.Scope() {
				out[v] = true
			}
		}
	}
	for _, f := range p.Files {
		ast.Inspect(f.Syntax, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.AssignStmt:
				for _, x := range n.Lhs {
					mark(x)
				}
			case *ast.IncDecStmt:
				mark(n.X)
			case *ast.RangeStmt:
				mark(n.Key)
				mark(n.Value)
			case *ast.UnaryExpr:
				if n.Op == token.AND {
					mark(n.X)
				}
			case *ast.CallExpr:
				if id, ok := n.Fun.(*ast.Ident); ok && len(n.Args) > 0 && (id.Name == "delete" || id.Name == "clear" || id.Name == "copy") {
					mark(n.Args[0])
				}
			}
			return true
		})
	}
	return out
}

// root is the variable at the bottom of an expression such as v.f[i].
func root(x ast.Expr) *ast.Ident {
	for {
		switch e := x.(type) {
		case *ast.Ident:
			return e
		case *ast.SelectorExpr:
			x = e.X
		case *ast.IndexExpr:
			x = e.X
		case *ast.SliceExpr:
			x = e.X
		case *ast.StarExpr:
			x = e.X
		case *ast.ParenExpr:
			x = e.X
		default:
			return nil
		}
	}
}

// embedded reports whether a go:embed directive fills the variable.
func embedded(gen *ast.GenDecl) bool {
	if gen.Doc == nil {
		return false
	}
	for _, line := range gen.Doc.List {
		if strings.HasPrefix(line.Text, "//go:embed ") {
			return true
		}
	}
	return false
}
