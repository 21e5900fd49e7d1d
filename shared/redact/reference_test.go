package redact_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"

	"mcprelay/shared/redact"
)

// reference masks as a Masker must, in the simplest way: every word is tried
// at every place, and every escape of the whole text is resolved.
type reference struct{ words []string }

// next is the first word at or after from, the longest there.
func (r reference) next(text string, from int) (begin, end int) {
	for begin = from; begin < len(text); begin++ {
		for _, word := range r.words {
			if strings.HasPrefix(text[begin:], word) {
				end = max(end, begin+len(word))
			}
		}
		if end > begin {
			return begin, end
		}
	}
	return -1, -1
}

func (r reference) found(text string) bool {
	for _, word := range r.words {
		if strings.Contains(text, word) {
			return true
		}
	}
	return false
}

// mask masks once; at translates places in text to places in what is masked.
func (r reference) mask(text, whole string, at func(int) int) (string, int) {
	out, n, from := "", 0, 0
	begin, end := r.next(text, 0)
	for begin >= 0 {
		next, nextEnd := r.next(text, begin+1)
		for next >= 0 && next < end {
			end = max(end, nextEnd)
			next, nextEnd = r.next(text, next+1)
		}
		out += whole[from:at(begin)] + redact.Mask
		from = at(end)
		n++
		begin, end = next, nextEnd
	}
	return out + whole[from:], n
}

func (r reference) bytes(text string) (string, int) {
	total := 0
	for range 4 {
		masked, n := r.mask(text, text, func(i int) int { return i })
		if n == 0 {
			return text, total
		}
		text, total = masked, total+n
	}
	if r.found(text) {
		return redact.Mask, total
	}
	return text, total
}

// unescape resolves one level of escapes, with the place that each byte is
// from.
func unescape(text string) (string, []int) {
	var out []byte
	var at []int
	for i := 0; i < len(text); {
		c, size := text[i], 1
		if rest := text[i:]; len(rest) >= 2 && c == '\\' {
			switch {
			case strings.IndexByte(`"\/`, rest[1]) >= 0:
				c, size = rest[1], 2
			case strings.IndexByte(`bfnrt`, rest[1]) >= 0:
				c, size = 0xff, 2
			case rest[1] == 'u' && len(rest) >= 6:
				if code, err := strconv.ParseUint(rest[2:6], 16, 16); err == nil {
					c, size = byte(min(code, 0xff)), 6
					if code > '~' {
						c = 0xff
					}
				}
			}
		}
		out, at = append(out, c), append(at, i)
		i += size
	}
	return string(out), append(at, len(text))
}

// level is the first level of escapes that holds a word.
func (r reference) level(text string) (resolved string, at []int, ok bool) {
	at = make([]int, len(text)+1)
	for i := range at {
		at[i] = i
	}
	for range 4 {
		next, places := unescape(text)
		if len(next) == len(text) {
			return "", nil, false
		}
		for i, place := range places {
			places[i] = at[place]
		}
		if text, at = next, places; r.found(text) {
			return text, at, true
		}
	}
	return "", nil, false
}

func (r reference) escaped(text string) (string, int) {
	text, total := r.bytes(text)
	for range 8 {
		resolved, at, ok := r.level(text)
		if !ok {
			return text, total
		}
		masked, n := r.mask(resolved, text, func(i int) int { return at[i] })
		masked, more := r.bytes(masked)
		text, total = masked, total+n+more
	}
	return redact.Mask, total
}

