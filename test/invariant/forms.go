package invariant

import (
	"cmp"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"maps"
	"net/url"
	"slices"
	"strings"
)

// MinSecret is the least length of a secret whose forms are looked for: the
// base64 of a shorter one is too short to mean anything.
const MinSecret = 8

// Forms are the spellings of a secret that must not leave the relay, by name:
// as it is, escaped for URLs and JSON, in hex, and what every base64 of a text
// around it holds (SECURITY 4.3).
func Forms(secret string) map[string]string {
	quoted, _ := json.Marshal(secret) // a string always has a form
	inside := strings.Trim(string(quoted), `"`)
	forms := map[string]string{
		"as it is":              secret,
		"escaped for a query":   url.QueryEscape(secret),
		"escaped for a path":    url.PathEscape(secret),
		"escaped for JSON":      inside,
		"with escaped slashes":  strings.ReplaceAll(inside, "/", `\/`),
		"in hex":                hex.EncodeToString([]byte(secret)),
		"in hex, in upper case": strings.ToUpper(hex.EncodeToString([]byte(secret))),
	}
	for before := range 3 {
		padded := []byte(strings.Repeat("\x00", before) + secret)
		// The characters that hold bits of the neighbours differ, the ones
		// between them never do.
		from, to := (8*before+5)/6, 8*len(padded)/6
		at := string(rune('0' + before))
		forms["in base64 at "+at] = base64.RawStdEncoding.EncodeToString(padded)[from:to]
		forms["in base64 for URLs at "+at] = base64.RawURLEncoding.EncodeToString(padded)[from:to]
	}
	return forms
}

func sorted[K cmp.Ordered, V any](m map[K]V) []K { return slices.Sorted(maps.Keys(m)) }
