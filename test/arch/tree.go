// Package arch holds the house rules that a machine can check: who may import
// whom, how long things may get, and what must not appear at all.
//
// It promises that every rule has a fixture under testdata/bad that breaks it
// and a list of what it then says. It refuses to judge taste: what it cannot
// decide from the syntax tree it leaves to the reader.
package arch

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// module is the import path of the repository, as go.mod names it.
const module = "mcprelay"

// binaryProbe is how far a file is read to see whether it is text; git uses
// the same 8,000 bytes.
const binaryProbe = 8000

// Violation is one place where a rule is broken.
type Violation struct {
	Path string // relative to the root, with slashes
	Line int    // 0 where the whole file or folder is meant
	Text string
}

// String is the violation as compilers write it.
func (v Violation) String() string {
	if v.Line == 0 {
		return v.Path + ": " + v.Text
	}
	return fmt.Sprintf("%s:%d: %s", v.Path, v.Line, v.Text)
}

// File is one Go file with its syntax tree.
type File struct {
	Path   string // relative to the root, with slashes
	Dir    string
	Test   bool // a _test.go file
	Source []byte
	Syntax *ast.File
}

// Package is the files of one folder that share a package clause.
type Package struct {
	Dir   string
	Name  string
	Test  bool // made of _test.go files only
	Files []*File
	Info  *types.Info // what the checker could resolve without imports
	Types *types.Package
}

// Tree is a repository, read once.
type Tree struct {
	Root     string
	Set      *token.FileSet
	Packages []*Package
	Texts    map[string][]byte // every text file, Go or not, by path
}

// Load reads the Go and text files below root. Hidden folders other than
// .ci and .github, node_modules, bin and the fixtures of this package stay out; so do
// other testdata folders as far as Go is concerned.
func Load(root string) (*Tree, error) {
	t := &Tree{Root: root, Set: token.NewFileSet(), Texts: map[string][]byte{}}
	groups := map[string]*Package{}
	err := filepath.WalkDir(root, func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(root, name)
		if err != nil {
			return err
		}
		rel = filepath.ToSlash(rel)
		if d.IsDir() {
			if skipped(rel, d.Name()) {
				return filepath.SkipDir
			}
			return nil
		}
		// In a linked worktree .git is a file, which names the folder of the other.
		if !d.Type().IsRegular() || rel == ".git" {
			return nil
		}
		return t.add(groups, rel)
	})
	if err != nil {
		return nil, fmt.Errorf("reading the tree at %s: %w", root, err)
	}
	for _, p := range groups {
		p.check(t.Set)
		t.Packages = append(t.Packages, p)
	}
	slices.SortFunc(t.Packages, func(a, b *Package) int { return strings.Compare(a.Dir+" "+a.Name, b.Dir+" "+b.Name) })
	return t, nil
}

func skipped(rel, name string) bool {
	switch {
	case rel == ".", name == ".ci", name == ".github":
		return false
	case strings.HasPrefix(name, "."), name == "node_modules", name == "bin", rel == "test/arch/testdata":
		return true
	}
	return false
}

func (t *Tree) add(groups map[string]*Package, rel string) error {
	source, err := os.ReadFile(filepath.Join(t.Root, filepath.FromSlash(rel)))
	if err != nil {
		return err
	}
	if !bytes.Contains(source[:min(len(source), binaryProbe)], []byte{0}) {
		t.Texts[rel] = source
	}
	if path.Ext(rel) != ".go" || strings.Contains("/"+rel, "/testdata/") {
		return nil
	}
	syntax, err := parser.ParseFile(t.Set, rel, source, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		return err
	}
	f := &File{Path: rel, Dir: path.Dir(rel), Test: strings.HasSuffix(rel, "_test.go"), Source: source, Syntax: syntax}
	key := f.Dir + " " + syntax.Name.Name
	p := groups[key]
	if p == nil {
		p = &Package{Dir: f.Dir, Name: syntax.Name.Name, Test: true}
		groups[key] = p
	}
	p.Test = p.Test && f.Test
	p.Files = append(p.Files, f)
	return nil
}

// check resolves names within the package. Imports are not read, so their
// members stay unknown and the errors about them are of no interest.
func (p *Package) check(set *token.FileSet) {
	p.Info = &types.Info{Uses: map[*ast.Ident]types.Object{}, Defs: map[*ast.Ident]types.Object{}}
	config := types.Config{Importer: noImports{}, Error: func(error) {}}
	var files []*ast.File
	for _, f := range p.Files {
		files = append(files, f.Syntax)
	}
	p.Types, _ = config.Check(p.Dir, set, files, p.Info)
}

// noImports makes the checker invent an empty package for every import.
type noImports struct{}

// Import always fails.
func (noImports) Import(name string) (*types.Package, error) {
	return nil, fmt.Errorf("%s is not read", name)
}

// at is a violation at a position of the syntax tree.
func (t *Tree) at(pos token.Pos, format string, args ...any) Violation {
	p := t.Set.Position(pos)
	return Violation{Path: p.Filename, Line: p.Line, Text: fmt.Sprintf(format, args...)}
}

// files calls visit for every Go file.
func (t *Tree) files(visit func(*Package, *File)) {
	for _, p := range t.Packages {
		for _, f := range p.Files {
			visit(p, f)
		}
	}
}

// lines counts the lines of a file as an editor does.
func lines(source []byte) int {
	n := bytes.Count(source, []byte("\n"))
	if len(source) > 0 && source[len(source)-1] != '\n' {
		n++
	}
	return n
}

// under reports whether dir is folder or below it.
func under(dir, folder string) bool {
	return dir == folder || strings.HasPrefix(dir, folder+"/")
}

// imported is the import path that identifier x stands for in its file, or "".
func (p *Package) imported(x ast.Expr) string {
	id, ok := x.(*ast.Ident)
	if !ok {
		return ""
	}
	name, ok := p.Info.Uses[id].(*types.PkgName)
	if !ok {
		return ""
	}
	return name.Imported().Path()
}