func lawful(text string) bool {
	return jsontext.Value(text).IsValid(jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
}

func (r reference) json(text string) (string, int) {
	masked, n := r.escaped(text)
	if n == 0 || lawful(masked) || !lawful(text) {
		return masked, n
	}
	masked, n = r.scalars(text)
	_, _, hidden := r.level(masked)
	if r.found(masked) || hidden || !lawful(masked) {
		return `"` + redact.Mask + `"`, max(n, 1)
	}
	return masked, n
}

// scalars masks each string and number by itself.
func (r reference) scalars(text string) (string, int) {
	d := jsontext.NewDecoder(bytes.NewBufferString(text), jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
	out, n, from := "", 0, 0
	for {
		if kind := d.PeekKind(); kind != '"' && kind != '0' {
			if _, err := d.ReadToken(); err != nil {
				return out + text[from:], n
			}
			continue
		}
		raw, err := d.ReadValue()
		if err != nil {
			return out + text[from:], n
		}
		masked, found := r.escaped(string(raw))
		if found > 0 && !lawful(masked) {
			masked = `"` + redact.Mask + `"`
		}
		end := int(d.InputOffset())
		out += text[from:end-len(raw)] + masked
		n, from = n+found, end
	}
}

// agree fails the test where the masker of secrets and the reference mask text
// otherwise.
func agree(t *testing.T, secrets []string, text string) {
	t.Helper()
	m := redact.New(values(secrets...)...)
	r := reference{m.Words()}
	got, n := m.Bytes([]byte(text))
	if want, places := r.bytes(text); string(got) != want || n != places {
		t.Fatalf("Bytes, %q in %q: got %q, %d, want %q, %d", secrets, text, got, n, want, places)
	}
	got, n = m.JSON([]byte(text))
	if want, places := r.json(text); string(got) != want || n != places {
		t.Fatalf("JSON, %q in %q: got %q, %d, want %q, %d", secrets, text, got, n, want, places)
	}
	want, _ := r.escaped(text)
	if got := m.Text(text); got != want {
		t.Fatalf("Text, %q in %q: got %q, want %q", secrets, text, got, want)
	}
}

// pieces are what texts around and inside of secrets are made of.
var pieces = []string{
	`\`, `\\`, `\\\`, `\"`, `"`, `\/`, `/`, `\n`, `\u`, `u`, `00`, `\u00`, `\u0`, `5c`, `\u005c`, `\u005C`, `\u002f`, `\u0022`, `\u0075`, `\u0030`, `\u00e9`, `\uD83D`, `\u0000`, `\u006e`, `\u000a`,
	` `, `,`, `:`, `{`, `}`, `[`, `]`, `n`, `b`, `f`, `é`, "\xff", "\x00", `%`, `+`, `=`, `-`,
}

// Texts that are made of escapes and of parts of secrets, spelled in many ways.
func TestMaskingAgreesWithTheReference(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	sets := [][]string{
		{"plain-enough"}, {token}, {awkward}, {"12345678"}, {`nabcdefg`}, {`u002fu005c`}, {`back\slash\n`}, {`"quoted"!`}, {"abcd/efgh/ij"}, {"\xff\xfe\xfd\xfc\xfb\xfa\xf9\xf8"},
		{"aaaabbbb", "bbbbcccc", "another-secret-value"}, {"redacted]"}, {"0041BCDE"}, {"éclair-au-café"},
	}
	for _, secrets := range sets {
		for range 60 {
			var text strings.Builder
			for range r.IntN(12) {
				switch s := secrets[r.IntN(len(secrets))]; r.IntN(6) {
				case 0:
					from := r.IntN(len(s))
					text.WriteString(s[from : from+r.IntN(len(s)-from)+1])
				case 1:
					spelled := s
					for range r.IntN(4) {
						spelled = anyhow(r, spelled)
					}
					text.WriteString(spelled)
				case 2:
					text.WriteString(spell(s, "x", "yz", uint8(r.IntN(spellings))))
				default:
					text.WriteString(pieces[r.IntN(len(pieces))])
				}
			}
			agree(t, secrets, text.String())
			agree(t, secrets, `{"a":["`+text.String()+`"]}`)
		}
	}
}

// A long text is looked through at several places at once: a secret may lie at
// each of them, and across each border.
func TestASecretIsFoundAtEveryPlaceOfALongText(t *testing.T) {
	for _, s := range []string{"12345678", token, strings.Repeat("long secret ", 20)} {
		m := redact.New(values(s)...)
		for _, size := range []int{1023, 1024, 1025, 1500} {
			for at := 0; at <= size; at += 1 + size/200 {
				before, after := strings.Repeat("x", at), strings.Repeat("x", size-at)
				got, n := m.JSON([]byte(before + s + after))
				if want := before + redact.Mask + after; string(got) != want || n != 1 {
					t.Fatalf("%d bytes before the secret and %d after it: %d places", len(before), len(after), n)
				}
				hidden := s[:len(s)-1] + fmt.Sprintf(`\u00%02x`, s[len(s)-1])
				got, n = m.JSON([]byte(before + hidden + after))
				if want := before + redact.Mask + after; string(got) != want || n != 1 {
					t.Fatalf("%d bytes before the hidden secret and %d after it: %d places", len(before), len(after), n)
				}
			}
		}
	}
}

// FuzzAgainstReference holds the masker against the reference. Dollar signs
// stand for the secret, spelled in a way that the seed draws.
func FuzzAgainstReference(f *testing.F) {
	f.Add("abcd+efgh+ijkl", `{"a":"$\n\u00e9 $"}`, uint64(1))
	f.Add("12345678", `["\\u00$"]`, uint64(2))
	f.Add(`nabcdefg`, `\\$\$`, uint64(3))
	f.Add(`back\slash`, `"\"$\\"`, uint64(4))
	f.Add("redacted]", `[$]$`, uint64(5))
	f.Fuzz(func(t *testing.T, s, text string, seed uint64) {
		if len(s) < 8 || len(s) > 60 || len(text) > 2000 || strings.Count(text, "$") > 20 || strings.Contains(redact.Mask, s) {
			return
		}
		r := rand.New(rand.NewPCG(seed, 0))
		for strings.Contains(text, "$") {
			spelled := strings.ReplaceAll(s, "$", "S")
			if utf8.ValidString(spelled) && json.Valid([]byte(`"`+spelled+`"`)) {
				for range r.IntN(4) {
					spelled = anyhow(r, spelled)
				}
			}
			text = strings.Replace(text, "$", spelled, 1)
		}
		agree(t, []string{strings.ReplaceAll(s, "$", "S")}, text)
	})
}
