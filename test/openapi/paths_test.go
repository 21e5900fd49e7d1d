package openapi_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"mcprelay/test/kit"
)

const frontDir = "../../shared/front"

// part is what could be a part of a path, spelled as it is.
var part = regexp.MustCompile(`^[A-Za-z0-9._-]+$`)

// words are what the front may compare the parts of a path with: every such
// string that its source compares something with.
func words(t *testing.T) []string {
	t.Helper()
	var found []string
	add := func(e ast.Expr) {
		if lit, ok := e.(*ast.BasicLit); ok && lit.Kind == token.STRING {
			if word, err := strconv.Unquote(lit.Value); err == nil && part.MatchString(word) && !slices.Contains(found, word) {
				found = append(found, word)
			}
		}
	}
	entries, err := os.ReadDir(frontDir)
	if err != nil {
		t.Fatal(err)
	}
	for _, entry := range entries {
		if !strings.HasSuffix(entry.Name(), ".go") || strings.HasSuffix(entry.Name(), "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), filepath.Join(frontDir, entry.Name()), nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(file, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.BinaryExpr:
				add(n.X)
				add(n.Y)
			case *ast.CaseClause:
				for _, e := range n.List {
					add(e)
				}
			}
			return true
		})
	}
	return found
}

// deepest is the longest path that is tried, in parts; the longest that is
// served has five.
const deepest = 6

// probes are paths of the words, of which "any" stands for a name.
func (d document) probes(all []string) []string {
	var out []string
	level := []string{""}
	for depth := 1; depth <= deepest; depth++ {
		var next []string
		for _, prefix := range level {
			for _, word := range all {
				next = append(next, prefix+"/"+word)
			}
		}
		out = append(out, next...)
		level = slices.DeleteFunc(next, func(path string) bool { return depth > 2 && !d.leads(path) })
	}
	return out
}

// leads reports whether a path of three parts or more is gone on from: all of
// them would be millions. Documented ones are, those that end with a name, and
// below /v1 those that follow a name.
func (d document) leads(path string) bool {
	_, documented := d.allowed(path)
	parent := path[:strings.LastIndex(path, "/")]
	return documented || strings.HasSuffix(path, "/any") || strings.HasPrefix(path, "/v1/") && strings.HasSuffix(parent, "/any")
}

// allowed are the methods that the document has for a path, and whether it has any.
func (d document) allowed(path string) (methods []string, ok bool) {
	parts := strings.Split(path, "/")
	for template, item := range d.Paths {
		wanted := strings.Split(template, "/")
		match := len(parts) == len(wanted)
		for i := 0; match && i < len(parts); i++ {
			match = parts[i] == wanted[i] || strings.HasPrefix(wanted[i], "{")
		}
		if match {
			for method := range item {
				methods = append(methods, strings.ToUpper(method))
			}
			ok = true
		}
	}
	slices.Sort(methods)
	return methods, ok
}

func TestEveryPathIsDocumentedOrNobodys(t *testing.T) {
	d, k := read(t), kit.New(t, "", "")
	f := handler(k)
	vocabulary := append(words(t), "any")
	for _, word := range []string{"v1", "servers", "mcp", "tools", "resources", "prompts", "turns", "runs", "healthz", "openapi.json"} {
		if !slices.Contains(vocabulary, word) {
			t.Errorf("the front compares nothing with %s: %v", word, vocabulary)
		}
	}
	served := map[string]bool{}
	for _, path := range d.probes(vocabulary) {
		w := httptest.NewRecorder()
		f.ServeHTTP(w, httptest.NewRequest(http.MethodOptions, path, nil))
		methods, documented := d.allowed(path)
		switch {
		case !documented && w.Code != http.StatusNotFound:
			t.Errorf("%s is served (%d) and not documented", path, w.Code)
		case documented && w.Code != http.StatusMethodNotAllowed:
			t.Errorf("%s is documented and OPTIONS gets %d", path, w.Code)
		case documented:
			served[path] = true
			allow := strings.Split(w.Header().Get("Allow"), ", ")
			if slices.Sort(allow); !slices.Equal(allow, methods) {
				t.Errorf("%s: Allow %v, documented are %v", path, allow, methods)
			}
		}
	}
	if len(served) < len(d.Paths) {
		t.Errorf("%d paths were tried that are documented, want at least %d", len(served), len(d.Paths))
	}
	if k.Requests.Load() != 0 {
		t.Error("the upstream was reached")
	}
}
