package config

import (
	"fmt"
	"slices"
	"strings"
)

// Problem is one reason why a registration cannot be used. It holds no value
// of the file that may be a secret.
type Problem struct {
	File string // the file, or the document of a store
	// Path is that of the field, as in servers[0].config.endpoint; it may be
	// empty. A name that may not be shown is counted: servers[0].secrets[name 0].
	Path   string
	Reason string
}

// String is "<file>: <path>: <reason>".
func (p Problem) String() string {
	if p.Path == "" {
		return p.File + ": " + p.Reason
	}
	return p.File + ": " + p.Path + ": " + p.Reason
}

// Error is everything that is wrong with a registration, at least one problem
// and at most 20.
type Error struct {
	Problems []Problem
}

// maxProblems bounds what one error reports: more than a screenful helps nobody.
const maxProblems = 20

// Error is one line a problem.
func (e *Error) Error() string {
	lines := make([]string, len(e.Problems))
	for i, p := range e.Problems {
		lines[i] = p.String()
	}
	return strings.Join(lines, "\n")
}

// report collects problems while a registration is read.
type report struct {
	problems []Problem
	warnings []string
}

// warn keeps what is doubtful about a registration that can be used.
func (r *report) warn(p Problem) {
	if len(r.warnings) < maxProblems && !slices.Contains(r.warnings, p.String()) {
		r.warnings = append(r.warnings, p.String())
	}
}

func (r *report) add(file, path, format string, args ...any) {
	p := Problem{File: file, Path: path, Reason: fmt.Sprintf(format, args...)}
	if len(r.problems) < maxProblems && !slices.Contains(r.problems, p) {
		r.problems = append(r.problems, p)
	}
}

// err is nil where there are no problems.
func (r *report) err() error {
	if len(r.problems) == 0 {
		return nil
	}
	return &Error{r.problems}
}
