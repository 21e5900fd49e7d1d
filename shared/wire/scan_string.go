package wire

import (
	"bytes"
	"encoding/binary"
	"math/bits"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
)

// Eight bytes are looked at as one word.
const (
	ones  = 0x0101010101010101
	highs = 0x80 * ones
)

const (
	// nearby is how far a string is looked at word by word: most end sooner.
	nearby = 64
	// maxStride bounds what is looked at at once beyond that, so that it is
	// still in the processor's first cache when it is looked at again.
	maxStride = 16 << 10
)

// str checks the string that begins at text[i] (RFC 8259 section 7) and gives
// the index after it, or -1, and whether it holds escapes.
func (s *scanner) str(i int) (end int, escaped bool) {
	text := s.text
	for i++; ; {
		var more bool
		i, more = steps(text, i)
		escaped = escaped || more
		if i >= len(text) {
			return s.fail(errEarly), escaped
		}
		switch c := text[i]; {
		case c == '"':
			return i + 1, escaped
		case c == '\\':
			escaped = true
			if i = s.escape(i); i < 0 {
				return i, escaped
			}
		case c < ' ':
			return s.bad(i), escaped
		default:
			start := i
			if i = runes(text, i); i == start {
				return s.invalid(i), escaped
			}
		}
	}
}

// steps moves through a string as far as that is simple: over characters that
// stand for themselves, escapes of one letter, and single characters of two
// bytes. It stops at anything else, and tells whether there were escapes.
func steps(text []byte, i int) (stop int, escaped bool) {
	for far := i + nearby; i+8 <= len(text); {
		word := binary.LittleEndian.Uint64(text[i:])
		if special(word) == 0 {
			if i += 8; i >= far {
				i = unescapedFar(text, i)
			}
			continue
		}
		n, more := pass(word)
		escaped = escaped || more
		if i += n; n < 8 && (n < 5 || text[i] == '"') {
			return i, escaped
		}
		far = i + nearby
	}
	return unescaped(text, i), escaped
}

// pass moves through one word and gives how many of its bytes are passed. All
// that is special in it is told at once, for each reading of memory makes the
// processor wait. What begins in its last bytes is not passed.
func pass(word uint64) (n int, escaped bool) {
	const lows = highs - ones // 0x7f each
	visible := (word^0x02*ones)&lows + (0x80-0x21)*ones
	other := (word^'\\'*ones)&lows + lows
	for mask := (^(visible & other) | word) & highs; mask != 0; mask &= ^uint64(0) << (8 * (n + 2)) {
		n = bits.TrailingZeros64(mask) / 8
		switch rest := word >> (8 * n); {
		case byte(rest) == '\\' && n < 7 && letter[byte(rest>>8)]:
			escaped = true
		case rest&0x80c0e0 == 0x80c0 && rest&0x1e != 0 && n < 6: // see runes; ASCII follows
		default:
			return n, escaped
		}
	}
	return 8, escaped
}

// letter tells what makes an escape with the backslash alone.
var letter = [256]bool{'"': true, '\\': true, '/': true, 'b': true, 'f': true, 'n': true, 'r': true, 't': true}

// invalid is the fault of bytes that are no UTF-8, or of UTF-8 that is cut off.
func (s *scanner) invalid(i int) int {
	if !utf8.FullRune(s.text[i:]) {
		return s.fail(errEarly)
	}
	return s.bad(i)
}

// special marks the first byte of a word that is neither of visible ASCII nor
// a blank, or is a quote or a backslash, by its high bit; bytes after it may be
// marked as well. It uses that '"'^2 is the one below '!'^2 and 0x21, and that
// subtracting sets the high bit of what was too small.
func special(word uint64) uint64 {
	return (word | (word ^ 0x02*ones - 0x21*ones) | (word ^ '\\'*ones - ones)) & highs
}

// unescaped is the index of the first byte from i on that ends a run of
// characters which stand for themselves, one byte each, or the end of the text.
func unescaped(text []byte, i int) int {
	for i < len(text) && text[i] >= ' ' && text[i] < utf8.RuneSelf && text[i] != '"' && text[i] != '\\' {
		i++
	}
	return i
}

// unescapedFar is unescaped for long runs, which it looks through in growing strides.
func unescapedFar(text []byte, i int) int {
	for stride := 4 * nearby; i < len(text); stride = min(4*stride, maxStride) {
		part := text[i:min(i+stride, len(text))]
		n := len(part)
		if at := bytes.IndexByte(part, '"'); at >= 0 {
			n = at
		}
		if at := bytes.IndexByte(part[:n], '\\'); at >= 0 {
			n = at
		}
		n = visible(part[:n])
		if i += n; n < len(part) {
			break
		}
	}
	return i
}

