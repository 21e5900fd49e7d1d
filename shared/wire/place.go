package wire

import (
	"bytes"
	"errors"
)

// What the functions below are given without the scanner having accepted it.
var (
	errNotObject = errors.New("not a JSON object")
	errNotValue  = errors.New("not a JSON value")
)

// The functions of this file find their way in JSON that the scanner has
// accepted already, several times faster than it would again. Texts that it
// has not accepted give an error or a wrong place, never a panic.

// endOfString is the index after the string that begins at text[i], or the end
// of the text where it does not end.
func endOfString(text []byte, i int) int {
	for i++; i < len(text); {
		next := bytes.IndexByte(text[i:], '"')
		if next < 0 {
			return len(text)
		}
		i += next + 1
		escapes := 0
		for at := i - 2; at >= 0 && text[at] == '\\'; at-- {
			escapes++
		}
		if escapes%2 == 0 {
			return i
		}
	}
	return len(text)
}

// endOfValue is the index after the value that begins at text[i]: after its
// closing bracket, or of the first comma, blank or closing bracket outside it.
func endOfValue(text []byte, i int) int {
	switch {
	case i >= len(text):
		return i
	case text[i] == '"':
		return endOfString(text, i)
	case text[i] == '{' || text[i] == '[':
		return endOfNest(text, i)
	}
	for ; i < len(text); i++ {
		switch text[i] {
		case ',', ' ', '\t', '\r', '\n', '}', ']', '"', '{', '[':
			return i
		}
	}
	return i
}

// endOfNest is endOfValue for objects and arrays. Outside of strings nothing
// but square brackets differs from curly ones by the bit that is set here.
func endOfNest(text []byte, i int) int {
	for depth := 0; i < len(text); i++ {
		switch text[i] | 0x20 {
		case '"':
			i = endOfString(text, i) - 1
		case '{':
			depth++
		case '}':
			if depth--; depth == 0 {
				return i + 1
			}
		}
	}
	return i
}

// blankSet has a bit for each blank (RFC 8259 section 2).
const blankSet = 1<<' ' | 1<<'\t' | 1<<'\r' | 1<<'\n'

// blanks is the index of the first byte from i on that is no blank.
func blanks(text []byte, i int) int {
	for i < len(text) && text[i] <= ' ' && uint64(1)<<text[i]&blankSet != 0 {
		i++
	}
	return i
}

// member is the place of one member in an object's text.
type member struct {
	name  int // of the quote that begins the name
	value int
	end   int // after the value
	comma int // of the comma after it, or of the closing brace
}

// firstMember is the place of the first member; found is false in an empty
// object, whose closing brace is then at comma.
func firstMember(object []byte) (m member, found bool, err error) {
	i := blanks(object, 0)
	if i >= len(object) || object[i] != '{' {
		return member{}, false, errNotObject
	}
	i = blanks(object, i+1)
	if i < len(object) && object[i] == '}' {
		return member{comma: i}, false, nil
	}
	return memberAt(object, i)
}

// memberAt is the place of the member whose name begins at object[i].
func memberAt(object []byte, i int) (m member, found bool, err error) {
	if i >= len(object) || object[i] != '"' {
		return member{}, false, errNotObject
	}
	m.name = i
	if i = blanks(object, endOfString(object, i)); i >= len(object) || object[i] != ':' {
		return member{}, false, errNotObject
	}
	m.value = blanks(object, i+1)
	m.end = endOfValue(object, m.value)
	m.comma = blanks(object, m.end)
	if m.end == m.value || m.comma >= len(object) || object[m.comma] != ',' && object[m.comma] != '}' {
		return member{}, false, errNotObject
	}
	return m, true, nil
}

// find is the place of the member called name; previous is the one before it,
// or the last one where there is no such member.
func find(object []byte, name string) (previous, m member, found bool, err error) {
	m, found, err = firstMember(object)
	for found && err == nil {
		quoted := object[m.name:endOfString(object, m.name)]
		if len(quoted) >= 2 && string(unquote(quoted)) == name {
			return previous, m, true, nil
		}
		previous = m
		if object[m.comma] == '}' {
			return previous, m, false, nil
		}
		m, found, err = memberAt(object, blanks(object, m.comma+1))
	}
	return previous, m, false, err
}
