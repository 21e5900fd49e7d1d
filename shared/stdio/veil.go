package stdio

import (
	"slices"
	"strings"
)

const (
	// minPiece is how long a line of a secret must be to be looked for inside
	// other text, in bytes: the least that is taken for a secret anywhere.
	minPiece = 8
	// minBegun is how many bytes of a secret at the end of a text that breaks off
	// are taken for its beginning.
	minBegun = 4
	// hidden is shown in the place of a line.
	hidden = "[redacted]"
)

// veil knows what a line of text may hold of secrets that [Request.Mask] finds
// only whole: the lines of those with line breaks, as a key in PEM has, and the
// beginning of one where the text breaks off.
type veil struct {
	pieces []string // lines to be found anywhere, without backslashes
	short  []string // lines that are too short for that
	values []string
}

// newVeil makes the veil of a child with the environment env, all of whose
// values are taken for secrets.
func newVeil(env []string) *veil {
	v := &veil{}
	for _, entry := range env {
		_, value, _ := strings.Cut(entry, "=")
		v.values = append(v.values, value)
		lines := strings.FieldsFunc(value, func(r rune) bool { return r == '\n' || r == '\r' })
		if len(lines) == 1 && lines[0] == value {
			continue // the mask finds it
		}
		for _, line := range lines {
			switch line = plain(line); {
			case len(line) >= minPiece:
				v.pieces = append(v.pieces, line)
			case line != "":
				v.short = append(v.short, line)
			}
		}
	}
	return v
}

// plain is a line without the blanks around it, and without backslashes: those
// that escape something in it come and go.
func plain(line string) string {
	return strings.TrimSpace(strings.ReplaceAll(line, `\`, ""))
}

// covers reports whether a line must not be shown. What is beside a piece is
// not shown either: it may be the rest of it. broken says that the line has no
// end.
func (v *veil) covers(line string, broken bool) bool {
	if broken && slices.ContainsFunc(v.values, func(value string) bool { return begins(value, line) }) {
		return true
	}
	line = plain(line)
	return slices.Contains(v.short, line) || slices.ContainsFunc(v.pieces, func(piece string) bool {
		return strings.Contains(line, piece) || broken && begins(piece, line)
	})
}

// begins reports whether text breaks off inside value.
func begins(value, text string) bool {
	for n := min(len(value), len(text)); n >= minBegun; n-- {
		if strings.HasSuffix(text, value[:n]) {
			return true
		}
	}
	return false
}
