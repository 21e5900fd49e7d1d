package redact_test

import (
	"encoding/json"
	"strings"
	"testing"

	"mcprelay/shared/redact"
)

func TestJSONStaysValid(t *testing.T) {
	cases := []struct {
		name, secret, text, want string
		n                        int
	}{
		{"nothing", token, `{"a": 1.0}`, `{"a": 1.0}`, 0},
		{"in a string", token, `{"a" :"x ` + token + ` y","b":1e2}`, `{"a" :"x [redacted] y","b":1e2}`, 1},
		{"a number", "12345678", `{"a":12345678,"b":12.0}`, `{"a":"[redacted]","b":12.0}`, 1},
		{"in a number", "12345678", `[-1123456789.5e3, "x12345678"]`, `["[redacted]", "x[redacted]"]`, 2},
		{"a name", token, `{"` + token + `":true}`, `{"[redacted]":true}`, 1},
		{"two names", token, `{"` + token + `":1,"` + token + ` ":2}`, `{"[redacted]":1,"[redacted] ":2}`, 2},
		{"in an escape", "0041BCDE", `["\u0041BCDE"]`, `["[redacted]"]`, 1},
		{"behind a backslash", `nabcdefgh`, `["x\nabcdefgh"]`, `["[redacted]"]`, 1},
		{"over tokens", `abcd","ef`, `["abcd","ef"]`, `["[redacted]"]`, 1},
		{"a whole value", `{"a":"b"}`, `{"x":{"a":"b"}}`, `"[redacted]"`, 1},
		{"not JSON", "12345678", `{"a":12345678`, `{"a":[redacted]`, 1},
		{"big numbers beside it", token, `{"n":9007199254740993,"s":"` + token + `"}`, `{"n":9007199254740993,"s":"[redacted]"}`, 1},
	}
	for _, c := range cases {
		got, n := redact.New(values(c.secret)...).JSON([]byte(c.text))
		if string(got) != c.want || n < min(c.n, 1) || c.n == 0 && n != 0 {
			t.Errorf("%s: got %s, %d, want %s, %d", c.name, got, n, c.want, c.n)
		}
	}
}

func FuzzJSON(f *testing.F) {
	f.Add("12345678", `{"a":12345678,"b":["12345678"]}`)
	f.Add("0041BCDE", `["\u0041BCDE"]`)
	f.Add(`abcd","ef`, `["abcd","ef"]`)
	f.Add(`":123456,"`, `{"a":123456,"b":1}`)
	f.Fuzz(func(t *testing.T, s, text string) {
		if len(s) < 8 || len(s) > 100 || strings.Contains(`"`+redact.Mask+`"`, s) {
			return
		}
		m := redact.New(values(s)...)
		got, n := m.JSON([]byte(text))
		if json.Valid([]byte(text)) && !json.Valid(got) {
			t.Errorf("secret %q: %q is masked as %q", s, text, got)
		}
		if n == 0 && string(got) != text || strings.Contains(string(got), s) {
			t.Errorf("secret %q: %q is masked as %q, %d places", s, text, got, n)
		}
	})
}
