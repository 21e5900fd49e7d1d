package redact_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"mcprelay/shared/redact"
)

// anyhow spells s as a JSON string may, each character in a way of its own.
func anyhow(r *rand.Rand, s string) string {
	var b strings.Builder
	for _, c := range []byte(s) {
		must := c == '"' || c == '\\'
		switch way := r.IntN(4); {
		case way == 0:
			fmt.Fprintf(&b, `\u%04x`, c)
		case way == 1:
			fmt.Fprintf(&b, `\u%04X`, c)
		case must || way == 2 && c == '/':
			b.WriteString(`\` + string(c))
		default:
			b.WriteByte(c)
		}
	}
	return b.String()
}

func TestNoSpellingOfAnEscapeHidesASecret(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for _, s := range []string{"abcd+efgh+ijkl+mnop", awkward, token, "plain-enough", "with `ticks` in it", `back\slash\u002B`} {
		m := redact.New(values(s)...)
		for levels := 1; levels <= 4; levels++ {
			for range 100 {
				text := s
				for range levels {
					text = anyhow(r, text)
				}
				for _, around := range [][2]string{{`{"a":1.0, "b\n":["é\u00e9 `, ` y\t",9007199254740993]}`}, {`{"x `, `":{"c":[]}}`}, {`"`, `"`}} {
					got, n := m.JSON([]byte(around[0] + text + around[1]))
					if want := around[0] + redact.Mask + around[1]; string(got) != want || n != 1 {
						t.Fatalf("%q, %d levels: %s%s%s is masked as %s, %d places", s, levels, around[0], text, around[1], got, n)
					}
				}
			}
		}
	}
}

func TestEscapesThatHideNothingAreKept(t *testing.T) {
	m := redact.New(values("abcd+efgh+ijkl", token)...)
	for _, text := range []string{
		`"abcd\u002Cefgh\u002Bijkl"`, `"abcd\u002Befgh"`, `"C:\\new\\table"`, `"\ud83d\ude00\u00e9"`, `"\\u002"`, `"\\uzzzz\\"`, `"\"\/\b\f\n\r\t"`,
		`["abcd\u002B","efgh\u002Bijkl"]`, `\`, `"\`, `"\u00`, strings.Repeat(`\u005cu005c`, 50),
	} {
		b := []byte(text)
		if got, n := m.JSON(b); n != 0 || &got[0] != &b[0] {
			t.Errorf("%s is masked as %s, %d places", text, got, n)
		}
	}
}

func TestSeveralSpellingsAreAllMasked(t *testing.T) {
	m := redact.New(values("abcd+efgh", "wxyz<890")...)
	text := `{"a":"abcd+efgh","b":"abcd\u002Befgh","c":"\\u0061bcd\\u002befgh and wxyz\u003c890","d":"wxyz\\\\u003C890"}`
	want := `{"a":"[redacted]","b":"[redacted]","c":"[redacted] and [redacted]","d":"[redacted]"}`
	got, n := m.JSON([]byte(text))
	if string(got) != want || n != 5 {
		t.Errorf("got %s, %d, want %s, 5", got, n, want)
	}
	if again, n := m.JSON(got); n != 0 || string(again) != want {
		t.Errorf("masked again: %s, %d", again, n)
	}
}

func TestTextThatIsNoJSONHidesNothingEither(t *testing.T) {
	m := redact.New(values("abcd+efgh")...)
	for _, text := range []string{`{"a":"ab\u0063d\u002Befgh`, `ab\u0063d\u002Befgh`} {
		got, n := m.JSON([]byte(text))
		if n != 1 || strings.Contains(string(got), "efgh") || !strings.Contains(string(got), redact.Mask) {
			t.Errorf("%s is masked as %s, %d places", text, got, n)
		}
		if got := m.Text(text); strings.Contains(got, "efgh") || !strings.Contains(got, redact.Mask) {
			t.Errorf("%s is masked as %s", text, got)
		}
	}
}

func TestTheBeginningHidesNothingBehindEscapes(t *testing.T) {
	const plain = "correct-horse-battery"
	var hidden strings.Builder
	for _, c := range []byte(plain) {
		fmt.Fprintf(&hidden, `\u%04x`, c)
	}
	m := redact.New(values(plain)...)
	for at := range 1000 {
		text := strings.Repeat("y", at) + hidden.String() + strings.Repeat("y", 4000)
		got := string(m.Begin([]byte(text), 64))
		if rest := strings.Trim(strings.ReplaceAll(got, redact.Mask, ""), "y"); len(got) < 64 || rest != "" && !strings.HasPrefix(redact.Mask, rest) {
			t.Fatalf("secret at %d: %q is left", at, got)
		}
	}
}

// strings that a valid JSON text holds, names included, however deep.
func held(t *testing.T, text []byte) []string {
	t.Helper()
	var all []string
	d := json.NewDecoder(strings.NewReader(string(text)))
	for {
		token, err := d.Token()
		if err != nil {
			return all
		}
		if s, ok := token.(string); ok {
			all = append(all, s)
		}
	}
}

func FuzzEscapes(f *testing.F) {
	f.Add("abcd+efgh+ijkl", `{"a":"`, `"}`, uint64(1))
	f.Add("12345678", `["`, `"]`, uint64(2))
	f.Add("d]abcdefg", `"d]abcdefg`, `abcdefg"`, uint64(3))
	f.Fuzz(func(t *testing.T, s, before, after string, seed uint64) {
		if len(s) < 8 || len(s) > 100 || strings.Contains(`"`+redact.Mask+`"`, s) || strings.Trim(s, ascii) != "" {
			return
		}
		r := rand.New(rand.NewPCG(seed, 0))
		hidden := anyhow(r, s)
		for range r.IntN(3) {
			hidden = anyhow(r, hidden)
		}
		text := before + hidden + after
		m := redact.New(values(s)...)
		got, _ := m.JSON([]byte(text))
		if !json.Valid([]byte(text)) {
			return
		}
		if !json.Valid(got) {
			t.Fatalf("secret %q: %q is masked as %q", s, text, got)
		}
		for _, value := range held(t, got) {
			if strings.Contains(value, s) {
				t.Errorf("secret %q: %q is masked as %q, which holds it", s, text, got)
			}
		}
		if again, n := m.JSON(got); n != 0 || string(again) != string(got) {
			t.Errorf("secret %q: %q is masked as %q, then as %q", s, text, got, again)
		}
	})
}

// ascii is what secrets are made of.
const ascii = " !\"#$%&'()*+,-./0123456789:;<=>?@ABCDEFGHIJKLMNOPQRSTUVWXYZ[\\]^_`abcdefghijklmnopqrstuvwxyz{|}~"
