package arch

import (
	"fmt"
	"go/ast"
	"path"
	"strings"
)

// The sizes of the house style (16 admired Go code bases: files mostly 60 to
// 160 lines, functions with a p90 under 45).
const (
	maxFile     = 400
	maxFunction = 60
	maxMain     = 40
	maxMethods  = 2
)

// files bounds the length of every Go file, tests included.
func files(t *Tree, _ *Data) []Violation {
	var found []Violation
	t.files(func(_ *Package, f *File) {
		if n := lines(f.Source); n > maxFile {
			found = append(found, Violation{Path: f.Path, Text: fmt.Sprintf("%d lines, at most %d", n, maxFile)})
		}
	})
	return found
}

// functions bounds the length of every function outside _test.go files, where
// tables may make one long.
func functions(t *Tree, _ *Data) []Violation {
	var found []Violation
	t.files(func(_ *Package, f *File) {
		if f.Test {
			return
		}
		for _, decl := range f.Syntax.Decls {
			if fn, ok := decl.(*ast.FuncDecl); ok {
				if n := t.length(fn); n > maxFunction {
					found = append(found, t.at(fn.Pos(), "%s has %d lines, at most %d", fn.Name.Name, n, maxFunction))
				}
			}
		}
	})
	return found
}

// length is the number of lines from the func keyword to the closing brace.
func (t *Tree) length(fn *ast.FuncDecl) int {
	return t.Set.Position(fn.End()).Line - t.Set.Position(fn.Pos()).Line + 1
}

// mains bounds main.go, and keeps a function's folder to that one file.
func mains(t *Tree, _ *Data) []Violation {
	var found []Violation
	t.files(func(_ *Package, f *File) {
		if path.Base(f.Path) == "main.go" {
			if n := lines(f.Source); n > maxMain {
				found = append(found, Violation{Path: f.Path, Text: fmt.Sprintf("%d lines, a main.go has at most %d", n, maxMain)})
			}
		} else if under(f.Dir, "functions") && !f.Test {
			found = append(found, Violation{Path: f.Path, Text: "a function's folder holds main.go only"})
		}
	})
	return found
}

// interfaces bounds the methods of every interface; an embedded one counts as one.
func interfaces(t *Tree, _ *Data) []Violation {
	var found []Violation
	t.files(func(_ *Package, f *File) {
		if f.Test {
			return
		}
		ast.Inspect(f.Syntax, func(n ast.Node) bool {
			if i, ok := n.(*ast.InterfaceType); ok {
				if methods := i.Methods.NumFields(); methods > maxMethods {
					found = append(found, t.at(i.Pos(), "an interface with %d methods, at most %d", methods, maxMethods))
				}
			}
			return true
		})
	})
	return found
}

// names refuses packages that are drawers instead of nouns.
func names(t *Tree, _ *Data) []Violation {
	var found []Violation
	for _, p := range t.Packages {
		for _, word := range []string{strings.TrimSuffix(p.Name, "_test"), path.Base(p.Dir)} {
			switch word {
			case "util", "utils", "common", "types", "models", "helpers", "handlers", "misc":
				found = append(found, Violation{Path: p.Dir, Text: fmt.Sprintf("%s is no noun of the domain", word)})
			}
		}
	}
	return found
}
