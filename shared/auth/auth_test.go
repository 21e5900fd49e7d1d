package auth_test

import (
	"crypto/rand"
	"net/http"
	"regexp"
	"strings"
	"sync"
	"testing"

	"mcprelay/shared/auth"
	"mcprelay/shared/call"
	"mcprelay/shared/token"

	"github.com/google/go-cmp/cmp"
)

func TestPrincipalOfAServiceToken(t *testing.T) {
	w := newWorld(t)
	want := call.Principal{Tenant: "acme", Subject: "ci", Kind: call.KindServiceToken, KeyID: w.keyID, Scopes: []call.Scope{call.ScopeCall, call.ScopeAuditRead}}
	for name, h := range map[string]http.Header{"bearer": bearer(w.text), "pair by key id": pair(w.keyID, w.text), "pair by subject": pair("ci", w.text)} {
		got, refusal := w.auth.Authenticate(t.Context(), h)
		if diff := cmp.Diff(want, got); diff != "" || refusal != nil {
			t.Errorf("%s: %v (-want +got):\n%s", name, refusal, diff)
		}
	}
}

func TestPrincipalOfAConfiguredCaller(t *testing.T) {
	w := newWorld(t)
	want := call.Principal{Tenant: "acme", Subject: "dev", Kind: call.KindUser, Scopes: []call.Scope{call.ScopeCall}}
	for name, h := range map[string]http.Header{"bearer": bearer(configured), "pair": pair("dev", configured)} {
		got, refusal := w.auth.Authenticate(t.Context(), h)
		if diff := cmp.Diff(want, got); diff != "" || refusal != nil {
			t.Errorf("%s: %v (-want +got):\n%s", name, refusal, diff)
		}
	}
	if len(w.store.asked) != 0 {
		t.Errorf("the store was asked for %v", w.store.asked)
	}
}

func TestScopesOfAPrincipalAreItsOwn(t *testing.T) {
	w := newWorld(t)
	for _, h := range []http.Header{bearer(w.text), bearer(configured)} {
		first, _ := w.auth.Authenticate(t.Context(), h)
		first.Scopes[0] = call.ScopeAdminWrite
		if again, _ := w.auth.Authenticate(t.Context(), h); again.May(call.ScopeAdminWrite) {
			t.Error("changing a principal changed the next one")
		}
	}
}

