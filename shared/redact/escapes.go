package redact

import (
	"bytes"
	"encoding/binary"
	"math/bits"
)

// escapes knows which escapes of JSON can hide something of a set of forms, so
// that the others, nearly all of a usual text, need not be resolved.
//
// A piece of text between two characters that no form holds, and that are no
// part of an escape but its end, is resolved to the same whatever is around
// it, at every level, and no form reaches out of it. And what is found in a
// piece at some level, but not as it stands, holds a character that an escape
// stands for. So pieces with no such escape need no look.
type escapes struct {
	form  [256]bool // what forms are made of
	inner [256]bool // what does not end a piece
	// every says that a form holds a backslash, a quote, or what stands for a
	// character that no secret should have: then every escape may hide one.
	every bool
}

func newEscapes(words []string) escapes {
	var e escapes
	for _, word := range words {
		for _, c := range []byte(word) {
			e.form[c], e.inner[c] = true, true
		}
	}
	// A backslash, what a unicode escape may go on with, and letters which
	// after a backslash are not themselves.
	for _, c := range []byte(`\u0123456789abcdefABCDEFnrt`) {
		e.inner[c] = true
	}
	e.every = e.form['\\'] || e.form['"'] || e.form[other]
	return e
}

// stretch is how far a text is looked through word by word after a backslash,
// in bytes, before the next backslash is searched for: those in a text of
// lines are nearer than that, and the search would end too soon to pay.
const stretch = 128

// telling is the place of the first backslash at or after from whose escape may
// stand for a character of a form, or for a part of another escape; -1 for
// none.
func (e *escapes) telling(b []byte, from int) int {
	for {
		jump := bytes.IndexByte(b[from:], '\\')
		if jump < 0 {
			return -1
		}
		if from += jump; e.every {
			return from
		}
		stop := min(from+stretch, len(b)-8)
		for ; from < stop; from += 8 {
			// Of what makes an escape after a backslash, only u and / are odd.
			word, odd := binary.LittleEndian.Uint64(b[from:]), binary.LittleEndian.Uint64(b[from+1:])<<7
			for hits := zeros(word^'\\'*ones) & odd; hits != 0; hits &= hits - 1 {
				if at := from + bits.TrailingZeros64(hits)/8; e.tells(b[at:]) {
					return at
				}
			}
		}
		if from+8 >= len(b) {
			return e.last(b, from)
		}
	}
}

// last is telling for the few bytes at the end of a text.
func (e *escapes) last(b []byte, from int) int {
	for ; from+1 < len(b); from++ {
		if b[from] == '\\' && e.tells(b[from:]) {
			return from
		}
	}
	return -1
}

// Eight bytes are looked at as one word.
const (
	ones = 0x0101010101010101
	lows = 0x7f * ones
)

// zeros has the high bit of every byte of word that is zero.
func zeros(word uint64) uint64 { return ^(word&lows + lows | word | lows) }

// tells reports whether the escape at the beginning of b, which is longer than
// a backslash, may hide something.
func (e *escapes) tells(b []byte) bool {
	switch {
	case b[1] == '/':
		return e.form['/']
	case b[1] != 'u' || len(b) < longestEscape || b[2] != '0' || b[3] != '0' || b[4] > '7':
		return false // no ASCII
	}
	c, size := unescape(b)
	// What is no escape stays as it is, unless an escape inside it makes it
	// one, which would tell by itself and is in the same piece.
	return size == longestEscape && e.inner[c]
}

// around is the piece of b that the escape at b[at] belongs to, with the
// character that ends it.
func (e *escapes) around(b []byte, at int) (begin, end int) {
	begin, end = at, at+1
	for begin > 0 && e.inner[b[begin-1]] {
		begin--
	}
	for end < len(b) && e.inner[b[end]] {
		end++
	}
	return begin, min(end+1, len(b))
}
