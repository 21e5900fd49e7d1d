package redact

import (
	"bytes"

	"github.com/go-json-experiment/json/jsontext"
)

// JSON masks like Bytes, and what the escapes of strings hide besides, and
// keeps JSON valid: where masking a part of a string or number would break it,
// all of it is masked; where secrets are spelled by more than one of them, the
// whole text is.
func (m *Masker) JSON(b []byte) ([]byte, int) {
	masked, n := m.escaped(b)
	if n == 0 || valid(masked) || !valid(b) {
		return masked, n
	}
	if masked, n = m.scalars(b); m.found(masked) || m.hidden(masked) || !valid(masked) {
		return []byte(`"` + Mask + `"`), max(n, 1)
	}
	return masked, n
}

func valid(b []byte) bool {
	return jsontext.Value(b).IsValid(jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
}

// scalars masks each string and number of a valid text by itself.
func (m *Masker) scalars(b []byte) ([]byte, int) {
	d := jsontext.NewDecoder(bytes.NewReader(b), jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
	var out []byte
	n, from := 0, 0
	for {
		kind := d.PeekKind()
		if kind != '"' && kind != '0' {
			if _, err := d.ReadToken(); err != nil {
				return append(out, b[from:]...), n
			}
			continue
		}
		raw, err := d.ReadValue()
		if err != nil {
			return append(out, b[from:]...), n
		}
		masked, found := m.escaped(raw)
		if found > 0 && !valid(masked) {
			masked = []byte(`"` + Mask + `"`)
		}
		end := int(d.InputOffset())
		out = append(append(out, b[from:end-len(raw)]...), masked...)
		n, from = n+found, end
	}
}
