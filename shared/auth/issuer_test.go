package auth_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"mcprelay/shared/auth"
	"mcprelay/shared/call"
)

func TestScopesAreThoseNamedWithinTheRegistered(t *testing.T) {
	every := []call.Scope{call.ScopeCall, call.ScopeAuditRead, call.ScopeAdminRead, call.ScopeAdminWrite}
	for name, c := range map[string]struct {
		registered  []call.Scope
		claim, text string
		want        []call.Scope
	}{
		"none named":            {every, "x", `1`, []call.Scope{call.ScopeCall}},
		"others named":          {every, "scope", `"openid admin"`, []call.Scope{call.ScopeCall}},
		"one named":             {every, "scope", `"openid audit:read"`, []call.Scope{call.ScopeAuditRead}},
		"all named":             {every, "scp", `["admin:write","call","audit:read","admin:read","call"]`, []call.Scope{call.ScopeAdminWrite, call.ScopeCall, call.ScopeAuditRead, call.ScopeAdminRead}},
		"scp as text":           {every, "scp", `"call admin:read"`, []call.Scope{call.ScopeCall, call.ScopeAdminRead}},
		"named, not registered": {nil, "scope", `"call admin:write"`, []call.Scope{call.ScopeCall}},
		"only what is not":      {nil, "scope", `"admin:write"`, nil},
		"call not registered":   {[]call.Scope{call.ScopeAuditRead}, "x", `1`, nil},
		"not a text":            {every, "scope", `{"call":true}`, []call.Scope{call.ScopeCall}},
	} {
		t.Run(name, func(t *testing.T) {
			court := newCourt(t, func(i *auth.Issuer) { i.Scopes = c.registered })
			f := genuine(court.clock.at)
			f.claims[c.claim] = c.text
			p, refusal := court.auth.Authenticate(t.Context(), bearer(f.text(t)))
			if refusal != nil {
				t.Fatal(refusal)
			}
			for _, s := range every {
				want := false
				for _, w := range c.want {
					want = want || w == s
				}
				if p.May(s) != want {
					t.Errorf("scope %s: got %v, want %v", s, p.May(s), want)
				}
			}
		})
	}
}

func TestSubjectsAreMappedOrRefused(t *testing.T) {
	for name, c := range map[string]struct {
		claim    string
		subjects map[string]string
		set      members
		want     string
	}{
		"no map":                    {"", nil, nil, "alice"},
		"mapped":                    {"", map[string]string{"alice": "ci"}, nil, "ci"},
		"not mapped":                {"", map[string]string{"bob": "ci"}, nil, "!unauthenticated"},
		"mapped by case":            {"", map[string]string{"Alice": "ci"}, nil, "!unauthenticated"},
		"a map of nobody":           {"", map[string]string{}, nil, "!unauthenticated"},
		"mapped to nothing":         {"", map[string]string{"alice": ""}, nil, "!unauthenticated"},
		"another claim":             {"email", nil, members{"email": `"alice@example.com"`}, "alice@example.com"},
		"another claim, missing":    {"email", nil, nil, "!unauthenticated"},
		"another claim, not a text": {"email", nil, members{"email": `["alice@example.com"]`}, "!unauthenticated"},
	} {
		t.Run(name, func(t *testing.T) {
			court := newCourt(t, func(i *auth.Issuer) { i.SubjectClaim, i.Subjects = c.claim, c.subjects })
			f := genuine(court.clock.at)
			for name, value := range c.set {
				f.claims[name] = value
			}
			if got := court.judge(t, f.text(t)); got != c.want {
				t.Errorf("got %s, want %s", got, c.want)
			}
			// Whoever the tenant named itself is the same by any credential.
			p, refusal := court.auth.Authenticate(t.Context(), bearer(f.text(t)))
			if p.TokenIssuer != "" != (refusal == nil) {
				t.Errorf("the token is that of issuer %q", p.TokenIssuer)
			}
			if named := p.Issuer != ""; named != (refusal == nil && c.subjects == nil) {
				t.Errorf("the caller is that of issuer %q", p.Issuer)
			}
		})
	}
}