// visible is the index of the first byte that is a control character or not
// ASCII, or the length.
func visible(part []byte) int {
	i := 0
	for ; i+32 <= len(part); i += 32 {
		words := part[i : i+32 : i+32]
		a, b := binary.LittleEndian.Uint64(words), binary.LittleEndian.Uint64(words[8:])
		c, d := binary.LittleEndian.Uint64(words[16:]), binary.LittleEndian.Uint64(words[24:])
		if (a|b|c|d|(a-' '*ones)|(b-' '*ones)|(c-' '*ones)|(d-' '*ones))&highs != 0 {
			break
		}
	}
	for i < len(part) && part[i] >= ' ' && part[i] < utf8.RuneSelf {
		i++
	}
	return i
}

// runes is the index of the first byte from i on that is ASCII or does not
// begin a character in valid UTF-8 (RFC 3629 section 4), or the end.
func runes(text []byte, i int) int {
	for ; i+4 <= len(text); i++ {
		// The bits that are compared are those that say how long a character
		// is, then those that must not all be zero lest it had a shorter form.
		word := binary.LittleEndian.Uint32(text[i:])
		switch {
		case word&0xc0e0 == 0x80c0 && word&0x1e != 0:
			i++
		case word&0xc0c0f0 == 0x8080e0 && word&0x200f != 0 && word&0x200f != 0x200d: // no surrogate
			i += 2
		case word&0xc0c0c0f8 == 0x808080f0 && word&0x3007 != 0 && (word&4 == 0 || word&0x3003 == 0): // up to U+10FFFF
			i += 3
		default:
			return i
		}
	}
	for i < len(text) && text[i] >= utf8.RuneSelf {
		_, size := utf8.DecodeRune(text[i:])
		if size < 2 {
			break
		}
		i += size
	}
	return i
}

// unicodeEscape is the length of \u002B.
const unicodeEscape = 6

// escape checks the escape that begins at text[i], with its second half where
// it is of a surrogate, and gives the index after it, or -1.
func (s *scanner) escape(i int) int {
	rest := s.text[i:]
	if len(rest) < 2 {
		return s.fail(errEarly)
	}
	switch {
	case letter[rest[1]]:
		return i + 2
	case rest[1] != 'u':
		return s.bad(i)
	}
	code, digits := hex(rest[2:])
	switch {
	case digits == 4 && (s.lenient || !utf16.IsSurrogate(code)):
		return i + unicodeEscape
	case digits == 4:
		return s.surrogate(i, code)
	case len(rest) == 2+digits:
		return s.fail(errEarly)
	}
	return s.bad(i)
}

// surrogate checks the escape that follows that of a surrogate at text[i]. A
// text that ends before it is seen to be a wrong one ends early.
func (s *scanner) surrogate(i int, high rune) int {
	rest := s.text[i+unicodeEscape:]
	const lead = `\u`
	if len(rest) < len(lead) && lead[:len(rest)] == string(rest) {
		return s.fail(errEarly)
	}
	if len(rest) < len(lead) || string(rest[:len(lead)]) != lead {
		return s.bad(i)
	}
	rest = rest[len(lead):]
	low, digits := hex(rest)
	switch {
	case digits == 4 && utf16.DecodeRune(high, low) != utf8.RuneError:
		return i + 2*unicodeEscape
	case digits < 4 && len(rest) == digits && (digits < 1 || rest[0]|0x20 == 'd') && (digits < 2 || rest[1]|0x20 >= 'c'):
		return s.fail(errEarly)
	}
	return s.bad(i)
}

// hex reads up to four hex digits and tells how many there are.
func hex(b []byte) (code rune, digits int) {
	for digits < min(len(b), 4) {
		c := b[digits]
		switch {
		case c-'0' <= 9:
			c -= '0'
		case c|0x20 >= 'a' && c|0x20 <= 'f':
			c = c | 0x20 - 'a' + 10
		default:
			return code, digits
		}
		code = code<<4 | rune(c)
		digits++
	}
	return code, digits
}

// unquote gives the content of a JSON string that was accepted.
func unquote(quoted []byte) []byte {
	if bytes.IndexByte(quoted, '\\') < 0 {
		return quoted[1 : len(quoted)-1]
	}
	// The error is of lone surrogates, which the scanner has let pass.
	content, _ := jsontext.AppendUnquote(nil, quoted)
	return content
}
