package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"mcprelay/shared/auth"
	"mcprelay/shared/call"
	"mcprelay/shared/store/local"
	"mcprelay/shared/token"
)

// purse is a config file and a data folder, for the tokens of one tenant.
type purse struct{ dir string }

func newPurse(t *testing.T) purse {
	t.Helper()
	p := purse{t.TempDir()}
	if err := os.Mkdir(filepath.Join(p.dir, "data"), 0o700); err != nil {
		t.Fatal(err)
	}
	p.tenant(t, "acme")
	return p
}

func (p purse) tenant(t *testing.T, id string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(p.dir, "relay.json"), fmt.Appendf(nil, `{"tenant":%q}`, id), 0o600); err != nil {
		t.Fatal(err)
	}
}

func (p purse) run(args ...string) (string, error) {
	command := root()
	var out bytes.Buffer
	command.SetOut(&out)
	command.SetErr(&out)
	command.SetArgs(append([]string{"tokens"}, append(args, "--config", filepath.Join(p.dir, "relay.json"), "--data", filepath.Join(p.dir, "data"))...))
	err := command.Execute()
	return out.String(), err
}

// create makes a token and gives it with its key id.
func (p purse) create(t *testing.T, args ...string) (minted, keyID string) {
	t.Helper()
	out, err := p.run(append([]string{"create"}, args...)...)
	if err != nil {
		t.Fatal(err)
	}
	minted = regexp.MustCompile(`(?m)^mrt_[0-9A-Za-z]{44}$`).FindString(out)
	if keyID, err = token.Parse(minted); err != nil || !strings.Contains(out, "key id "+keyID) {
		t.Fatalf("printed %s", out)
	}
	return minted, keyID
}

// lines is what list says, by key id.
func (p purse) lines(t *testing.T) map[string]tokenLine {
	t.Helper()
	out, err := p.run("list", "--json")
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]tokenLine{}
	for text := range strings.Lines(out) {
		var l tokenLine
		if err := json.Unmarshal([]byte(text), &l); err != nil {
			t.Fatal(err)
		}
		all[l.KeyID] = l
	}
	return all
}

// caller is whom a relay over the folder takes a token for, or the reason of
// its refusal.
func (p purse) caller(t *testing.T, minted string) string {
	t.Helper()
	store, err := local.Open(filepath.Join(p.dir, "data"))
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	key, err := local.SealKey(filepath.Join(p.dir, "data"))
	if err != nil {
		t.Fatal(err)
	}
	peppers, err := token.NewPeppers(key)
	if err != nil {
		t.Fatal(err)
	}
	a := auth.New(auth.Options{Tokens: store, Peppers: peppers})
	who, refusal := a.Authenticate(t.Context(), map[string][]string{"Authorization": {"Bearer " + minted}})
	if refusal != nil {
		return string(refusal.Reason)
	}
	return fmt.Sprint(who.Tenant, " ", who.Subject, " ", who.Kind, " ", who.Scopes)
}

func TestATokenIsMadeUsedListedAndRevoked(t *testing.T) {
	p := newPurse(t)
	minted, keyID := p.create(t, "ci")
	if got, want := p.caller(t, minted), "acme ci service_token [call]"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	l := p.lines(t)[keyID]
	if l.Subject != "ci" || l.Status != "live" || l.Expires.Sub(l.Created) != tokenLife {
		t.Errorf("listed as %+v", l)
	}
	for range 2 { // a second revocation changes nothing
		if out, err := p.run("revoke", keyID); err != nil || !strings.Contains(out, "revoked") {
			t.Errorf("got %s, %v", out, err)
		}
	}
	if got := p.caller(t, minted); got != string(call.Unauthenticated) {
		t.Errorf("after the revocation: got %s", got)
	}
	if l := p.lines(t)[keyID]; l.Status != "revoked" || l.Revoked.IsZero() {
		t.Errorf("listed as %+v", l)
	}
	out, err := p.run("list")
	if err != nil || !strings.Contains(out, keyID) || strings.Contains(out, minted[12:42]) {
		t.Errorf("the list is %s, %v", out, err)
	}
}