func TestTheLifetimeIsTheRegisteredOne(t *testing.T) {
	c := newCourt(t, func(i *auth.Issuer) { i.MaxLifetime = time.Hour - time.Second })
	f := genuine(c.clock.at)
	if got := c.judge(t, f.text(t)); got != "!unauthenticated" {
		t.Errorf("got %s", got)
	}
}

func TestAlgorithmsAreRS256AndES256WhereNoneIsRegistered(t *testing.T) {
	for alg, c := range map[string]struct{ key, want string }{
		"RS256": {"rsa", "alice"}, "ES256": {"p256", "alice"}, "PS256": {"rsa", "!unauthenticated"}, "ES384": {"p384", "!unauthenticated"},
	} {
		court := newCourt(t, func(i *auth.Issuer) { i.Algorithms = nil })
		f := genuine(court.clock.at)
		f.by(alg, c.key)
		if got := court.judge(t, f.text(t)); got != c.want {
			t.Errorf("%s: got %s, want %s", alg, got, c.want)
		}
	}
}

// An algorithm that verifies with a secret does so with nobody's key, even
// where somebody managed to register it.
func TestASharedSecretIsNoKey(t *testing.T) {
	secret := []byte("0123456789abcdef0123456789abcdef")
	c := newCourt(t, func(i *auth.Issuer) {
		i.Algorithms = []string{"HS256", "none"}
		i.Keys = json.RawMessage(jwks(`{"kty":"oct","kid":"oct","k":"` + segment(string(secret)) + `"}`))
	})
	f := genuine(c.clock.at)
	f.header["alg"], f.header["kid"], f.secret = `"HS256"`, `"oct"`, secret
	if got := c.judge(t, f.text(t)); got != "!unauthenticated" {
		t.Errorf("got %s", got)
	}
}

func TestKeySetsAreReadWithCare(t *testing.T) {
	renamed := func(id, as string) string { return strings.Replace(jwk(id), `"kid":"`+id+`"`, `"kid":"`+as+`"`, 1) }
	with := func(id, member string) string { return strings.Replace(jwk(id), "{", "{"+member+",", 1) }
	noKid := func(f *forged) { delete(f.header, "kid") }
	as := func(*forged) {}
	for name, c := range map[string]struct {
		set    string
		change func(*forged)
		want   string
	}{
		"no kid, one key":             {jwks("rsa"), noKid, "alice"},
		"no kid, one that is used":    {jwks("rsa", "weak", `{"kty":"oct","k":"AAAA"}`, `{"kty":"new"}`), noKid, "alice"},
		"no kid, two keys":            {jwks("rsa", "p256"), noKid, "!unauthenticated"},
		"no kid in the set either":    {jwks(strings.Replace(jwk("rsa"), `"kid":"rsa",`, "", 1)), noKid, "alice"},
		"kid, none in the set":        {jwks(strings.Replace(jwk("rsa"), `"kid":"rsa",`, "", 1)), as, "!unauthenticated"},
		"two keys of one kid":         {jwks("rsa", renamed("other", "rsa")), as, "!unauthenticated"},
		"two keys, one to encrypt":    {jwks("rsa", strings.Replace(renamed("other", "rsa"), "{", `{"use":"enc",`, 1)), as, "alice"},
		"a key to encrypt":            {jwks(with("rsa", `"use":"enc"`)), as, "!unauthenticated"},
		"a key to sign":               {jwks(with("rsa", `"use":"sig"`)), as, "alice"},
		"a key of its algorithm":      {jwks(with("rsa", `"alg":"RS256"`)), as, "alice"},
		"a key of another algorithm":  {jwks(with("rsa", `"alg":"RS512"`)), as, "!unauthenticated"},
		"certificates beside the key": {jwks(with("rsa", `"x5c":["nonsense"],"x5u":"http://127.0.0.1/"`)), as, "alice"},
		"a private key":               {jwks(with("rsa", `"d":"AQAB"`)), as, "!unauthenticated"},
		"a weak key":                  {jwks(renamed("weak", "rsa")), func(f *forged) { f.key = keys()["weak"] }, "!unauthenticated"},
		"an even exponent":            {jwks(strings.Replace(jwk("rsa"), `"e":"AQAB"`, `"e":"Ag"`, 1)), as, "!unauthenticated"},
		"a point off the curve":       {jwks(`{"kty":"EC","kid":"rsa","crv":"P-256","x":"` + segment(strings.Repeat("a", 32)) + `","y":"` + segment(strings.Repeat("b", 32)) + `"}`), as, "!unauthenticated"},
		"no keys":                     {`{"keys":[]}`, as, "!unauthenticated"},
	} {
		t.Run(name, func(t *testing.T) {
			court := newCourt(t, func(i *auth.Issuer) { i.Keys = json.RawMessage(c.set) })
			f := genuine(court.clock.at)
			c.change(f)
			if got := court.judge(t, f.text(t)); got != c.want {
				_, refusal := court.auth.Authenticate(t.Context(), bearer(f.text(t)))
				t.Errorf("got %s (%v), want %s", got, refusal, c.want)
			}
		})
	}
}