func TestCredentialsThatAreRefused(t *testing.T) {
	w := newWorld(t)
	stranger, _, err := token.Mint(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	why, keyIDs := reasons(t, "refused.txt"), regexp.MustCompile(`key id [0-9A-Za-z]{8}`)
	cases := map[string]http.Header{
		"as long as a JWT":            bearer(strings.Repeat("a", auth.MaxJWT)),
		"longer than a JWT":           bearer(strings.Repeat("a", auth.MaxJWT+1)),
		"secret as long as it can be": pair("ci", strings.Repeat("a", auth.MaxCredential)),
		"secret too long":             pair("ci", strings.Repeat("a", auth.MaxCredential+1)),
		"id too long":                 pair(strings.Repeat("a", auth.MaxCredential+1), w.text),
		"nothing":                     {},
		"empty":                       {"Authorization": {""}},
		"no values":                   {"Authorization": nil},
		"scheme alone":                {"Authorization": {"Bearer"}},
		"scheme and blank":            {"Authorization": {"Bearer "}},
		"token alone":                 {"Authorization": {w.text}},
		"basic":                       {"Authorization": {"Basic " + w.text}},
		"two blanks":                  {"Authorization": {"Bearer  " + w.text}},
		"trailing blank":              {"Authorization": {"Bearer " + w.text + " "}},
		"tab":                         {"Authorization": {"Bearer\t" + w.text}},
		"two tokens":                  {"Authorization": {"Bearer " + w.text + " " + w.text}},
		"twice":                       {"Authorization": {"Bearer " + w.text, "Bearer " + w.text}},
		"twice, one empty":            {"Authorization": {"Bearer " + w.text, ""}},
		"joined by a comma":           {"Authorization": {"Bearer " + w.text + ",Bearer " + w.text}},
		"trailing comma":              {"Authorization": {"Bearer " + w.text + ","}},
		"not ASCII":                   bearer(w.text + "é"),
		"NUL":                         bearer(w.text + "\x00"),
		"another token":               bearer(stranger),
		"wrong checksum":              bearer(w.text[:len(w.text)-1] + "!"),
		"short":                       bearer(w.text[:len(w.text)-1]),
		"upper case":                  bearer(strings.ToUpper(w.text)),
		"configured, cut":             bearer(configured[:len(configured)-1]),
		"configured, longer":          bearer(configured + "x"),
		"too long":                    bearer(strings.Repeat("a", auth.MaxCredential+1)),
		"id alone":                    {auth.HeaderClientID: {w.keyID}},
		"secret alone":                {auth.HeaderClientSecret: {w.text}},
		"id empty":                    pair("", w.text),
		"secret empty":                pair(w.keyID, ""),
		"id of another":               pair("dev", w.text),
		"tenant as id":                pair("acme", w.text),
		"id twice":                    {auth.HeaderClientID: {"ci", "ci"}, auth.HeaderClientSecret: {w.text}},
		"secret twice":                {auth.HeaderClientID: {"ci"}, auth.HeaderClientSecret: {w.text, w.text}},
		"secret joined":               pair("ci", w.text+","+w.text),
		"secret with a scheme":        pair("ci", "Bearer "+w.text),
		"pair of a stranger":          pair("ci", stranger),
		"both, Authorization refused": {"Authorization": {"Bearer x"}, auth.HeaderClientID: {"ci"}, auth.HeaderClientSecret: {w.text}},
		"both, Authorization empty":   {"Authorization": {""}, auth.HeaderClientID: {"ci"}, auth.HeaderClientSecret: {w.text}},
		"both malformed":              {"Authorization": {"Digest x"}, auth.HeaderClientID: {"ci"}},
	}
	for name, h := range cases {
		t.Run(name, func(t *testing.T) {
			_, refusal := w.auth.Authenticate(t.Context(), h)
			if w.as(t, h, "!unauthenticated"); refusal != nil && keyIDs.ReplaceAllString(refusal.Detail, "key id *") != why[name] {
				t.Errorf("got %v, want %s", refusal, why[name])
			}
		})
	}
	if len(why) != len(cases) {
		t.Errorf("testdata/refused.txt has %d reasons for %d rows", len(why), len(cases))
	}
}

func TestAuthorizationWins(t *testing.T) {
	w := newWorld(t)
	h := bearer(configured)
	h.Set(auth.HeaderClientID, "ci")
	h.Set(auth.HeaderClientSecret, w.text)
	w.as(t, h, "dev")
	h.Set(auth.HeaderClientSecret, "nonsense")
	w.as(t, h, "dev")
}

func TestTheSchemeHasNoCase(t *testing.T) {
	w := newWorld(t)
	for _, scheme := range []string{"bearer", "BEARER", "bEaReR"} {
		w.as(t, http.Header{"Authorization": {scheme + " " + w.text}}, "ci")
	}
}

func TestRefusalsHoldNothingOfTheCredential(t *testing.T) {
	w := newWorld(t)
	w.store.change(w.keyID, func(r *token.Record) { r.RevokedAt = w.clock.at })
	for _, h := range []http.Header{bearer(w.text), pair("dev", w.text), bearer("some-secret-of-a-stranger"), {"Authorization": {"Basic some-secret-of-a-stranger"}}, pair("ci", "some-secret-of-a-stranger")} {
		_, refusal := w.auth.Authenticate(t.Context(), h)
		if refusal == nil {
			t.Fatalf("%v is accepted", h)
		}
		if text := refusal.Error(); strings.Contains(text, w.text[12:]) || strings.Contains(text, "stranger") {
			t.Errorf("the refusal %q holds the credential", text)
		}
	}
}

func TestMalformedTokensNeverReachTheStore(t *testing.T) {
	w := newWorld(t)
	last := w.text[len(w.text)-1]
	other := byte('0')
	if last == other {
		other = '1'
	}
	for _, s := range []string{w.text[:len(w.text)-1] + string(other), w.text + "0", "mrt_", "mrt_" + strings.Repeat("0", 44), "mrx" + w.text[3:], "some-other-token-1234"} {
		w.as(t, bearer(s), "!unauthenticated")
	}
	if len(w.store.asked) != 0 {
		t.Errorf("the store was asked for %v", w.store.asked)
	}
}

func TestAWrongSecretOfAKnownKeyIDIsRefused(t *testing.T) {
	w := newWorld(t)
	w.store.change(w.keyID, func(r *token.Record) { r.Hash = token.Hash("another") })
	w.as(t, bearer(w.text), "!unauthenticated")
}

func TestARecordOfAnotherKeyIDIsRefused(t *testing.T) {
	w := newWorld(t)
	w.store.change(w.keyID, func(r *token.Record) { r.KeyID = "AAAAAAAA" })
	w.as(t, bearer(w.text), "!unauthenticated")
}

func TestRecordsThatNameNobodyAreRefused(t *testing.T) {
	changes := map[string]func(*token.Record){
		"no tenant":  func(r *token.Record) { r.Tenant = "" },
		"no subject": func(r *token.Record) { r.Subject = "" },
		"no kind":    func(r *token.Record) { r.Kind = "" },
		"odd kind":   func(r *token.Record) { r.Kind = "root" },
	}
	for name, change := range changes {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.store.change(w.keyID, change)
			if _, refusal := w.auth.Authenticate(t.Context(), bearer(w.text)); refusal == nil || refusal.Reason != call.Unauthenticated || refusal.Detail != nobody {
				t.Errorf("got %v", refusal)
			}
		})
	}
}

