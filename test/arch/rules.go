package arch

import (
	"cmp"
	"slices"
)

// Rule is one house rule.
type Rule struct {
	Name  string // also the folder of its fixture
	Check func(*Tree, *Data) []Violation
}

// Rules lists every rule that reads the tree. [Reach] needs the go command
// and stands beside them.
func Rules() []Rule {
	return []Rule{
		{"imports", imports},
		{"limits", limits},
		{"uses", uses},
		{"files", files},
		{"functions", functions},
		{"mains", mains},
		{"inits", inits},
		{"vars", vars},
		{"interfaces", interfaces},
		{"panics", panics},
		{"docs", docs},
		{"names", names},
		{"expose", expose},
		{"sleeps", sleeps},
		{"skips", skips},
		{"tags", tags},
		{"text", text},
	}
}

// Broken lists where t breaks the rule, in the order of the files.
func (r Rule) Broken(t *Tree, d *Data) []Violation {
	found := r.Check(t, d)
	slices.SortFunc(found, func(a, b Violation) int {
		return cmp.Or(cmp.Compare(a.Path, b.Path), cmp.Compare(a.Line, b.Line), cmp.Compare(a.Text, b.Text))
	})
	return slices.Compact(found)
}