// A registration that cannot be judged by is no reason to pass its tokens, nor
// to say that they are wrong.
func TestRegistrationsThatAreNotWhole(t *testing.T) {
	for name, change := range map[string]func(*auth.Issuer){
		"no audience":         func(i *auth.Issuer) { i.Audience = "" },
		"no tenant":           func(i *auth.Issuer) { i.Tenant = "" },
		"no keys":             func(i *auth.Issuer) { i.Keys = nil },
		"keys of two sources": func(i *auth.Issuer) { k := i.Keys; remote(i); i.Keys = k },
		"keys that are none":  func(i *auth.Issuer) { i.Keys = json.RawMessage(`{}`) },
		"too many keys":       func(i *auth.Issuer) { i.Keys = json.RawMessage(`{"keys":[` + strings.Repeat("{},", 64) + `{}]}`) },
		"keys too large": func(i *auth.Issuer) {
			i.Keys = json.RawMessage(`{"keys":[],"x":"` + strings.Repeat("a", auth.MaxKeys) + `"}`)
		},
	} {
		c := newCourt(t, change)
		if got := c.judge(t, genuine(c.clock.at).text(t)); got != "!auth_unavailable" {
			t.Errorf("%s: got %s", name, got)
		}
	}
	c := newCourt(t, func(i *auth.Issuer) { i.Kind = "" })
	if p, refusal := c.auth.Authenticate(t.Context(), bearer(genuine(c.clock.at).text(t))); refusal == nil || refusal.Detail != nobody || p.Known() {
		t.Errorf("no kind: got %v", refusal)
	}
}

// A token for one endpoint is for that alone, and only where the audience is
// the relay's own URL.
func TestATokenOfOneEndpointIsForItsPath(t *testing.T) {
	c := newCourt(t)
	f := genuine(c.clock.at)
	for below, want := range map[string]string{"": "", "/v1/mcp": "/v1/mcp", "/v1/servers/docs/mcp": "/v1/servers/docs/mcp"} {
		f.claims["aud"] = `"` + audience + below + `"`
		p, refusal := c.auth.Authenticate(t.Context(), bearer(f.text(t)))
		if refusal != nil || p.Path != want || !p.For(want) || p.For("/v1/servers/wiki/mcp") != (want == "") {
			t.Errorf("%q: got path %q (%v), want %q", below, p.Path, refusal, want)
		}
	}
	other := newCourt(t, func(i *auth.Issuer) { i.Audience = "https://api.example.com" })
	for below, want := range map[string]string{"": "alice", "/v1/mcp": "!unauthenticated", "/v1/servers/docs/mcp": "!unauthenticated"} {
		f.claims["aud"] = `"https://api.example.com` + below + `"`
		if got := other.judge(t, f.text(t)); got != want {
			t.Errorf("another audience, %q: got %s, want %s", below, got, want)
		}
	}
}

