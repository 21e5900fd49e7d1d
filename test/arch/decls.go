package arch

import (
	"go/ast"
	"go/token"
	"go/types"
)

// inits refuses init functions: what happens at start is written in main.
func inits(t *Tree, _ *Data) []Violation {
	var found []Violation
	t.files(func(_ *Package, f *File) {
		for _, decl := range f.Syntax.Decls {
			if fn, ok := decl.(*ast.FuncDecl); ok && fn.Recv == nil && fn.Name.Name == "init" {
				found = append(found, t.at(fn.Pos(), "an init function"))
			}
		}
	})
	return found
}

// panics refuses the built-in panic outside of main packages and tests.
func panics(t *Tree, _ *Data) []Violation {
	var found []Violation
	t.files(func(p *Package, f *File) {
		if f.Test || p.Name == "main" || under(f.Dir, "test") {
			return
		}
		ast.Inspect(f.Syntax, func(n ast.Node) bool {
			if call, ok := n.(*ast.CallExpr); ok {
				if id, ok := call.Fun.(*ast.Ident); ok && p.Info.Uses[id] == types.Universe.Lookup("panic") {
					found = append(found, t.at(call.Pos(), "a panic outside main"))
				}
			}
			return true
		})
	})
	return found
}

// expose keeps the bytes of secrets to the packages that need them.
func expose(t *Tree, _ *Data) []Violation {
	var found []Violation
	t.files(func(_ *Package, f *File) {
		if f.Dir == "shared/secret" || f.Dir == "shared/redact" {
			return
		}
		ast.Inspect(f.Syntax, func(n ast.Node) bool {
			if sel, ok := n.(*ast.SelectorExpr); ok && sel.Sel.Name == "Expose" {
				found = append(found, t.at(sel.Sel.Pos(), "Expose is for shared/secret and shared/redact only"))
			}
			return true
		})
	})
	return found
}

// docs asks for a comment on every package and every exported name.
func docs(t *Tree, _ *Data) []Violation {
	var found []Violation
	for _, p := range t.Packages {
		if p.Test {
			continue
		}
		documented := false
		for _, f := range p.Files {
			if f.Test {
				continue
			}
			documented = documented || f.Syntax.Doc != nil
			for _, decl := range f.Syntax.Decls {
				for _, id := range undocumented(decl) {
					found = append(found, t.at(id.Pos(), "%s has no comment", id.Name))
				}
			}
		}
		if !documented {
			found = append(found, Violation{Path: p.Dir, Text: "package " + p.Name + " has no comment"})
		}
	}
	return found
}

// undocumented lists the exported names of a declaration that neither have a
// comment nor stand in a group that has one.
func undocumented(decl ast.Decl) []*ast.Ident {
	switch d := decl.(type) {
	case *ast.FuncDecl:
		if d.Doc == nil && d.Name.IsExported() && exportedReceiver(d) {
			return []*ast.Ident{d.Name}
		}
	case *ast.GenDecl:
		if d.Doc == nil && d.Tok != token.IMPORT {
			return undocumentedSpecs(d.Specs)
		}
	}
	return nil
}

func undocumentedSpecs(specs []ast.Spec) []*ast.Ident {
	var found []*ast.Ident
	for _, spec := range specs {
		switch s := spec.(type) {
		case *ast.TypeSpec:
			if s.Doc == nil && s.Comment == nil && s.Name.IsExported() {
				found = append(found, s.Name)
			}
		case *ast.ValueSpec:
			for _, id := range s.Names {
				if s.Doc == nil && s.Comment == nil && id.IsExported() {
					found = append(found, id)
				}
			}
		}
	}
	return found
}

// exportedReceiver reports whether fn is a function or a method of an exported type.
func exportedReceiver(fn *ast.FuncDecl) bool {
	if fn.Recv == nil || len(fn.Recv.List) == 0 {
		return true
	}
	receiver := fn.Recv.List[0].Type
	for {
		switch r := receiver.(type) {
		case *ast.StarExpr:
			receiver = r.X
		case *ast.IndexExpr:
			receiver = r.X
		case *ast.IndexListExpr:
			receiver = r.X
		case *ast.Ident:
			return r.IsExported()
		default:
			return true
		}
	}
}
