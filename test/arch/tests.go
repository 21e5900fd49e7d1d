package arch

import (
	"fmt"
	"go/ast"
	"path"
	"strings"
)

// sleeps refuses time.Sleep in tests: they wait for what happens. Files that
// use testing/synctest are free, for its clock costs no time.
func sleeps(t *Tree, _ *Data) []Violation {
	var found []Violation
	t.files(func(p *Package, f *File) {
		if !f.Test && !under(f.Dir, "test") || hasImport(f, "testing/synctest") {
			return
		}
		ast.Inspect(f.Syntax, func(n ast.Node) bool {
			if sel, ok := n.(*ast.SelectorExpr); ok && sel.Sel.Name == "Sleep" && p.imported(sel.X) == "time" {
				found = append(found, t.at(sel.Pos(), "a sleep in a test"))
			}
			return true
		})
	})
	return found
}

// skips refuses tests that can decide not to run.
func skips(t *Tree, _ *Data) []Violation {
	var found []Violation
	t.files(func(p *Package, f *File) {
		if !hasImport(f, "testing") {
			return
		}
		ast.Inspect(f.Syntax, func(n ast.Node) bool {
			call, ok := n.(*ast.CallExpr)
			if !ok {
				return true
			}
			sel, ok := call.Fun.(*ast.SelectorExpr)
			if !ok {
				return true
			}
			name := sel.Sel.Name
			skip := name == "Skip" || name == "Skipf" || name == "SkipNow" || name == "Short" && p.imported(sel.X) == "testing"
			if _, plain := sel.X.(*ast.Ident); skip && plain {
				found = append(found, t.at(call.Pos(), "a test that can be skipped"))
			}
			return true
		})
	})
	return found
}

// tags refuses build constraints that hide a test from vet.
func tags(t *Tree, _ *Data) []Violation {
	var found []Violation
	t.files(func(_ *Package, f *File) {
		if !f.Test {
			return
		}
		for _, group := range f.Syntax.Comments {
			for _, c := range group.List {
				if c.Pos() < f.Syntax.Package && (strings.HasPrefix(c.Text, "//go:build") || strings.HasPrefix(c.Text, "// +build")) {
					found = append(found, t.at(c.Pos(), "a build constraint on a test"))
				}
			}
		}
		if word := suffix(f.Path); word != "" {
			found = append(found, Violation{Path: f.Path, Text: fmt.Sprintf("the name builds this test on %s only", word)})
		}
	})
	return found
}

// suffix is the system or processor that the name of a test file ends with.
func suffix(name string) string {
	stem := strings.TrimSuffix(path.Base(name), "_test.go")
	word := stem[strings.LastIndex(stem, "_")+1:]
	switch word {
	case "linux", "darwin", "windows", "freebsd", "unix", "amd64", "arm64", "386", "arm":
		if word != stem {
			return word
		}
	}
	return ""
}

// hasImport reports whether f imports target.
func hasImport(f *File, target string) bool {
	for _, spec := range f.Syntax.Imports {
		if spec.Path.Value == `"`+target+`"` {
			return true
		}
	}
	return false
}

// text refuses what would tie the repository to one machine.
func text(t *Tree, d *Data) []Violation {
	var found []Violation
	for name, content := range t.Texts {
		for i, line := range strings.Split(string(content), "\n") {
			for _, pattern := range d.Text {
				if hit := pattern.FindString(line); hit != "" {
					found = append(found, Violation{Path: name, Line: i + 1, Text: fmt.Sprintf("%q ties the repository to one place", strings.TrimSpace(hit))})
				}
			}
		}
	}
	return found
}