func TestTheAudienceTellsTenantsApart(t *testing.T) {
	c := newCourt(t)
	second := c.issuers[0]
	second.Tenant, second.Audience, second.Kind = "umbra", "https://umbra.example.com", call.KindTrustedIssuer
	c.issuers = append(c.issuers, second)
	f := genuine(c.clock.at)
	f.claims["aud"] = `"https://umbra.example.com"`
	want := call.Principal{Tenant: "umbra", Subject: "alice", Kind: call.KindTrustedIssuer, Scopes: []call.Scope{call.ScopeCall}, Issuer: c.issuers[1].Issuer, TokenIssuer: c.issuers[1].Issuer}
	got, refusal := c.auth.Authenticate(t.Context(), bearer(f.text(t)))
	if diff := cmp.Diff(want, got); diff != "" || refusal != nil {
		t.Errorf("%v (-want +got):\n%s", refusal, diff)
	}
	if got := c.judge(t, genuine(c.clock.at).text(t)); got != "alice" {
		t.Errorf("the first tenant: got %s", got)
	}
	c.clock.at = c.clock.at.Add(auth.CacheTTL)
	c.issuers[1].Audience = audience
	if got := c.judge(t, genuine(c.clock.at).text(t)); got != "!unauthenticated" {
		t.Errorf("two tenants of one audience: got %s", got)
	}
}

func TestARegistrationIsAskedForOnceInAWhile(t *testing.T) {
	c := newCourt(t)
	text := genuine(c.clock.at).text(t)
	for range 3 {
		c.judge(t, text)
	}
	if c.asked != 1 {
		t.Errorf("asked %d times, want once", c.asked)
	}
	c.issuers = nil
	c.clock.at = c.clock.at.Add(auth.CacheTTL - time.Nanosecond)
	if got := c.judge(t, text); got != "alice" {
		t.Errorf("within the time: got %s", got)
	}
	c.clock.at = c.clock.at.Add(time.Nanosecond)
	if got := c.judge(t, text); got != "!unauthenticated" {
		t.Errorf("an issuer that is not trusted any longer: got %s", got)
	}
	c.clock.at = c.clock.at.Add(auth.CacheTTL)
	c.broken = errors.New("throttled")
	if got := c.judge(t, text); got != "!auth_unavailable" {
		t.Errorf("a store that fails: got %s", got)
	}
}

// Nothing is fetched, and the store hardly asked, for tokens that anybody can
// write.
func TestAFloodOfInventedIssuersIsCutOff(t *testing.T) {
	c := newCourt(t, remote)
	f := genuine(c.clock.at)
	reasons := map[string]int{}
	for i := range 3 * auth.MaxUnknown {
		f.claims["iss"] = `"https://` + strings.Repeat("a", 1+i%50) + strings.Repeat("b", i/50) + `.example.com"`
		reasons[c.judge(t, f.text(t))]++
	}
	if c.asked != auth.MaxUnknown || c.fetched != 0 {
		t.Errorf("asked %d times and fetched %d, want %d and 0", c.asked, c.fetched, auth.MaxUnknown)
	}
	if reasons["!unauthenticated"] != auth.MaxUnknown || reasons["!auth_unavailable"] != 2*auth.MaxUnknown {
		t.Errorf("got %v", reasons)
	}
	c.clock.at = c.clock.at.Add(time.Second)
	if got := c.judge(t, genuine(c.clock.at).text(t)); got != "alice" {
		t.Errorf("a second later: got %s", got)
	}
}
