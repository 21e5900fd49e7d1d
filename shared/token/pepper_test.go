package token_test

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"mcprelay/shared/token"
)

func peppers(t *testing.T, seeds ...byte) *token.Peppers {
	t.Helper()
	var keys [][]byte
	for _, seed := range seeds {
		keys = append(keys, bytes.Repeat([]byte{seed}, token.PepperSize))
	}
	p, err := token.NewPeppers(keys...)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestRecordVerifiesWithThePepperThatMadeIt(t *testing.T) {
	s, keyID := mint(t)
	other, _ := mint(t)
	r := record(s, keyID)
	if err := peppers(t, 1).Seal(&r, s); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		text    string
		peppers *token.Peppers
		want    bool
	}{
		"its pepper":           {s, peppers(t, 1), true},
		"after a rotation":     {s, peppers(t, 2, 1), true},
		"after two rotations":  {s, peppers(t, 3, 2), false},
		"no peppers":           {s, peppers(t), false},
		"nil":                  {s, nil, false},
		"another token":        {other, peppers(t, 1), false},
		"the hash as a token":  {string(r.Hash[:]), peppers(t, 1), false},
		"another, other order": {other, peppers(t, 2, 1), false},
	} {
		if got := r.Check(c.text, now, c.peppers); got != c.want {
			t.Errorf("%s: got %v, want %v", name, got, c.want)
		}
	}
}

// The whole token is what is hashed, not its key id alone.
func TestAnotherSecretOfTheSameKeyIDIsRefused(t *testing.T) {
	s, keyID := mint(t)
	other, _ := mint(t)
	r := record(s, keyID)
	if err := peppers(t, 1).Seal(&r, other); err != nil {
		t.Fatal(err)
	}
	if r.Check(s, now, peppers(t, 1)) {
		t.Error("a token is accepted whose secret is another's")
	}
}

func TestRecordsOfBeforeStillVerify(t *testing.T) {
	s, keyID := mint(t)
	for _, p := range []*token.Peppers{nil, peppers(t), peppers(t, 1), peppers(t, 2, 1)} {
		if !record(s, keyID).Check(s, now, p) {
			t.Error("a record with a plain hash is refused")
		}
	}
}

// A record whose pepper's name is taken away is not one of before.
func TestAHashIsOfOneKindOnly(t *testing.T) {
	s, keyID := mint(t)
	p := peppers(t, 1)
	sealed := record(s, keyID)
	if err := p.Seal(&sealed, s); err != nil {
		t.Fatal(err)
	}
	plain := sealed
	plain.Pepper = ""
	named := record(s, keyID)
	named.Pepper = sealed.Pepper
	gone := sealed
	gone.Pepper = "00000000"
	for name, r := range map[string]token.Record{"without its pepper": plain, "plain under a pepper": named, "a pepper that is gone": gone} {
		if r.Check(s, now, p) {
			t.Errorf("%s: accepted", name)
		}
	}
}

func TestTheNewestPepperSeals(t *testing.T) {
	s, keyID := mint(t)
	r := record(s, keyID)
	if err := peppers(t, 2, 1).Seal(&r, s); err != nil {
		t.Fatal(err)
	}
	if !r.Check(s, now, peppers(t, 2)) || r.Check(s, now, peppers(t, 1)) {
		t.Error("the token was not hashed with the first pepper")
	}
	text, err := json.Marshal(r)
	if err != nil || strings.Contains(string(text), s[12:42]) || !strings.Contains(string(text), `"pepper":"`+r.Pepper+`"`) {
		t.Errorf("the record is %s, %v", text, err)
	}
	var read token.Record
	if err := json.Unmarshal(text, &read); err != nil || !read.Check(s, now, peppers(t, 2)) {
		t.Errorf("the record does not verify after JSON: %v", err)
	}
}

func TestPeppersAreMadeOfWholeKeysAndApartFromThem(t *testing.T) {
	for _, size := range []int{0, 1, 31, 33} {
		if _, err := token.NewPeppers(make([]byte, size)); err == nil {
			t.Errorf("a key of %d bytes is accepted", size)
		}
	}
	s, keyID := mint(t)
	r := record(s, keyID)
	before := r
	for _, p := range []*token.Peppers{nil, {}, peppers(t)} {
		if err := p.Seal(&r, s); err == nil || r.Hash != before.Hash {
			t.Error("a token is hashed without a key")
		}
	}
	if a, b := peppers(t, 1), peppers(t, 2); a.Seal(&r, s) != nil || b.Seal(&before, s) != nil || r.Hash == before.Hash || r.Pepper == before.Pepper {
		t.Error("two keys give one pepper")
	}
}
