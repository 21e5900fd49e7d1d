package redact_test

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"mcprelay/shared/redact"
	"mcprelay/shared/secret"
)

// awkward has every kind of character that some encoding escapes.
const awkward = "s3cr&t<+>/\"x=' \\y?%z`"

// token is like most tokens.
const token = "ya/0.AbC-d_E+f~1234567890=="

func values(secrets ...string) []secret.Value {
	all := make([]secret.Value, len(secrets))
	for i, s := range secrets {
		all[i] = secret.NewValue([]byte(s), "1")
	}
	return all
}

func TestEveryFormIsMasked(t *testing.T) {
	html := func(v any) string {
		b, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		return string(b)
	}
	plain := func(v any) string {
		var b strings.Builder
		e := json.NewEncoder(&b)
		e.SetEscapeHTML(false)
		if err := e.Encode(v); err != nil {
			t.Fatal(err)
		}
		return strings.TrimSpace(b.String())
	}
	forms := map[string]func(s string) string{
		"raw":                       func(s string) string { return s },
		"query":                     url.QueryEscape,
		"query, lower case":         func(s string) string { return lowerHex(url.QueryEscape(s)) },
		"path":                      url.PathEscape,
		"path, lower case":          func(s string) string { return lowerHex(url.PathEscape(s)) },
		"encodeURIComponent":        func(s string) string { return strings.ReplaceAll(url.QueryEscape(s), "+", "%20") },
		"uri component, lower case": func(s string) string { return lowerHex(strings.ReplaceAll(url.QueryEscape(s), "+", "%20")) },
		"json":                      func(s string) string { return plain(s) },
		"json for html":             func(s string) string { return html(s) },
		"json, slash escaped":       func(s string) string { return strings.ReplaceAll(plain(s), "/", `\/`) },
		"json as gson": func(s string) string {
			return strings.NewReplacer("<", `\u003c`, ">", `\u003e`, "&", `\u0026`, "'", `\u0027`, "=", `\u003d`).Replace(plain(s))
		},
		"json as php hex": func(s string) string {
			return strings.NewReplacer("<", `\u003C`, ">", `\u003E`, "&", `\u0026`, "'", `\u0027`, "=", `\u003D`).Replace(plain(s))
		},
		"json as .net": func(s string) string {
			return strings.NewReplacer("<", `\u003C`, ">", `\u003E`, "&", `\u0026`, "'", `\u0027`, "+", `\u002B`, "`", `\u0060`, `"`, `\u0022`, `\`, `\\`).Replace(s)
		},
		"json as newtonsoft": func(s string) string {
			return strings.NewReplacer("<", `\u003c`, ">", `\u003e`, "&", `\u0026`, "'", `\u0027`, `"`, `\u0022`, `\`, `\\`).Replace(s)
		},
		"json for scripts": func(s string) string {
			return strings.NewReplacer("<", `\u003C`, ">", `\u003E`, "/", `\u002F`).Replace(plain(s))
		},
		"json as php hex, slash escaped": func(s string) string {
			return strings.NewReplacer("<", `\u003C`, ">", `\u003E`, "&", `\u0026`, "'", `\u0027`, `"`, `\u0022`, `\`, `\\`, "/", `\/`).Replace(s)
		},
		"json in json":          func(s string) string { return plain(plain(map[string]string{"authorization": s})) },
		"json for html in json": func(s string) string { return plain(html(map[string]string{"authorization": s})) },
		"slashed json in json":  func(s string) string { return plain(strings.ReplaceAll(plain(s), "/", `\/`)) },
		"hex":                   func(s string) string { return hex.EncodeToString([]byte(s)) },
		"HEX":                   func(s string) string { return fmt.Sprintf("%X", s) },
		"bearer header":         func(s string) string { return "Bearer " + s },
		"basic user":            func(s string) string { return basic(s, "password") },
		"basic password":        func(s string) string { return basic("user", s) },
		"query of a URL":        func(s string) string { return (&url.URL{Host: "h", RawQuery: url.Values{"k": {s}}.Encode()}).String() },
	}
	for _, s := range []string{awkward, token, "plain-enough", "12345678"} {
		m := redact.New(values(s)...)
		for name, form := range forms {
			text := `before "` + form(s) + `" after`
			masked, n := m.Bytes([]byte(text))
			if n != 1 || !strings.Contains(string(masked), redact.Mask) {
				t.Errorf("%s of %q: %d places in %q, masked %q", name, s, n, text, masked)
			}
			if !strings.HasPrefix(string(masked), `before "`) || !strings.HasSuffix(string(masked), `" after`) {
				t.Errorf("%s of %q: more than the secret is gone: %q", name, s, masked)
			}
		}
	}
}

func lowerHex(s string) string {
	b := []byte(s)
	for i := range b {
		if b[i] == '%' {
			copy(b[i:i+3], bytes.ToLower(b[i:i+3]))
		}
	}
	return string(b)
}

func basic(user, password string) string {
	r := http.Request{Header: http.Header{}}
	r.SetBasicAuth(user, password)
	return r.Header.Get("Authorization")
}

// In every base64 of a text that contains the secret, whatever stands before
// and after it, no more than a character at either edge survives.
func TestBase64IsMaskedAtEveryAlignment(t *testing.T) {
	alphabets := map[string]*base64.Encoding{"std": base64.StdEncoding, "raw std": base64.RawStdEncoding, "url": base64.URLEncoding, "raw url": base64.RawURLEncoding}
	tried := 0
	for _, s := range []string{awkward, token, "??>>~~}}", "12345678"} {
		m := redact.New(values(s)...)
		for before := range 9 {
			for after := range 9 {
				for name, alphabet := range alphabets {
					text := alphabet.EncodeToString([]byte("prefix: x"[:before] + s + ", suffix "[:after]))
					masked, n := m.Bytes([]byte(text))
					tried++
					left := strings.Index(string(masked), redact.Mask)
					right := len(masked) - left - len(redact.Mask)
					if most := len(text) - 8*(before+len(s))/6; n != 1 || left > (8*before+5)/6 || right > most {
						t.Errorf("%s of %q with %d bytes before and %d after: %q masked as %q", name, s, before, after, text, masked)
					}
				}
			}
		}
	}
	if tried != 4*324 {
		t.Errorf("%d encodings were tried", tried)
	}
}

func TestNothingFoundMeansTheSameBytes(t *testing.T) {
	m := redact.New(values(token, awkward)...)
	for _, text := range []string{"", "a", "nothing here", token[:len(token)-3], token[1:], strings.ToUpper(token), strings.Repeat("ya/0.AbC", 100)} {
		b := []byte(text)
		got, n := m.Bytes(b)
		if n != 0 || len(got) != len(b) || len(b) > 0 && &got[0] != &b[0] {
			t.Errorf("%q: %d places, got %q", text, n, got)
		}
	}
}

func TestTheInputIsNotChanged(t *testing.T) {
	m := redact.New(values(token)...)
	text := "x " + token + " y " + token
	b := []byte(text)
	if got, n := m.Bytes(b); n != 2 || string(b) != text || string(got) != "x [redacted] y [redacted]" {
		t.Errorf("got %q, %d; the input is %q", got, n, b)
	}
}

func TestPlacesThatOverlapAreOneMask(t *testing.T) {
	cases := []struct {
		name    string
		secrets []string
		text    string
		want    string
		n       int
	}{
		{"itself", []string{"abcabcabc"}, "-abcabcabcabc-", "-[redacted]-", 1},
		{"two secrets", []string{"aaaabbbb", "bbbbcccc"}, "-aaaabbbbcccc-", "-[redacted]-", 1},
		{"one in another", []string{"aaaabbbbcccc", "aabbbbcc"}, "-aaaabbbbcccc-", "-[redacted]-", 1},
		{"the longer of two", []string{"aaaabbbb", "aaaabbbbcccc"}, "-aaaabbbbcccc-", "-[redacted]-", 1},
		{"side by side", []string{"aaaabbbb"}, "aaaabbbbaaaabbbb", "[redacted][redacted]", 2},
		{"a run", []string{"aaaaaaaa"}, strings.Repeat("a", 1000), "[redacted]", 1},
		{"two versions", []string{"version-1-token", "version-2-token"}, "version-1-token version-2-token", "[redacted] [redacted]", 2},
	}
	for _, c := range cases {
		got, n := redact.New(values(c.secrets...)...).Bytes([]byte(c.text))
		if string(got) != c.want || n != c.n {
			t.Errorf("%s: got %q, %d, want %q, %d", c.name, got, n, c.want, c.n)
		}
	}
}

func TestMaskingTwiceChangesNothingMore(t *testing.T) {
	for _, s := range []string{"redacted]", "[redacted", "d]abcdefg", "abcdefg[r", "acted][red", "redacted", "[redacted]", "][redacted][", "]]]]]]]]", "[[[[[[[["} {
		m := redact.New(values(s)...)
		for _, text := range []string{s, s + s, s + "abcdefg", "abcdefg" + s, s + "," + s, "x[redacted]abcdefg[redacted]x", "[redacted][redacted]", strings.Repeat(s[:len(s)-1], 3)} {
			once, _ := m.Bytes([]byte(text))
			twice, n := m.Bytes(once)
			if n != 0 || !bytes.Equal(once, twice) {
				t.Errorf("secret %q in %q: %q, then %q", s, text, once, twice)
			}
			if bytes.Contains(once, []byte(s)) && !strings.Contains(redact.Mask, s) {
				t.Errorf("secret %q is left in %q", s, once)
			}
		}
	}
}

// What a mask and its neighbours spell is masked again, and no more than that.
func TestTheRestOfATextIsKept(t *testing.T) {
	got, n := redact.New(values("d]abcdefg")...).Bytes([]byte("before d]abcdefgabcdefg after"))
	if want := "before [redacte[redacted] after"; string(got) != want || n != 2 {
		t.Errorf("got %q, %d, want %q", got, n, want)
	}
}

func TestShortSecretsAreNotLookedFor(t *testing.T) {
	m := redact.New(values("short", "", "1234567")...)
	if got, n := m.Bytes([]byte("a short text with 1234567")); n != 0 {
		t.Errorf("got %q", got)
	}
}

func TestNobodyMasksNothing(t *testing.T) {
	var none *redact.Masker
	for _, m := range []*redact.Masker{none, redact.New()} {
		if got, n := m.Bytes([]byte(token)); n != 0 || string(got) != token || m.Text(token) != token {
			t.Errorf("got %q, %d", got, n)
		}
		if got, n := m.JSON([]byte(`"` + token + `"`)); n != 0 || string(got) != `"`+token+`"` {
			t.Errorf("got %q, %d", got, n)
		}
		var b bytes.Buffer
		w := m.Writer(&b)
		if _, err := w.Write([]byte(token)); err != nil || w.Flush() != nil || b.String() != token {
			t.Errorf("wrote %q, %v", b.String(), err)
		}
	}
}

func TestText(t *testing.T) {
	m := redact.New(values(token)...)
	if got := m.Text("read: " + token + ": refused"); got != "read: [redacted]: refused" {
		t.Errorf("got %q", got)
	}
	if got := m.Text("nothing"); got != "nothing" {
		t.Errorf("got %q", got)
	}
}

func TestLongSecretsAreFound(t *testing.T) {
	long := strings.Repeat("0123456789abcdef", secret.MaxLength/16)
	m := redact.New(values(long, token)...)
	text := "a " + long + " b " + token + " c"
	if got, n := m.Bytes([]byte(text)); string(got) != "a [redacted] b [redacted] c" || n != 2 {
		t.Errorf("got %d places, %d bytes", n, len(got))
	}
}

func FuzzMask(f *testing.F) {
	f.Add(awkward, "x", "y", uint8(0))
	f.Add(token, "", "", uint8(3))
	f.Add("abcabcabc", "abc", "abc", uint8(0))
	f.Add("redacted]", "[", "]", uint8(0))
	f.Add("0123456789", "ab", "c", uint8(9))
	f.Fuzz(func(t *testing.T, s, before, after string, how uint8) {
		b, refusal := secret.Bind(secret.Auth{Type: secret.TypeHeaders, Headers: []secret.Header{{As: "X-Key", Ref: "r"}}}, map[string]secret.Value{"r": secret.NewValue([]byte(s), "1")})
		if refusal != nil || strings.Contains(redact.Mask, s) {
			return
		}
		m := redact.New(b.Values()...)
		text := before + spell(s, before, after, how) + after
		once, n := m.Bytes([]byte(text))
		if n == 0 {
			t.Fatalf("nothing is masked in %q", text)
		}
		for i := range spellings {
			if form := spell(s, "", "", uint8(i)); !strings.Contains(redact.Mask, form) && bytes.Contains(once, []byte(form)) {
				t.Errorf("%q is left in %q", form, once)
			}
		}
		if twice, n := m.Bytes(once); n != 0 || !bytes.Equal(once, twice) {
			t.Errorf("%q is masked as %q, then as %q", text, once, twice)
		}
	})
}

const spellings = 11

// spell writes s in one of eleven ways; in base64 with what is around it.
func spell(s, before, after string, how uint8) string {
	switch how % spellings {
	case 1:
		return url.QueryEscape(s)
	case 2:
		return url.PathEscape(s)
	case 3:
		b, _ := json.Marshal(s)
		return string(b[1 : len(b)-1])
	case 4:
		return strings.ReplaceAll(spell(s, "", "", 10), "/", `\/`)
	case 5:
		return hex.EncodeToString([]byte(s))
	case 6:
		return fmt.Sprintf("%X", s)
	case 7:
		return base64.StdEncoding.EncodeToString([]byte(before + s + after))
	case 8:
		return base64.RawURLEncoding.EncodeToString([]byte(before + s + after))
	case 9:
		return base64.StdEncoding.EncodeToString([]byte(s))
	case 10:
		return strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(s)
	}
	return s
}
