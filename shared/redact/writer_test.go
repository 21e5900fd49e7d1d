package redact_test

import (
	"bytes"
	"encoding/hex"
	"errors"
	"io"
	"math/rand/v2"
	"strings"
	"testing"

	"mcprelay/shared/redact"
)

// stream writes text in pieces of the sizes that next gives.
func stream(t *testing.T, m *redact.Masker, text string, next func() int) (string, int) {
	t.Helper()
	var b bytes.Buffer
	w := m.Writer(&b)
	for rest := text; rest != ""; {
		n := min(max(next(), 0), len(rest))
		if written, err := io.WriteString(w, rest[:n]); err != nil || written != n {
			t.Fatalf("wrote %d of %d: %v", written, n, err)
		}
		rest = rest[n:]
	}
	if err := w.Flush(); err != nil {
		t.Fatal(err)
	}
	return b.String(), w.Masked()
}

func TestAStreamIsMaskedAsTheWhole(t *testing.T) {
	m := redact.New(values(token, "abcabcabc", "bbbbcccc")...)
	texts := []string{
		"", "x", token, "a" + token + "b", token + token, "abcabcabcabc", "abcabcabcabcabcabcx", "xabcabcab", "abcabcabbbbcccc",
		hex.EncodeToString([]byte(token)), "x" + hex.EncodeToString([]byte(token)) + "y", strings.Repeat("abc", 200), strings.Repeat("x"+token, 20), token[:20], "bbbbccccbbbbcccc", strings.Repeat("nothing ", 50),
	}
	for _, text := range texts {
		want, places := m.Bytes([]byte(text))
		for size := 1; size <= len(text)+1; size++ {
			if got, n := stream(t, m, text, func() int { return size }); got != string(want) || n != places {
				t.Errorf("%q in pieces of %d: got %q, %d places, want %q, %d", text, size, got, n, want, places)
			}
		}
	}
}

func TestAStreamHoldsBackNoMoreThanAForm(t *testing.T) {
	m := redact.New(values("0123456789")...)
	var b bytes.Buffer
	w := m.Writer(&b)
	const size = 10_000
	if _, err := io.WriteString(w, strings.Repeat("x", size)); err != nil {
		t.Fatal(err)
	}
	if held := size - b.Len(); held > 64 {
		t.Errorf("%d bytes are held back", held)
	}
}

func TestAnEndlessRunOfASecretIsNotKept(t *testing.T) {
	m := redact.New(values("aaaaaaaa")...)
	var b bytes.Buffer
	w := m.Writer(&b)
	for range 1000 {
		if _, err := io.WriteString(w, strings.Repeat("a", 1000)); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Flush(); err != nil || b.String() != redact.Mask || w.Masked() != 1 {
		t.Errorf("got %d bytes, %d places, %v", b.Len(), w.Masked(), err)
	}
}

type broken struct{}

func (broken) Write([]byte) (int, error) { return 0, io.ErrClosedPipe }

func TestAStreamReportsTheErrorOfItsWriter(t *testing.T) {
	w := redact.New(values(token)...).Writer(broken{})
	_, err := io.WriteString(w, strings.Repeat("x", 1000))
	if !errors.Is(err, io.ErrClosedPipe) {
		t.Errorf("got %v", err)
	}
	w = redact.New(values(token)...).Writer(broken{})
	if _, err := io.WriteString(w, "x"); err != nil {
		t.Errorf("held back: %v", err)
	}
	if err := w.Flush(); !errors.Is(err, io.ErrClosedPipe) {
		t.Errorf("flush: %v", err)
	}
}

func FuzzWriter(f *testing.F) {
	f.Add("abcabcabc", "xabcabcabcabcx", uint64(1))
	f.Add(token, "a "+token+" b", uint64(2))
	f.Add("aaaaaaaa", strings.Repeat("a", 50), uint64(3))
	f.Fuzz(func(t *testing.T, s, text string, seed uint64) {
		if len(s) > 100 || strings.ContainsAny(s, "[]") {
			return
		}
		m := redact.New(values(s, "abcdabcd")...)
		text = strings.ReplaceAll(text, "$", s)
		want, places := m.Bytes([]byte(text))
		r := rand.New(rand.NewPCG(seed, 0))
		got, n := stream(t, m, text, func() int { return r.IntN(20) })
		if got != string(want) || n != places {
			t.Errorf("secret %q in %q: got %q, %d places, want %q, %d", s, text, got, n, want, places)
		}
	})
}
