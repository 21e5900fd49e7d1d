package arch

import (
	"bytes"
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

// Broken lists where t breaks the rule, in the order of the files. A line that
// says "arch:allow RULE: reason" in a comment, or the line above it, is let be.
func (r Rule) Broken(t *Tree, d *Data) []Violation {
	found := slices.DeleteFunc(r.Check(t, d), func(v Violation) bool { return r.excused(t, v) })
	slices.SortFunc(found, func(a, b Violation) int {
		return cmp.Or(cmp.Compare(a.Path, b.Path), cmp.Compare(a.Line, b.Line), cmp.Compare(a.Text, b.Text))
	})
	return slices.Compact(found)
}

// excused reports whether a comment gives a reason for v.
func (r Rule) excused(t *Tree, v Violation) bool {
	all := bytes.Split(t.Texts[v.Path], []byte("\n"))
	for _, n := range []int{v.Line - 1, v.Line - 2} {
		if n < 0 || n >= len(all) {
			continue
		}
		_, reason, found := bytes.Cut(all[n], []byte("// arch:allow "+r.Name+": "))
		if found && len(bytes.TrimSpace(reason)) > 0 {
			return true
		}
	}
	return false
}
