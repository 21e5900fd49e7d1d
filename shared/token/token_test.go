package token_test

import (
	"bytes"
	"crypto/rand"
	"errors"
	"hash/crc32"
	"io"
	"regexp"
	"strings"
	"testing"
	"testing/iotest"

	"mcprelay/shared/token"
)

// fixed is a token made of zero bytes; its checksum was computed apart, as
// zlib.crc32 of 38 zeros in base 62.
const fixed = "mrt_00000000000000000000000000000000000000" + "29b03J"

// mint makes a token from real randomness.
func mint(t *testing.T) (string, string) {
	t.Helper()
	s, keyID, err := token.Mint(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return s, keyID
}

func TestTokenHasTheDocumentedForm(t *testing.T) {
	form := regexp.MustCompile(`^mrt_[0-9A-Za-z]{44}$`)
	s, keyID := mint(t)
	if !form.MatchString(s) {
		t.Errorf("token of %d characters does not match %s", len(s), form)
	}
	if len(keyID) != 8 || !strings.HasPrefix(s, "mrt_"+keyID) {
		t.Errorf("key id %q is not the first 8 characters after the prefix", keyID)
	}
}

func TestChecksumIsCRC32OfKeyIDAndSecret(t *testing.T) {
	s, keyID, err := token.Mint(bytes.NewReader(make([]byte, 38)))
	if err != nil || s != fixed || keyID != "00000000" {
		t.Errorf("Mint(zeros) = %q, %q, %v, want %q", s, keyID, err, fixed)
	}
}

func TestParseAcceptsWhatWasMinted(t *testing.T) {
	for range 200 {
		s, want := mint(t)
		if got, err := token.Parse(s); err != nil || got != want {
			t.Fatalf("Parse of a minted token = %q, %v, want %q", got, err, want)
		}
	}
}

func TestMintingIsFair(t *testing.T) {
	// Bytes from 248 on may not become a character; the next draw decides.
	for _, unfair := range []byte{248, 255} {
		draw := append(bytes.Repeat([]byte{unfair}, 38), bytes.Repeat([]byte{247}, 38)...)
		s, _, err := token.Mint(bytes.NewReader(draw))
		if err != nil || !strings.HasPrefix(s, "mrt_"+strings.Repeat("z", 38)) {
			t.Errorf("Mint after %d = %q, %v, want 38 times z", unfair, s, err)
		}
	}
	counts := map[rune]int{}
	for range 500 {
		s, _ := mint(t)
		for _, c := range s[4:42] {
			counts[c]++
		}
	}
	if len(counts) != 62 {
		t.Errorf("%d characters in use, want 62", len(counts))
	}
	for c, n := range counts { // 306 expected, standard deviation 17.5
		if n < 190 || n > 430 {
			t.Errorf("%c was drawn %d times of 19000, want about 306", c, n)
		}
	}
}

func TestMintFailsWithItsRandomness(t *testing.T) {
	broken := errors.New("no entropy")
	if s, id, err := token.Mint(iotest.ErrReader(broken)); !errors.Is(err, broken) || s != "" || id != "" {
		t.Errorf("Mint = %q, %q, %v", s, id, err)
	}
	if _, _, err := token.Mint(strings.NewReader("short")); !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("Mint from 5 bytes: %v", err)
	}
}

func TestParseRefusesEverythingElse(t *testing.T) {
	s := fixed
	for name, text := range map[string]string{
		"empty":                    "",
		"prefix only":              "mrt_",
		"other prefix":             "mrx_" + s[4:],
		"upper-case prefix":        "MRT_" + s[4:],
		"one character short":      s[:47],
		"one character long":       s + "0",
		"leading blank":            " " + s,
		"trailing newline":         s + "\n",
		"newline in place of last": s[:47] + "\n",
		"secret typo":              s[:20] + "1" + s[21:],
		"key id typo":              s[:5] + "1" + s[6:],
		"checksum typo":            s[:47] + "i",
		"checksum case":            s[:42] + strings.ToLower(s[42:]),
		"two characters swapped":   "mrt_" + "10" + strings.Repeat("0", 36) + s[42:],
		"byte outside alphabet":    s[:10] + "-" + s[11:],
		"NUL":                      s[:10] + "\x00" + s[11:],
		"hyphen, right checksum":   withChecksum("0000000-000000000000000000000000000000"),
		"blank, right checksum":    withChecksum("00000000 00000000000000000000000000000"),
		"not ASCII":                s[:10] + "é" + s[12:],
	} {
		if keyID, err := token.Parse(text); !errors.Is(err, token.ErrMalformed) || keyID != "" {
			t.Errorf("%s: Parse = %q, %v, want ErrMalformed", name, keyID, err)
		}
	}
}

// withChecksum completes a body the way a forger can.
func withChecksum(body string) string {
	const digits = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
	sum, text := crc32.ChecksumIEEE([]byte(body)), ""
	for range 6 {
		text = string(digits[sum%62]) + text
		sum /= 62
	}
	return "mrt_" + body + text
}

func TestForgedChecksumOfALawfulBodyParses(t *testing.T) {
	if keyID, err := token.Parse(withChecksum("Forged00000000000000000000000000000000")); err != nil || keyID != "Forged00" {
		t.Errorf("Parse = %q, %v: the checksum is no secret, only the record decides", keyID, err)
	}
}

func TestEverySingleTypoIsCaught(t *testing.T) {
	s, _ := mint(t)
	for i := 4; i < len(s); i++ {
		for _, c := range "0Az" {
			if typo := s[:i] + string(c) + s[i+1:]; typo != s {
				if _, err := token.Parse(typo); err == nil {
					t.Fatalf("a typo at character %d passes", i)
				}
			}
		}
	}
}

// FuzzParse checks that what parses has the form, and that a minted token
// survives any randomness.
func FuzzParse(f *testing.F) {
	f.Add(fixed, []byte("0123456789012345678901234567890123456789"))
	f.Add("mrt_", []byte{255})
	f.Add("Bearer "+fixed, bytes.Repeat([]byte{248, 247}, 60))
	form := regexp.MustCompile(`^mrt_[0-9A-Za-z]{44}$`)
	f.Fuzz(func(t *testing.T, s string, draw []byte) {
		keyID, err := token.Parse(s)
		switch {
		case err == nil && (!form.MatchString(s) || keyID != s[4:12]):
			t.Fatalf("%q parses as %q", s, keyID)
		case err != nil && (err != token.ErrMalformed || keyID != ""):
			t.Fatalf("Parse(%q) = %q, %v", s, keyID, err)
		}
		minted, want, err := token.Mint(bytes.NewReader(draw))
		if err != nil {
			return
		}
		if got, err := token.Parse(minted); err != nil || got != want {
			t.Fatalf("Parse(Mint(%x)) = %q, %v, want %q", draw, got, err, want)
		}
	})
}
