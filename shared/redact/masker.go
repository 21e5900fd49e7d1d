// Package redact masks secrets in what leaves the relay.
//
// It promises that what it has masked contains no form of any of its secrets:
// as they are, escaped for URLs and for JSON, in hex, and in base64 at any
// place of a longer text; that what it has masked as JSON contains none behind
// any other spelling of JSON's escapes, four levels deep; that masking twice
// changes nothing more; and that text without a secret passes untouched and
// fast. It refuses to guess: a secret that was reversed, compressed, encrypted
// or split over two strings is not found, and secrets under secret.MinLength
// bytes are not looked for.
package redact

import (
	"bytes"
	"iter"
	"strings"

	"mcprelay/shared/secret"
)

// Mask is what stands where a secret was.
const Mask = "[redacted]"

// maxPasses bounds how often a text is looked through again, because a mask
// and what stands beside it can spell a secret that begins or ends like the
// mask.
const maxPasses = 4

// Masker masks a set of secrets. A nil Masker masks nothing. It may be used by
// several goroutines at once.
type Masker struct {
	finder
	escapes
}

// New makes a masker of values. It costs some microseconds a value, and a
// binding's masker can be kept.
func New(values ...secret.Value) *Masker {
	var all []string
	for _, v := range values {
		if v.Len() < secret.MinLength {
			continue
		}
		for _, form := range forms(string(v.Expose())) {
			if !strings.Contains(Mask, form) { // the mask itself would be a secret
				all = append(all, form)
			}
		}
	}
	return &Masker{finder: newFinder(all), escapes: newEscapes(all)}
}

// Bytes masks every form of every secret in b and counts the places. It gives
// b itself where there are none, and never changes b. Of the escapes of JSON it
// knows those of the usual encoders only.
func (m *Masker) Bytes(b []byte) ([]byte, int) {
	if m == nil || !m.found(b) {
		return b, 0
	}
	total := 0
	for range maxPasses {
		masked, n := replace(b, m.regions(b))
		if n == 0 {
			return b, total
		}
		b, total = masked, total+n
	}
	if m.found(b) {
		return []byte(Mask), total
	}
	return b, total
}

// Begin masks the beginning of b, and what JSON's escapes hide in it: it looks
// at no more than is needed to give n masked bytes, or fewer where much of it
// is masked. No part of a form that lies across the end of what it looked at
// is left.
func (m *Masker) Begin(b []byte, n int) []byte {
	reach := 0
	if m != nil {
		reach = m.most
	}
	if bytes.IndexByte(b[:min(len(b), n+2*reach)], '\\') >= 0 {
		reach *= longestEscape
	}
	if window := n + 2*reach; len(b) > window {
		masked, _ := m.escaped(b[:window])
		return masked[:max(0, len(masked)-reach)]
	}
	masked, _ := m.escaped(b)
	return masked
}

// Text masks s, for logs and errors, and what JSON's escapes hide in it.
func (m *Masker) Text(s string) string {
	masked, n := m.escaped([]byte(s))
	if n == 0 {
		return s
	}
	return string(masked)
}

// replace puts the mask in place of regions of b, which are in order.
func replace(b []byte, regions iter.Seq2[int, int]) ([]byte, int) {
	var out []byte
	n, from := 0, 0
	for begin, end := range regions {
		out = append(append(out, b[from:begin]...), Mask...)
		from = end
		n++
	}
	if n == 0 {
		return b, 0
	}
	return append(out, b[from:]...), n
}
