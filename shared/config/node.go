package config

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// maxNesting bounds the depth of a registration; its own shape needs 6, the
// rest is for policy_metadata.
const maxNesting = 32

const (
	// A name that is part of a path in errors is no longer, and made of these.
	maxShown = 64
	shown    = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-"
)

// node is a JSON value and the place it stands at. The zero kind is a value
// that is not there.
type node struct {
	report  *report
	file    string
	path    string
	kind    jsontext.Kind
	raw     jsontext.Value // its text
	members []member
	items   []node
}

type member struct {
	name  string
	value node
}

// parse reads one JSON value strictly: no duplicate names, no invalid UTF-8,
// nothing after it. It is false where the report says why not.
func parse(r *report, file string, text []byte) (node, bool) {
	if bytes.HasPrefix(text, []byte("\xef\xbb\xbf")) {
		r.add(file, "", "it begins with a byte order mark, which JSON does not have")
		return node{}, false
	}
	p := parser{text, jsontext.NewDecoder(bytes.NewReader(text))}
	n, err := p.value(node{report: r, file: file}, maxNesting)
	if err == nil {
		err = end(p.d)
	}
	if err != nil {
		syntax(r, file, text, err)
		return node{}, false
	}
	return n, true
}

var errNesting = fmt.Errorf("it is nested deeper than %d levels", maxNesting)

type parser struct {
	text []byte
	d    *jsontext.Decoder
}

// value fills in at, whose place is set, from the next value.
func (p parser) value(at node, depth int) (node, error) {
	if depth == 0 {
		return node{}, errNesting
	}
	at.kind = p.d.PeekKind()
	if at.kind != '{' && at.kind != '[' {
		raw, err := p.d.ReadValue()
		at.raw = raw.Clone()
		return at, err
	}
	if _, err := p.d.ReadToken(); err != nil {
		return at, err
	}
	begun := p.d.InputOffset() - 1
	fill := p.object
	if at.kind == '[' {
		fill = p.array
	}
	if err := fill(&at, depth); err != nil {
		return at, err
	}
	_, err := p.d.ReadToken()
	at.raw = p.text[begun:p.d.InputOffset()]
	return at, err
}

// object reads the members of an object that was begun.
func (p parser) object(at *node, depth int) error {
	for p.d.PeekKind() != '}' {
		token, err := p.d.ReadToken()
		if err != nil {
			return err
		}
		name := token.String()
		place := at.child(name)
		if place.path == at.path {
			place.path = fmt.Sprintf("%s[name %d]", at.path, len(at.members))
		}
		value, err := p.value(place, depth-1)
		if err != nil {
			return err
		}
		at.members = append(at.members, member{name, value})
	}
	return nil
}

// array reads the items of an array that was begun.
func (p parser) array(at *node, depth int) error {
	for p.d.PeekKind() != ']' {
		place := node{report: at.report, file: at.file, path: fmt.Sprintf("%s[%d]", at.path, len(at.items))}
		item, err := p.value(place, depth-1)
		if err != nil {
			return err
		}
		at.items = append(at.items, item)
	}
	return nil
}

// end wants nothing but blanks after the value.
func end(d *jsontext.Decoder) error {
	_, err := d.ReadToken()
	switch {
	case errors.Is(err, io.EOF):
		return nil
	case err != nil:
		return err
	}
	return errors.New("something follows the end of the JSON value")
}

// syntax reports an error of the reader with the line it stands on.
func syntax(r *report, file string, text []byte, err error) {
	var where *jsontext.SyntacticError
	switch {
	case errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, io.EOF):
		r.add(file, "", "it ends in the middle of a JSON value")
	case !errors.As(err, &where):
		r.add(file, "", "%v", err)
	case errors.Is(err, jsontext.ErrDuplicateName):
		r.add(file, pointed(where.JSONPointer), "it is there twice")
	default:
		before := text[:min(int(where.ByteOffset), len(text))]
		line, column := 1+bytes.Count(before, []byte("\n")), len(before)-bytes.LastIndexByte(before, '\n')
		r.add(file, pointed(where.JSONPointer), "line %d is not valid JSON from its byte %d on", line, column)
	}
}

// pointed writes a JSON pointer (RFC 6901) as a path.
func pointed(p jsontext.Pointer) string {
	at := node{}
	for token := range p.Tokens() {
		if _, err := strconv.Atoi(token); err == nil && at.path != "" {
			at.path += "[" + token + "]"
			continue
		}
		at = at.child(token)
	}
	return at.path
}

// child is the place of a member. What does not look like a name may be
// anything, so its place is that of the object.
func (n node) child(name string) node {
	c := node{report: n.report, file: n.file, path: n.path}
	switch {
	case name == "" || len(name) > maxShown || strings.Trim(name, shown) != "" || value(name):
	case n.path == "":
		c.path = name
	default:
		c.path = n.path + "." + name
	}
	return c
}

// present reports whether the value is there.
func (n node) present() bool { return n.kind != 0 }

// fail reports a problem at n.
func (n node) fail(format string, args ...any) { n.report.add(n.file, n.path, format, args...) }

// warn reports at n what has no effect, or another one than it seems to have.
func (n node) warn(format string, args ...any) {
	n.report.warn(Problem{File: n.file, Path: n.path, Reason: fmt.Sprintf(format, args...)})
}

// check reports err at n, if there is one.
func (n node) check(err error) {
	if err != nil {
		n.fail("%v", err)
	}
}
