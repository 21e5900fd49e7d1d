package main

import (
	"cmp"
	"slices"
	"strings"
)

// weave makes edits that are nested or apart, the inner ones first.
func weave(source []byte, edits []edit) string {
	sorted := slices.Clone(edits)
	slices.SortStableFunc(sorted, func(a, b edit) int { return cmp.Or(cmp.Compare(a.from, b.from), cmp.Compare(b.end, a.end)) })
	w := weaver{source: source, edits: sorted}
	return w.text(0, len(source))
}

type weaver struct {
	source []byte
	edits  []edit // those still to be made, the outer ones first
}

// text is the source between two offsets with its edits made.
func (w *weaver) text(from, end int) string {
	var b strings.Builder
	for len(w.edits) > 0 && w.edits[0].from < end {
		e := w.edits[0]
		w.edits = w.edits[1:]
		b.Write(w.source[from:e.from])
		b.WriteString(e.to(w.text(e.from, e.end)))
		from = e.end
	}
	b.Write(w.source[from:end])
	return b.String()
}

// switches is the file that is added to a package: it says which mutant is on,
// and notes which ones a test reaches.
const switches = `package PACKAGE

import (
	"fmt"
	"os"
	"strconv"
	"sync"
)

var (
	mutant__, _ = strconv.Atoi(os.Getenv("` + mutantEnv + `"))
	reach__     = os.Getenv("` + reachEnv + `")
	reached__   sync.Map
)

func mutated__(id int) bool {
	if reach__ != "" {
		if _, seen := reached__.LoadOrStore(id, true); !seen {
			file, err := os.OpenFile(reach__, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
			if err == nil {
				fmt.Fprintln(file, id)
				file.Close()
			}
		}
	}
	return id == mutant__
}
`
