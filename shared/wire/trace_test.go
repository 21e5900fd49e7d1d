package wire_test

import (
	"encoding/json"
	"regexp"
	"strings"
	"testing"

	"mcprelay/shared/wire"
)

const trace = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"

func TestTraceparentIsCheckedStrictly(t *testing.T) {
	for s, want := range map[string]bool{
		trace:                                   true,
		strings.Replace(trace, "-01", "-00", 1): true,
		strings.Replace(trace, "-01", "-ff", 1): true,
		"01" + trace[2:]:                        true,
		"fe" + trace[2:] + "-later":             true,
		"01" + trace[2:] + "later":              false,
		"":                                      false,
		trace + "-01":                           false,
		trace + " ":                             false,
		" " + trace:                             false,
		trace[1:]:                               false,
		"ff" + trace[2:]:                        false,
		"0x" + trace[2:]:                        false,
		strings.ToUpper(trace):                  false,
		strings.Replace(trace, "-", "_", 1):     false,
		strings.Replace(trace, "0af7651916cd43dd8448eb211c80319c", strings.Repeat("0", 32), 1): false,
		strings.Replace(trace, "b7ad6b7169203331", strings.Repeat("0", 16), 1):                 false,
		strings.Replace(trace, "0af7", "0ag7", 1):                                              false,
		"01" + trace[2:] + `-"`:                           false,
		"01" + trace[2:] + `-\`:                           false,
		"01" + trace[2:] + "-\x00":                        false,
		"01" + trace[2:] + "-é":                           false,
		"01" + trace[2:] + "-" + strings.Repeat("x", 300): false,
	} {
		if got := wire.Traceparent(s); got != want {
			t.Errorf("%q: want %v, got %v", s, want, got)
		}
	}
}

// FuzzTraceparent checks that what is accepted may be written into JSON as it
// is, and begins with the four fields.
func FuzzTraceparent(f *testing.F) {
	for _, s := range []string{trace, "01" + trace[2:] + "-x", "ff" + trace[2:], trace[:54], ""} {
		f.Add(s)
	}
	shape := regexp.MustCompile(`^[0-9a-f]{2}-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}(-[!-~]*)?$`)
	f.Fuzz(func(t *testing.T, s string) {
		if !wire.Traceparent(s) {
			return
		}
		var back string
		if err := json.Unmarshal([]byte(`"`+s+`"`), &back); err != nil || back != s {
			t.Fatalf("%q comes back as %q, %v", s, back, err)
		}
		if !shape.MatchString(s) || strings.HasPrefix(s, "00") && len(s) != len(trace) {
			t.Fatalf("%q is accepted", s)
		}
	})
}
