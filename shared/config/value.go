package config

import (
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// object is an object whose members are all known.
type object struct {
	node
}

// object wants an object that has no other members than those known.
func (n node) object(known string) object {
	if !n.is('{', "an object") {
		return object{node{report: &report{}}} // what it lacks is no further problem
	}
	for _, m := range n.members {
		if !slices.Contains(strings.Fields(known), m.name) {
			m.value.fail("it is not a known field")
		}
	}
	return object{n}
}

// get gives a member, or the place where it is missing.
func (o object) get(name string) node {
	for _, m := range o.members {
		if m.name == name {
			return m.value
		}
	}
	return o.child(name)
}

// refuse reports every member among names, which has no effect where it is.
func (o object) refuse(names, reason string) {
	for _, name := range strings.Fields(names) {
		if at := o.get(name); at.present() {
			at.fail("%s", reason)
		}
	}
}

// oneOf reports whether a member among names is there.
func (o object) oneOf(names string) bool {
	return slices.ContainsFunc(strings.Fields(names), func(name string) bool { return o.get(name).present() })
}

// is reports whether n has a kind, or says that it does not.
func (n node) is(kind jsontext.Kind, what string) bool {
	switch {
	case !n.present():
		n.fail("it is missing")
	case n.kind != kind:
		n.fail("it must be %s", what)
	}
	return n.kind == kind
}

// text is the string n, "" where it is none.
func (n node) text() string {
	if !n.is('"', "a string") {
		return ""
	}
	b, err := jsontext.AppendUnquote(nil, n.raw)
	n.check(err)
	return string(b)
}

// name is a string that passes check.
func (n node) name(check func(string) error) string {
	problems := len(n.report.problems)
	s := n.text()
	if len(n.report.problems) == problems && n.present() {
		n.check(check(s))
	}
	return s
}

// word is one of words; the first where n is not there.
func (n node) word(words ...string) string {
	if !n.present() {
		return words[0]
	}
	if s := n.text(); slices.Contains(words, s) {
		return s
	}
	if n.kind == '"' {
		n.fail("it is not one of %s", strings.Join(words, ", "))
	}
	return words[0]
}

// flag is a boolean; otherwise where n is not there.
func (n node) flag(otherwise bool) bool {
	switch n.kind {
	case 0:
		return otherwise
	case 't', 'f':
		return n.kind == 't'
	}
	n.fail("it must be true or false")
	return otherwise
}

// number is a whole number. It is false where n is none.
func (n node) number() (int64, bool) {
	if !n.is('0', "a whole number") {
		return 0, false
	}
	i, err := strconv.ParseInt(string(n.raw), 10, 64)
	if err == nil {
		return i, true
	}
	digits := strings.Trim(string(n.raw), "0123456789") == ""
	if digits {
		return math.MaxInt64, true // over any cap, whose own check says so
	}
	n.fail("it must be a whole number")
	return 0, false
}

// limit is number where n is there, and false where it is not.
func (n node) limit() (int64, bool) {
	if !n.present() {
		return 0, false
	}
	return n.number()
}

// list is the items of an array; nil where n is not there.
func (n node) list() []node {
	if !n.present() || !n.is('[', "a list") {
		return nil
	}
	return n.items
}

// texts is a list of different strings that pass check; nil where n is not
// there. An empty list is refused: it could mean all or nothing.
func (n node) texts(check func(string) error) []string {
	items := n.list()
	if n.kind == '[' && len(items) == 0 {
		n.fail("it is empty; leave it out instead")
	}
	var all []string
	for _, item := range items {
		s := item.name(check)
		if slices.Contains(all, s) {
			item.fail("it is there twice")
		}
		all = append(all, s)
	}
	return all
}

// compact is the text of n without blanks between its tokens.
func (n node) compact() jsontext.Value {
	raw := n.raw.Clone()
	n.check(raw.Compact())
	return raw
}

// entries is the members of an object that is a map; none where n is not there.
func (n node) entries() []member {
	if !n.present() || !n.is('{', "an object") {
		return nil
	}
	return n.members
}
