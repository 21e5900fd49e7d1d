package redact

import "bytes"

// maxNesting bounds how many times escapes are resolved: a result holds a
// text, which holds the body of a reply, which holds a text. What an encoder
// wrote into a JSON string is one level of escapes more.
const maxNesting = 4

// longestEscape is the length of \u002B, which stands for one byte of a form.
const longestEscape = 6

// other stands for a character that no secret has: they are visible ASCII
// (secret.Bind), which no encoding gives this byte for.
const other = 0xff

// escaped masks like Bytes, and what is a form only once the escapes of JSON
// (RFC 8259 section 7) are resolved, however each character is spelled. It
// masks escapes whole, so that what was valid inside a string stays valid.
func (m *Masker) escaped(b []byte) ([]byte, int) {
	b, total := m.Bytes(b)
	for range maxNesting + maxPasses {
		if !m.hidden(b) {
			return b, total
		}
		masked, n := m.reveal(b)
		// What the mask and its neighbours spell may be a form again.
		masked, more := m.Bytes(masked)
		b, total = masked, total+n+more
	}
	return []byte(Mask), total
}

// hidden reports whether escapes of b, in which no form is found as it is, hide
// one. Text without a backslash costs it nothing, and text in which no escape
// stands for a character of a form little more.
func (m *Masker) hidden(b []byte) bool {
	if m == nil || len(m.words) == 0 {
		return false
	}
	var room [256]byte // few pieces are longer
	piece := room[:0]
	for at := 0; ; {
		if at = m.telling(b, at); at < 0 {
			return false
		}
		begin, end := m.around(b, at)
		// What is resolved is shorter than its escapes.
		if end-begin > m.window {
			piece = append(piece[:0], b[begin:end]...)
			if m.hides(piece) {
				return true
			}
		}
		at = end
	}
}

// hides reports whether text holds a form at some level of escapes. It resolves
// them in place.
func (m *Masker) hides(text []byte) bool {
	for range maxNesting {
		n := resolve(text, nil)
		if n == len(text) {
			return false // there was nothing to resolve
		}
		text = text[:n]
		if m.found(text) {
			return true
		}
	}
	return false
}

// reveal masks the forms of the first level of escapes that holds any.
func (m *Masker) reveal(b []byte) ([]byte, int) {
	text, at := bytes.Clone(b), make([]int, len(b)+1)
	for i := range at {
		at[i] = i
	}
	for range maxNesting {
		n := resolve(text, at)
		text, at = text[:n], at[:n+1]
		if m.found(text) {
			break
		}
	}
	return replace(b, func(yield func(int, int) bool) {
		for begin, end := range m.regions(text) {
			if !yield(at[begin], at[end]) {
				return
			}
		}
	})
}

// resolve replaces the escapes in text, in place, and gives its new length.
// What is no escape of JSON stays. Where at is not nil, it holds for each byte
// of text, and for its end, the place of a byte in another text, and follows.
func resolve(text []byte, at []int) int {
	to, from := 0, 0
	for {
		run := bytes.IndexByte(text[from:], '\\')
		if run < 0 {
			run = len(text) - from
		}
		copy(text[to:], text[from:from+run])
		if at != nil {
			copy(at[to:], at[from:from+run+1])
		}
		to, from = to+run, from+run
		if from == len(text) {
			return to
		}
		c, size := unescape(text[from:])
		text[to] = c
		to, from = to+1, from+size
		if at != nil {
			at[to] = at[from]
		}
	}
}

// unescape is the byte that the escape at the beginning of b stands for, and
// its length; the backslash alone where it is no escape.
func unescape(b []byte) (byte, int) {
	if len(b) < 2 {
		return b[0], 1
	}
	switch b[1] {
	case '"', '\\', '/':
		return b[1], 2
	case 'b', 'f', 'n', 'r', 't':
		return other, 2
	}
	if b[1] != 'u' || len(b) < longestEscape {
		return b[0], 1
	}
	code := 0
	for _, digit := range b[2:longestEscape] {
		value, ok := hexDigit(digit)
		if !ok {
			return b[0], 1
		}
		code = code<<4 | value
	}
	if code > '~' {
		return other, longestEscape
	}
	return byte(code), longestEscape
}

func hexDigit(c byte) (value int, ok bool) {
	switch {
	case c-'0' <= 9:
		return int(c - '0'), true
	case c|0x20 >= 'a' && c|0x20 <= 'f':
		return int(c|0x20-'a') + 10, true
	}
	return 0, false
}
