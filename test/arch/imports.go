package arch

import (
	"fmt"
	"go/ast"
	"strconv"
	"strings"
)

// imports holds every package of shared to its row of imports.txt.
func imports(t *Tree, d *Data) []Violation {
	var found []Violation
	t.eachImport(func(f *File, spec *ast.ImportSpec, target string) {
		inner, ours := strings.CutPrefix(target, module+"/")
		if !ours {
			return
		}
		noun, inShared := strings.CutPrefix(f.Dir, "shared/")
		if target, ok := strings.CutPrefix(inner, "shared/"); ok && inShared {
			if !allowed(d.Imports[noun], noun, target) {
				found = append(found, t.at(spec.Pos(), "shared/%s may not import shared/%s", noun, target))
			}
			return
		}
		// What is not in shared is the outermost layer, which nothing but its
		// own top folder may lean on.
		if inShared || !under(inner, "shared") && top(inner) != top(f.Dir) {
			found = append(found, t.at(spec.Pos(), "%s may not import %s", f.Dir, inner))
		}
	})
	for _, p := range t.Packages {
		noun, ok := strings.CutPrefix(p.Dir, "shared/")
		if _, known := d.Imports[noun]; ok && !known && !p.Test {
			found = append(found, Violation{Path: p.Dir, Text: fmt.Sprintf("%s has no row in imports.txt", noun)})
		}
	}
	return found
}

// allowed reads a row: a later word overrules an earlier one. A package may
// always import what lies below itself.
func allowed(words []string, noun, target string) bool {
	ok := under(target, noun)
	for _, word := range words {
		out, negated := strings.CutPrefix(word, "!")
		switch {
		case negated && under(target, out):
			ok = false
		case word == "*", word == target:
			ok = true
		}
	}
	return ok
}

// top is the first folder of a path.
func top(dir string) string {
	first, _, _ := strings.Cut(dir, "/")
	return first
}

// limits holds the packages from outside to the folders of limits.txt.
func limits(t *Tree, d *Data) []Violation {
	var found []Violation
	t.eachImport(func(f *File, spec *ast.ImportSpec, target string) {
		for _, g := range d.Limits {
			if under(target, g.What) && !g.allows(f.Dir) {
				found = append(found, t.at(spec.Pos(), "%s may not import %s", f.Dir, target))
			}
		}
	})
	return found
}

// uses holds single names of packages from outside to the folders of uses.txt.
func uses(t *Tree, d *Data) []Violation {
	var found []Violation
	t.files(func(p *Package, f *File) {
		if f.Test {
			return
		}
		ast.Inspect(f.Syntax, func(n ast.Node) bool {
			sel, ok := n.(*ast.SelectorExpr)
			if !ok {
				return true
			}
			from := p.imported(sel.X)
			if from == "" {
				return true
			}
			name := from + "." + sel.Sel.Name
			for _, g := range d.Uses {
				if matches(g.What, name) && !g.allows(f.Dir) {
					found = append(found, t.at(sel.Pos(), "%s may not use %s", f.Dir, name))
				}
			}
			return true
		})
	})
	return found
}

// matches compares name with a pattern that may end in "*".
func matches(pattern, name string) bool {
	if prefix, ok := strings.CutSuffix(pattern, "*"); ok {
		return strings.HasPrefix(name, prefix)
	}
	return name == pattern
}

// eachImport visits the imports of every file that ships or is under test/.
func (t *Tree) eachImport(visit func(*File, *ast.ImportSpec, string)) {
	t.files(func(_ *Package, f *File) {
		if f.Test || under(f.Dir, "test") {
			return
		}
		for _, spec := range f.Syntax.Imports {
			if target, err := strconv.Unquote(spec.Path.Value); err == nil {
				visit(f, spec, target)
			}
		}
	})
}
