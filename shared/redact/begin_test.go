package redact_test

import (
	"bytes"
	"strings"
	"testing"

	"mcprelay/shared/redact"
	"mcprelay/shared/secret"
)

func TestTheBeginningIsMaskedWhereverTheSecretLies(t *testing.T) {
	const plain = "correct-horse-battery"
	m := redact.New(secret.NewValue([]byte(plain), "1"))
	for at := range 400 {
		text := strings.Repeat("x", at) + plain + strings.Repeat("y", 2000)
		got := m.Begin([]byte(text), 64)
		if len(got) < 64 {
			t.Fatalf("secret at %d: got %d bytes, want at least 64", at, len(got))
		}
		left := string(bytes.ReplaceAll(got, []byte(redact.Mask), nil))
		if cut := strings.LastIndexByte(left, '['); cut >= 0 && strings.HasPrefix(redact.Mask, left[cut:]) {
			left = left[:cut] // a mask that was cut says nothing
		}
		// Whatever is neither x nor y would be a part of the secret.
		if rest := strings.Trim(left, "xy"); rest != "" {
			t.Fatalf("secret at %d: %q is left", at, rest)
		}
	}
}

func TestAShortTextIsMaskedWhole(t *testing.T) {
	m := redact.New(secret.NewValue([]byte("correct-horse-battery"), "1"))
	if got := string(m.Begin([]byte("a correct-horse-battery b"), 64)); got != "a [redacted] b" {
		t.Errorf("got %q", got)
	}
	var none *redact.Masker
	if got := string(none.Begin([]byte("abc"), 2)); got != "ab" && got != "abc" {
		t.Errorf("a nil masker gave %q", got)
	}
}