func TestWithoutAStoreOnlyCallersAreKnown(t *testing.T) {
	minted, caller, err := auth.Local("acme", rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	a := auth.New(auth.Options{Callers: []auth.Caller{caller}})
	p, refusal := a.Authenticate(t.Context(), bearer(minted))
	if refusal != nil {
		t.Fatal(refusal)
	}
	keyID, err := token.Parse(minted)
	if err != nil {
		t.Fatal(err)
	}
	want := call.Principal{Tenant: "acme", Subject: "local", Kind: call.KindUser, KeyID: keyID, Scopes: []call.Scope{call.ScopeCall, call.ScopeAuditRead, call.ScopeAdminRead, call.ScopeAdminWrite}}
	if diff := cmp.Diff(want, p); diff != "" {
		t.Errorf("principal (-want +got):\n%s", diff)
	}
	other, _, err := token.Mint(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	if _, refusal := a.Authenticate(t.Context(), bearer(other)); refusal == nil || refusal.Reason != call.Unauthenticated {
		t.Errorf("got %v, want unauthenticated", refusal)
	}
}

func TestTokensOfConfiguredCallers(t *testing.T) {
	cases := []struct {
		name, token string
		ok          bool
	}{
		{"sixteen", "abcdefgh12345678", true},
		{"any visible ASCII", `!"#$%&'()*+-./:;<=>?@[\]^_{|}~`, true},
		{"the longest", strings.Repeat("a", auth.MaxCredential), true},
		{"fifteen", "abcdefgh1234567", false},
		{"none", "", false},
		{"too long", strings.Repeat("a", auth.MaxCredential+1), false},
		{"blank", "abcdefgh 12345678", false},
		{"line feed", "abcdefgh12345678\n", false},
		{"comma", "abcdefgh,12345678", false},
		{"not ASCII", "abcdefgh1234567é", false},
		{"invalid UTF-8", "abcdefgh12345678\xff", false},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			caller, err := auth.NewCaller(c.token, call.Principal{Tenant: "acme", Subject: "dev", Kind: call.KindUser})
			if (err == nil) != c.ok {
				t.Fatalf("got %v, want ok %v", err, c.ok)
			}
			if err != nil {
				if c.token != "" && strings.Contains(err.Error(), c.token) {
					t.Errorf("the error %q holds the token", err)
				}
				return
			}
			a := auth.New(auth.Options{Callers: []auth.Caller{caller}})
			if p, refusal := a.Authenticate(t.Context(), bearer(c.token)); refusal != nil || p.Subject != "dev" {
				t.Errorf("got %v, %v", p, refusal)
			}
		})
	}
}

// A caller whose token no header can carry without doubt stays outside, even
// if the configuration let it in.
func TestTokensOfDoubtAreRefused(t *testing.T) {
	p := call.Principal{Tenant: "acme", Subject: "dev", Kind: call.KindUser}
	for _, s := range []string{"abcdefgh,12345678", "abcdefgh 12345678", "abcdefgh\t12345678", "abcdefgh12345678\xe9"} {
		a := auth.New(auth.Options{Callers: []auth.Caller{{Hash: token.Hash(s), Principal: p}}})
		if got, refusal := a.Authenticate(t.Context(), bearer(s)); refusal == nil {
			t.Errorf("%q is accepted as %+v", s, got)
		}
	}
}

func TestManyRequestsAtOnce(t *testing.T) {
	w := newWorld(t)
	var all sync.WaitGroup
	for range 20 {
		all.Go(func() {
			for range 50 {
				w.as(t, bearer(w.text), "ci")
				w.as(t, bearer(configured), "dev")
			}
		})
	}
	all.Wait()
}
