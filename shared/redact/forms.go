package redact

import (
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"net/url"
	"slices"
	"strings"
)

// forms gives every spelling of a secret that is looked for, each once.
func forms(secret string) []string {
	all := append(make([]string, 0, 32), secret)
	all = hexForms(all, secret)
	all = base64Forms(all, secret)
	if strings.ContainsFunc(secret, escapable) {
		all = jsonForms(urlForms(all, secret), secret)
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// escapable reports whether some encoding for URLs or JSON escapes r. The
// others, nearly all of a usual token, look the same in each.
func escapable(r rune) bool {
	return !('a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9' || r == '-' || r == '_' || r == '.')
}

func hexForms(all []string, s string) []string {
	digits := hex.EncodeToString([]byte(s))
	return append(all, digits, strings.ToUpper(digits))
}

// urlForms escapes for a query and for a path (RFC 3986 section 2.1), and as
// other languages do, who write a blank as %20 in a query too; hex digits in
// either case.
func urlForms(all []string, s string) []string {
	query, path := url.QueryEscape(s), url.PathEscape(s)
	blank := strings.ReplaceAll(query, "+", "%20")
	return append(all, query, lowerEscapes(query), path, lowerEscapes(path), blank, lowerEscapes(blank))
}

// lowerEscapes writes the hex digits of %XX in lower case.
func lowerEscapes(s string) string {
	b := []byte(s)
	for i := 0; i+2 < len(b); i++ {
		if b[i] == '%' {
			copy(b[i+1:i+3], strings.ToLower(s[i+1:i+3]))
			i += 2
		}
	}
	return string(b)
}

// jsonForms writes the secret as JSON strings hold it: with what must be
// escaped, and with what the usual encoders escape besides. And each again, as
// it looks in a JSON text that is itself inside a JSON string, which is how
// tools return JSON.
func jsonForms(all []string, s string) []string {
	for _, also := range []string{
		"",
		"<>&",       // Go, Rails, Django
		"<>&'",      // Flask
		"<>&'=",     // Gson
		`<>&'"`,     // PHP's JSON_HEX options, Newtonsoft
		"<>&'\"+`",  // .NET's System.Text.Json
		"<>/",       // serialize-javascript
		"<>&'\"+`/", // all of them
	} {
		for _, slash := range []string{"/", `\/`} { // PHP and Java escape it so
			for _, unicode := range []string{`\u%04x`, `\u%04X`} {
				once := strings.ReplaceAll(escapeJSON(s, also, unicode), "/", slash)
				all = append(all, once, escapeJSON(once, "", unicode))
			}
		}
	}
	return all
}

// escapeJSON escapes the bytes of also, which are ASCII, by the format unicode,
// and other quotes and backslashes by a backslash (RFC 8259 section 7).
func escapeJSON(s, also, unicode string) string {
	b := make([]byte, 0, len(s)+len(s)/2)
	for _, c := range []byte(s) {
		switch {
		case strings.IndexByte(also, c) >= 0:
			b = fmt.Appendf(b, unicode, c)
		case c == '"' || c == '\\':
			b = append(b, '\\', c)
		default:
			b = append(b, c)
		}
	}
	return string(b)
}

// base64Forms gives what every base64 of a text that contains s must contain
// (RFC 4648 sections 4 and 5). Depending on how many bytes stand before s,
// modulo 3, its bits fall differently into the characters; those at the edges
// that also depend on the neighbours are cut off. This finds user:secret of
// Basic credentials as well.
func base64Forms(all []string, s string) []string {
	for before := range 3 {
		encoded := base64.RawStdEncoding.EncodeToString([]byte("\x00\x00"[:before] + s))
		// Characters 0 to (8 before + 5) / 6 hold bits of what stands before;
		// the last whole character ends at bit 8 (before + len(s)).
		std := encoded[(8*before+5)/6 : 8*(before+len(s))/6]
		all = append(all, std, base64URL.Replace(std))
	}
	return all
}

// base64URL turns the one alphabet into the other.
var base64URL = strings.NewReplacer("+", "-", "/", "_")
