package seal_test

import (
	"bytes"
	"encoding/base64"
	"errors"
	"strings"
	"testing"
	"time"

	"mcprelay/shared/seal"
)

// start is when the states of the tests are sealed.
var start = time.Date(2026, 7, 28, 12, 0, 0, 0, time.UTC)

// golden is goldenState, sealed with key(7) until ten minutes after start.
const (
	golden      = "AZ23UwFYkMKG_89_ULgpy-hsOl9iIgB9cU1ANk6aU2lAagQcU93fSsRVmE791Y-KYQ"
	goldenState = `"first form"`
)

// key is a key of one repeated byte.
func key(b byte) []byte { return bytes.Repeat([]byte{b}, seal.KeySize) }

func newSealer(t testing.TB, keys ...[]byte) *seal.Sealer {
	t.Helper()
	s, err := seal.New(keys...)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// bound is a binding whose fields all differ.
func bound() seal.Binding {
	return seal.Binding{Tenant: "acme", Kind: "user", Subject: "ci", Server: "docs", Method: "tools/call", Digest: "ab12"}
}

// sealed is a state that opens until ten minutes after start.
func sealed(t testing.TB, s *seal.Sealer, state string) string {
	t.Helper()
	text, err := s.Seal(bound(), state, start.Add(10*time.Minute))
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func wantForged(t *testing.T, s *seal.Sealer, b seal.Binding, text, what string) {
	t.Helper()
	if state, err := s.Open(b, text, start); state != "" || !errors.Is(err, seal.ErrForged) {
		t.Errorf("%s: got %q, %v, want forged", what, state, err)
	}
}

func TestAStateOpensAsItWas(t *testing.T) {
	s := newSealer(t, key(1))
	for _, state := range []string{"", `"eyJhIjoxfQ"`, `"ä\u0000\ud83d\ude00"`, "\x00\xff\n", strings.Repeat("x", seal.MaxState)} {
		text := sealed(t, s, state)
		if len(text) > seal.MaxSealed {
			t.Errorf("a state of %d bytes has %d sealed, want at most %d", len(state), len(text), seal.MaxSealed)
		}
		if got, err := s.Open(bound(), text, start); got != state || err != nil {
			t.Errorf("got %.40q, %v, want %.40q", got, err, state)
		}
	}
}

func TestAStateThatIsTooLargeIsNotSealed(t *testing.T) {
	text, err := newSealer(t, key(1)).Seal(bound(), strings.Repeat("x", seal.MaxState+1), start)
	if err == nil || text != "" {
		t.Errorf("got %d bytes, %v, want an error", len(text), err)
	}
	if err != nil && strings.Contains(err.Error(), "xxx") {
		t.Error("the error holds the state")
	}
}

func TestAStateOpensForItsBindingOnly(t *testing.T) {
	s := newSealer(t, key(1))
	text := sealed(t, s, "state")
	for name, change := range map[string]func(*seal.Binding){
		"tenant":  func(b *seal.Binding) { b.Tenant = "other" },
		"kind":    func(b *seal.Binding) { b.Kind = "service_token" },
		"subject": func(b *seal.Binding) { b.Subject = "ci2" },
		"server":  func(b *seal.Binding) { b.Server = "docs2" },
		"method":  func(b *seal.Binding) { b.Method = "prompts/get" },
		"digest":  func(b *seal.Binding) { b.Digest = "ab13" },
		"nothing": func(b *seal.Binding) { *b = seal.Binding{} },
		// The same bytes in a row, cut elsewhere.
		"a border":        func(b *seal.Binding) { b.Tenant, b.Kind = "acmeu", "ser" },
		"swapped fields":  func(b *seal.Binding) { b.Tenant, b.Kind = b.Kind, b.Tenant },
		"a field emptied": func(b *seal.Binding) { b.Method, b.Digest = "", "tools/callab12" },
	} {
		b := bound()
		change(&b)
		wantForged(t, s, b, text, name)
	}
}

func TestWhatWasChangedIsForged(t *testing.T) {
	s := newSealer(t, key(1))
	text := sealed(t, s, "a state")
	raw, err := base64.RawURLEncoding.DecodeString(text)
	if err != nil {
		t.Fatal(err)
	}
	for i := range raw {
		for bit := range 8 {
			changed := bytes.Clone(raw)
			changed[i] ^= 1 << bit
			wantForged(t, s, bound(), base64.RawURLEncoding.EncodeToString(changed), "a bit")
		}
	}
	for n := range raw {
		wantForged(t, s, bound(), base64.RawURLEncoding.EncodeToString(raw[:n]), "cut")
	}
	for what, other := range map[string]string{
		"empty":         "",
		"longer":        base64.RawURLEncoding.EncodeToString(append(bytes.Clone(raw), 0)),
		"padded":        text + "=",
		"a blank":       text + " ",
		"a line break":  text[:4] + "\n" + text[4:],
		"a return":      text + "\r",
		"another's set": base64.RawStdEncoding.EncodeToString(bytes.Repeat([]byte{0xff}, 64)),
		"twice":         text + text,
		"the state":     "a state",
		"too long":      strings.Repeat("A", seal.MaxSealed+1),
	} {
		wantForged(t, s, bound(), other, what)
	}
}

// Two texts for one seal would let a repeat pass for another request.
func TestStrayBitsAtTheEndAreForged(t *testing.T) {
	const digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
	s := newSealer(t, key(1))
	tried := 0
	for _, state := range []string{"a", "ab", "abc"} {
		text := sealed(t, s, state)
		for _, last := range digits {
			if other := text[:len(text)-1] + string(last); other != text {
				wantForged(t, s, bound(), other, "the last digit")
				tried++
			}
		}
	}
	if tried != 3*63 {
		t.Errorf("tried %d, want 189", tried)
	}
}

func TestAStateExpires(t *testing.T) {
	s := newSealer(t, key(1))
	text := sealed(t, s, "state")
	for _, test := range []struct {
		after time.Duration
		want  error
	}{
		{-time.Hour, nil}, {0, nil}, {10*time.Minute - time.Millisecond, nil},
		{10 * time.Minute, seal.ErrExpired}, {24 * time.Hour, seal.ErrExpired},
	} {
		if _, err := s.Open(bound(), text, start.Add(test.after)); !errors.Is(err, test.want) {
			t.Errorf("after %v: got %v, want %v", test.after, err, test.want)
		}
	}
	other := bound()
	other.Subject = "somebody"
	if _, err := s.Open(other, text, start.Add(time.Hour)); !errors.Is(err, seal.ErrForged) {
		t.Errorf("somebody else's expired state: got %v, want forged", err)
	}
}

func TestTheFirstKeySealsAndAllOpen(t *testing.T) {
	before, after := newSealer(t, key(1)), newSealer(t, key(2), key(1))
	if got, err := after.Open(bound(), sealed(t, before, "old"), start); got != "old" || err != nil {
		t.Errorf("got %q, %v, want what the key before sealed", got, err)
	}
	text := sealed(t, after, "new")
	if got, err := newSealer(t, key(2)).Open(bound(), text, start); got != "new" || err != nil {
		t.Errorf("got %q, %v, want what the first key sealed", got, err)
	}
	wantForged(t, before, bound(), text, "another key")
	if _, err := after.Open(bound(), sealed(t, before, "old"), start.Add(time.Hour)); !errors.Is(err, seal.ErrExpired) {
		t.Errorf("got %v, want an expired state of the key before", err)
	}
}

func TestOneStateIsSealedOtherwiseEachTime(t *testing.T) {
	s := newSealer(t, key(1))
	seen := map[string]bool{}
	for range 64 {
		text := sealed(t, s, "hold this state")
		raw, err := base64.RawURLEncoding.DecodeString(text)
		if err != nil || bytes.Contains(raw, []byte("hold this")) || bytes.Contains(raw, []byte("acme")) {
			t.Fatalf("%q shows what is in it (%v)", text, err)
		}
		seen[text] = true
	}
	if len(seen) != 64 {
		t.Errorf("got %d different texts, want 64", len(seen))
	}
}

// Processes of two versions of the relay serve one agent while it is deployed.
func TestTheFormStays(t *testing.T) {
	if got, err := newSealer(t, key(7)).Open(bound(), golden, start); got != goldenState || err != nil {
		t.Errorf("got %q, %v, want the state of the golden text", got, err)
	}
}

func TestKeysOfAnotherLengthAreRefused(t *testing.T) {
	for _, keys := range [][][]byte{{}, {nil}, {key(1)[:31]}, {append(key(1), 1)}, {key(1), key(2)[:16]}} {
		if _, err := seal.New(keys...); err == nil {
			t.Errorf("%d keys: got no error", len(keys))
		}
	}
	secret := []byte("thirty-one-bytes-of-a-secret-ke")
	if _, err := seal.New(secret); err == nil || strings.Contains(err.Error(), "thirty") {
		t.Errorf("got %v, want an error without the key", err)
	}
}

func TestWithoutAKeyNothingIsSealedOrOpened(t *testing.T) {
	text := sealed(t, newSealer(t, key(1)), "state")
	for _, s := range []*seal.Sealer{nil, {}} {
		if got, err := s.Seal(bound(), "state", start); got != "" || err == nil {
			t.Errorf("got %q, %v, want an error", got, err)
		}
		wantForged(t, s, bound(), text, "no key")
	}
}