// Only the hash is kept: the token is in no file of the folder.
func TestATokenIsKeptNowhere(t *testing.T) {
	p := newPurse(t)
	minted, _ := p.create(t, "ci")
	plain := token.Hash(minted)
	files := 0
	err := filepath.WalkDir(p.dir, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := os.ReadFile(path)
		files++
		if bytes.Contains(text, []byte(minted[12:42])) || bytes.Contains(text, plain[:]) || bytes.Contains(text, fmt.Appendf(nil, "%x", plain)) {
			t.Errorf("%s holds the token or its plain hash", path)
		}
		return err
	})
	if err != nil || files < 3 {
		t.Errorf("%d files, %v", files, err)
	}
}

func TestAnAgentHasOneTokenUnlessAnotherIsAskedFor(t *testing.T) {
	p := newPurse(t)
	first, keyID := p.create(t, "ci")
	if _, err := p.run("create", "ci"); err == nil || !strings.Contains(err.Error(), keyID) {
		t.Errorf("got %v", err)
	}
	p.create(t, "cd")
	p.create(t, "ci", "--kind", "user") // somebody else
	second, _ := p.create(t, "ci", "--another")
	if first == second || p.caller(t, first) != p.caller(t, second) {
		t.Error("the two tokens are not the same agent's")
	}
	if _, err := p.run("revoke", keyID); err != nil {
		t.Fatal(err)
	}
	if p.caller(t, second) != "acme ci service_token [call]" {
		t.Error("the other token is revoked as well")
	}
}

func TestATokenHasWhatItIsMadeWith(t *testing.T) {
	p := newPurse(t)
	minted, keyID := p.create(t, "Zoë #1", "--kind", "other", "--scope", "call,audit:read", "--scope", "admin:read", "--expires", "1h")
	if got, want := p.caller(t, minted), "acme Zoë #1 other [call audit:read admin:read]"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if l := p.lines(t)[keyID]; l.Expires.Sub(l.Created) != time.Hour {
		t.Errorf("listed as %+v", l)
	}
	_, keyID = p.create(t, "forever", "--expires", "never")
	if l := p.lines(t)[keyID]; !l.Expires.IsZero() || l.Status != "live" {
		t.Errorf("listed as %+v", l)
	}
}

func TestTokensThatAreNotMade(t *testing.T) {
	p := newPurse(t)
	for name, args := range map[string][]string{
		"no subject": {}, "two subjects": {"a", "b"}, "an empty subject": {""}, "a control character": {"a\nb"},
		"an endless subject": {strings.Repeat("a", 257)}, "another kind": {"ci", "--kind", "robot"}, "of an issuer": {"ci", "--kind", "trusted_issuer"},
		"another scope": {"ci", "--scope", "root"}, "no scope": {"ci", "--scope", ""}, "no time": {"ci", "--expires", "0s"},
		"a time gone by": {"ci", "--expires", "-1h"}, "no duration": {"ci", "--expires", "tomorrow"},
	} {
		_, err := p.run(append([]string{"create"}, args...)...)
		if misuse := new(usageError); !errors.As(err, &misuse) {
			t.Errorf("%s: got %v, want a usage error", name, err)
		}
	}
	if len(p.lines(t)) != 0 {
		t.Error("a token was made")
	}
}

func TestATenantHasItsOwnTokensOnly(t *testing.T) {
	p := newPurse(t)
	minted, keyID := p.create(t, "ci")
	p.tenant(t, "umbra")
	_, err := p.run("revoke", keyID)
	_, unknown := p.run("revoke", "00000000")
	if err == nil || unknown == nil || err.Error() != unknown.Error() {
		t.Errorf("another tenant's: %v, unknown: %v", err, unknown)
	}
	if len(p.lines(t)) != 0 {
		t.Error("another tenant's token is listed")
	}
	if got := p.caller(t, minted); got != "acme ci service_token [call]" {
		t.Errorf("got %s", got)
	}
}
