package wire

import (
	"encoding/binary"
	"math/bits"
)

// skip checks the value at text[i], inside depth others, and gives the index
// after it, or -1 and the error in s.err. So do the functions below.
func (s *scanner) skip(i, depth int) int {
	if i >= len(s.text) {
		return s.fail(errEarly)
	}
	switch c := s.text[i]; c {
	case '"':
		end, _ := s.str(i)
		return end
	case '{':
		return s.skipObject(i, depth+1)
	case '[':
		return s.skipArray(i, depth+1)
	case 't':
		return s.literal(i, "true")
	case 'f':
		return s.literal(i, "false")
	case 'n':
		return s.literal(i, "null")
	default:
		if c == '-' || c-'0' <= 9 {
			return s.number(i)
		}
	}
	return s.bad(i)
}

// skipArray checks the array that begins at text[i].
func (s *scanner) skipArray(i, depth int) int {
	if depth > MaxDepth {
		return s.fail(errDepth)
	}
	text := s.text
	if i = blanks(text, i+1); i < len(text) && text[i] == ']' {
		return i + 1
	}
	for {
		if i = s.skip(i, depth); i < 0 {
			return i
		}
		if i = blanks(text, i); i >= len(text) {
			return s.fail(errEarly)
		}
		switch text[i] {
		case ',':
			i = blanks(text, i+1)
		case ']':
			return i + 1
		default:
			return s.bad(i)
		}
	}
}

// skipObject checks the object that begins at text[i].
func (s *scanner) skipObject(i, depth int) int {
	if depth > MaxDepth {
		return s.fail(errDepth)
	}
	text := s.text
	if i = blanks(text, i+1); i < len(text) && text[i] == '}' {
		return i + 1
	}
	group := s.names.open()
	for n := 0; ; n++ {
		if n == MaxMembers {
			return s.fail(errMembers)
		}
		if i = s.skipMember(i, depth, &group); i < 0 {
			return i
		}
		if i = blanks(text, i); i >= len(text) {
			return s.fail(errEarly)
		}
		switch text[i] {
		case ',':
			i = blanks(text, i+1)
		case '}':
			s.names.close(group)
			return i + 1
		default:
			return s.bad(i)
		}
	}
}

// skipMember checks the member whose name begins at text[i].
func (s *scanner) skipMember(i, depth int, group *group) int {
	if i >= len(s.text) {
		return s.fail(errEarly)
	}
	if s.text[i] != '"' {
		return s.bad(i)
	}
	one, end := s.nameAt(i)
	if end < 0 {
		return -1
	}
	if !s.names.add(group, s.text, one) {
		return s.fail(&fault{at: i, twice: true, depth: depth})
	}
	if i = s.colon(end); i < 0 {
		return i
	}
	return s.skip(i, depth)
}

// nameAt checks the name that begins at text[i], and gives the index after it
// as well. Most are short and without escapes.
func (s *scanner) nameAt(i int) (one name, end int) {
	if i+9 <= len(s.text) {
		word := binary.LittleEndian.Uint64(s.text[i+1:])
		n := bits.TrailingZeros64(special(word)) / 8
		if n < 8 && byte(word>>(8*n)) == '"' {
			return name{word & (1<<(8*n) - 1), i + 1, n}, i + n + 2
		}
	}
	end, escaped := s.str(i)
	if end < 0 {
		return name{}, -1
	}
	return s.names.place(s.text, i, end, escaped), end
}

// colon gives the index of the value after a name that ends at text[i].
func (s *scanner) colon(i int) int {
	text := s.text
	if i+1 < len(text) && text[i] == ':' && text[i+1] > ' ' {
		return i + 1
	}
	if i = blanks(text, i); i >= len(text) {
		return s.fail(errEarly)
	}
	if text[i] != ':' {
		return s.bad(i)
	}
	if i = blanks(text, i+1); i >= len(text) {
		return s.fail(errEarly)
	}
	return i
}

// literal checks the word at text[i].
func (s *scanner) literal(i int, word string) int {
	rest := s.text[i:]
	if len(rest) >= len(word) && string(rest[:len(word)]) == word {
		return i + len(word)
	}
	for n := range rest {
		if rest[n] != word[n] {
			return s.bad(i + n)
		}
	}
	return s.fail(errEarly)
}

// number checks the number that begins at text[i] (RFC 8259 section 6).
func (s *scanner) number(i int) int {
	text := s.text
	if text[i] == '-' {
		i++
	}
	if i < len(text) && text[i] == '0' {
		i++
	} else if i = s.digits(i); i < 0 {
		return i
	}
	if i < len(text) && text[i] == '.' {
		if i = s.digits(i + 1); i < 0 {
			return i
		}
	}
	if i < len(text) && text[i]|0x20 == 'e' {
		if i++; i < len(text) && (text[i] == '+' || text[i] == '-') {
			i++
		}
		return s.digits(i)
	}
	return i
}

// digits checks one or more digits.
func (s *scanner) digits(i int) int {
	text, start := s.text, i
	for i < len(text) && text[i]-'0' <= 9 {
		i++
	}
	switch {
	case i > start:
		return i
	case i >= len(text):
		return s.fail(errEarly)
	}
	return s.bad(i)
}
