package arch_test

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"mcprelay/test/arch"
)

var update = flag.Bool("update", false, "write what the fixtures say now to their want.txt")

const root = "../.."

func data(t *testing.T) *arch.Data {
	t.Helper()
	d, err := arch.ReadData("testdata")
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func load(t *testing.T, dir string) *arch.Tree {
	t.Helper()
	tree, err := arch.Load(dir)
	if err != nil {
		t.Fatal(err)
	}
	return tree
}

func text(found []arch.Violation) string {
	var b strings.Builder
	for _, v := range found {
		b.WriteString(v.String() + "\n")
	}
	return b.String()
}

func TestTheRepositoryKeepsTheRules(t *testing.T) {
	tree, d := load(t, root), data(t)
	for _, rule := range arch.Rules() {
		t.Run(rule.Name, func(t *testing.T) {
			for _, v := range rule.Broken(tree, d) {
				t.Error(v)
			}
		})
	}
	t.Log(arch.Measure(tree))
}

func TestEveryRuleSeesWhatBreaksIt(t *testing.T) {
	d := data(t)
	for _, rule := range arch.Rules() {
		t.Run(rule.Name, func(t *testing.T) {
			dir := filepath.Join("testdata", "bad", rule.Name)
			got := text(rule.Broken(load(t, filepath.Join(dir, "tree")), d))
			golden := filepath.Join(dir, "want.txt")
			if *update {
				if err := os.WriteFile(golden, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(golden)
			if err != nil {
				t.Fatal(err)
			}
			if len(want) == 0 {
				t.Error("the fixture breaks nothing")
			}
			if diff := cmp.Diff(string(want), got); diff != "" {
				t.Errorf("violations (-want +got):\n%s", diff)
			}
		})
	}
}

// The packages of a function's binary are linked for Lambda, where the SQLite
// driver would be dead weight and the demo server an open door.
func TestFunctionsReachNeitherSQLiteNorTheDemo(t *testing.T) {
	found, err := arch.Reach(root, "./functions/...", "modernc.org", "mcprelay/shared/demo", "mcprelay/shared/store/local")
	if err != nil {
		t.Fatal(err)
	}
	for _, dep := range found {
		t.Errorf("a function reaches %s", dep)
	}
}

func TestReachFollowsDependenciesOfDependencies(t *testing.T) {
	found, err := arch.Reach("testdata/bad/reach", "./functions/...", "modernc.org/sqlite")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"modernc.org/sqlite/lib", "modernc.org/sqlite"}, found); diff != "" {
		t.Errorf("reached (-want +got):\n%s", diff)
	}
}

func TestReachSaysWhyItCouldNotLook(t *testing.T) {
	if _, err := arch.Reach("testdata/bad/reach", "./nowhere", "x"); err == nil || !strings.Contains(err.Error(), "nowhere") {
		t.Errorf("got %v, want an error that names the pattern", err)
	}
}
