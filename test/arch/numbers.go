package arch

import (
	"bytes"
	"fmt"
	"go/ast"
	"slices"
)

// Numbers are the acceptance numbers of the house style, over the code that
// ships; test code is what is in _test.go files and under test/.
type Numbers struct {
	MedianFile     int // lines
	LongestFile    int
	MedianFunction int
	P90Function    int
	Comments       float64 // share of comment lines among lines that are not blank
	TestToCode     float64 // lines that are not blank
}

// String is the numbers beside their aims.
func (n Numbers) String() string {
	return fmt.Sprintf("file: median %d (aim 160), longest %d (400); function: median %d (10), p90 %d (40); comments %.0f %% (20-28); tests to code %.2f (1.2)",
		n.MedianFile, n.LongestFile, n.MedianFunction, n.P90Function, 100*n.Comments, n.TestToCode)
}

// Measure counts.
func Measure(t *Tree) Numbers {
	var fileLines, functionLines []int
	var code, comments, tests int
	t.files(func(_ *Package, f *File) {
		if f.Test || under(f.Dir, "test") {
			tests += written(f.Source)
			return
		}
		fileLines = append(fileLines, lines(f.Source))
		code += written(f.Source)
		for _, group := range f.Syntax.Comments {
			comments += t.Set.Position(group.End()).Line - t.Set.Position(group.Pos()).Line + 1
		}
		for _, decl := range f.Syntax.Decls {
			if fn, ok := decl.(*ast.FuncDecl); ok {
				functionLines = append(functionLines, t.length(fn))
			}
		}
	})
	return Numbers{
		MedianFile:     quantile(fileLines, 0.5),
		LongestFile:    quantile(fileLines, 1),
		MedianFunction: quantile(functionLines, 0.5),
		P90Function:    quantile(functionLines, 0.9),
		Comments:       ratio(comments, code),
		TestToCode:     ratio(tests, code),
	}
}

// written counts the lines that are not blank.
func written(source []byte) int {
	n := 0
	for line := range bytes.Lines(source) {
		if len(bytes.TrimSpace(line)) > 0 {
			n++
		}
	}
	return n
}

// quantile is the value below which the share q of the values lies; 0 of none.
func quantile(values []int, q float64) int {
	if len(values) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(values))
	return sorted[min(int(q*float64(len(sorted))), len(sorted)-1)]
}

func ratio(a, b int) float64 {
	if b == 0 {
		return 0
	}
	return float64(a) / float64(b)
}
