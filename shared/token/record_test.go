package token_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"mcprelay/shared/call"
	"mcprelay/shared/token"
)

var now = time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)

// record keeps a token the way a store does.
func record(s, keyID string) token.Record {
	return token.Record{
		KeyID: keyID, Hash: token.Hash(s), Tenant: "acme", Subject: "ci",
		Kind: call.KindServiceToken, Scopes: []call.Scope{call.ScopeCall}, Created: now,
	}
}

func TestRecordAcceptsItsTokenOnly(t *testing.T) {
	s, keyID := mint(t)
	other, otherID := mint(t)
	r := record(s, keyID)
	if !r.Check(s, now, nil) {
		t.Error("the token of the record is refused")
	}
	for name, text := range map[string]string{
		"another token": other, "nothing": "", "the key id": keyID, "without prefix": s[4:],
		"with newline": s + "\n", "cut": s[:47],
	} {
		if r.Check(text, now, nil) {
			t.Errorf("%s is accepted", name)
		}
	}
	if renamed := record(s, otherID); renamed.Check(s, now, nil) {
		t.Error("a record under another key id accepts the token")
	}
}

func TestZeroRecordAcceptsNothing(t *testing.T) {
	s, keyID := mint(t)
	for _, r := range []token.Record{{}, {KeyID: keyID}, {Hash: token.Hash(s)}} {
		if r.Check(s, now, nil) || r.Check("", now, nil) {
			t.Errorf("%+v accepts a token", r)
		}
	}
}

func TestExpiryCountsFromItsInstant(t *testing.T) {
	s, keyID := mint(t)
	r := record(s, keyID)
	r.Expires = now
	for _, c := range []struct {
		at   time.Time
		want bool
	}{{now.Add(-time.Nanosecond), true}, {now, false}, {now.Add(time.Hour), false}} {
		if got := r.Check(s, c.at, nil); got != c.want {
			t.Errorf("at %v: %v, want %v", c.at, got, c.want)
		}
	}
}

func TestRevocationCountsAtOnce(t *testing.T) {
	s, keyID := mint(t)
	for _, at := range []time.Time{now.Add(-time.Hour), now, now.Add(time.Hour)} {
		r := record(s, keyID)
		r.RevokedAt = at
		if r.Check(s, now, nil) {
			t.Errorf("a token revoked at %v is accepted at %v", at, now)
		}
	}
}

func TestRecordSurvivesJSON(t *testing.T) {
	s, keyID := mint(t)
	want := record(s, keyID)
	want.Expires = now.Add(time.Hour)
	text, err := json.Marshal(want)
	if err != nil {
		t.Fatal(err)
	}
	var got token.Record
	if err := json.Unmarshal(text, &got); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("record changed (-want +got):\n%s", diff)
	}
	if strings.Contains(string(text), s[12:42]) || strings.Contains(string(text), "revoked_at") {
		t.Errorf("the record holds the secret or an empty time: %s", text)
	}
}

func TestDigestIsHexInJSON(t *testing.T) {
	text, err := json.Marshal(token.Record{Hash: token.Hash("abc")})
	want := `"hash":"ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"`
	if err != nil || !strings.Contains(string(text), want) {
		t.Errorf("got %s, %v, want it to contain %s", text, err, want)
	}
	for _, bad := range []string{`{"hash":""}`, `{"hash":"ba78"}`, `{"hash":"` + strings.Repeat("g", 64) + `"}`} {
		if err := json.Unmarshal([]byte(bad), new(token.Record)); err == nil {
			t.Errorf("%s is read as a digest", bad)
		}
	}
}

func TestRecordStandsForItsPrincipal(t *testing.T) {
	s, keyID := mint(t)
	want := call.Principal{Tenant: "acme", Subject: "ci", Kind: call.KindServiceToken, Scopes: []call.Scope{call.ScopeCall}, KeyID: keyID}
	if diff := cmp.Diff(want, record(s, keyID).Principal()); diff != "" {
		t.Errorf("principal (-want +got):\n%s", diff)
	}
}
