package config_test

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"mcprelay/shared/call"
	"mcprelay/shared/config"
	"mcprelay/shared/endpoint"
	"mcprelay/shared/registry"

	"github.com/google/go-cmp/cmp"
)

func issuers(i ...any) object { return file([]any{}, "issuers", append([]any{}, i...)) }

func TestWhoseTokensCallersMayShow(t *testing.T) {
	c, err := config.Load("testdata/relay.json", config.Options{})
	if err != nil {
		t.Fatal(err)
	}
	want := []registry.Issuer{
		{
			Issuer: "https://ci.example.com/", Audience: "relay", Kind: call.KindTrustedIssuer, SubjectClaim: "workflow",
			Keys:     json.RawMessage(`{"keys":[{"kty":"OKP","crv":"Ed25519","x":"11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo"}]}`),
			Subjects: map[string]string{"build-42": "ci"}, Algorithms: []string{"EdDSA"},
			Scopes: []call.Scope{call.ScopeCall, call.ScopeAuditRead}, MaxLifetime: 15 * time.Minute,
		},
		{
			Issuer: "https://login.example.com", JWKSURI: mustEndpoint(t, "https://login.example.com/keys", endpoint.Options{}),
			Audience: "https://relay.example.com/v1/mcp", Kind: call.KindUser, SubjectClaim: "sub",
			Algorithms: []string{"RS256", "ES256"}, Scopes: []call.Scope{call.ScopeCall}, MaxLifetime: 24 * time.Hour,
		},
	}
	if diff := cmp.Diff(want, c.Tenant.Issuers, equalURLs); diff != "" {
		t.Errorf("issuers (-want +got):\n%s", diff)
	}
}

// A map with nobody in it lets nobody in; only no map lets everybody in.
func TestAnEmptyMapOfSubjectsIsNobody(t *testing.T) {
	c := read(t, issuers(issuer("subjects", object{})), config.Options{})
	if got := c.Tenant.Issuers[0].Subjects; got == nil || len(got) != 0 {
		t.Errorf("got %#v, want an empty map", got)
	}
	if want := []string{"relay.json: issuers[0].subjects: it is empty: every caller of this issuer is refused"}; !cmp.Equal(want, c.Warnings) {
		t.Errorf("got warnings %q, want %q", c.Warnings, want)
	}
	if got := read(t, issuers(issuer()), config.Options{}).Tenant.Issuers[0].Subjects; got != nil {
		t.Errorf("got %#v, want nil", got)
	}
}

func TestSpellingsOfAnIssuer(t *testing.T) {
	good := []string{"https://login.example.com", "https://login.example.com/", "https://login.example.com/tenant/v2.0", "https://login.example.com:8443", "https://accounts.example.com/~x"}
	for _, s := range good {
		if got := problems(t, issuers(issuer("issuer", s)), config.Options{}); got != nil {
			t.Errorf("%q: %q", s, got)
		}
	}
	bad := []string{
		"", "login.example.com", "http://login.example.com", "HTTPS://login.example.com", "https://", "https:///x", "https:login.example.com", "https://u@login.example.com",
		"https://login.example.com?", "https://login.example.com/?a=b", "https://login.example.com#", "https://login.example.com/#x", " https://login.example.com",
		"https://login.example.com/ ", "https://lögin.example.com", "https://login.example.com/\n", "https://" + strings.Repeat("a", 512), "http://127.0.0.1:9",
	}
	for _, s := range bad {
		if got := problems(t, issuers(issuer("issuer", s)), config.Options{}); len(got) != 1 || !strings.HasPrefix(got[0], "issuers[0].issuer: ") {
			t.Errorf("%q: got %q, want one problem", s, got)
		}
	}
	local := issuers(issuer("issuer", "http://127.0.0.1:9", "jwks_uri", "http://127.0.0.1:9/keys"))
	if got := problems(t, local, config.Options{Loopback: true}); got != nil {
		t.Errorf("on loopback: %q", got)
	}
	if got := problems(t, issuers(issuer("issuer", "http://login.example.com")), config.Options{Loopback: true}); len(got) != 1 {
		t.Errorf("plain HTTP elsewhere: %q", got)
	}
}

func TestProblemsOfIssuers(t *testing.T) {
	const at = "issuers[0]"
	many := object{}
	for i := range 4097 {
		many[fmt.Sprint("s", i)] = "x"
	}
	cases := []struct {
		name string
		file any
		want []string
	}{
		{"issuers of another kind", file([]any{}, "issuers", object{}), []string{"issuers: it must be a list"}},
		{"an issuer of another kind", issuers("https://login.example.com"), []string{at + ": it must be an object"}},
		{"an empty issuer", issuers(object{}), []string{at + ".issuer: it is missing", at + ".audience: it is missing", at + ".kind: it is missing", at + ".jwks_uri: it is missing: jwks_uri or keys is needed"}},
		{"one issuer twice", issuers(issuer(), issuer("audience", "other")), []string{"issuers[1].issuer: another entry has this issuer"}},
		{"an unknown kind", issuers(issuer("kind", "robot")), []string{at + ".kind: it is not one of user, service_token, trusted_issuer, other"}},
		{"anybody as a service token", issuers(issuer("kind", "service_token")), []string{at + ".kind: its callers would pass for the relay's own tokens: name them in subjects, or choose another kind"}},
		{"an audience with a blank", issuers(issuer("audience", "a b")), []string{at + ".audience: it holds a blank, or something else than printable ASCII"}},
		{"several audiences", issuers(issuer("audience", []any{"a"})), []string{at + ".audience: it must be a string"}},
		{"no claim", issuers(issuer("subject_claim", "")), []string{at + ".subject_claim: it is missing or empty"}},
		{"no signature", issuers(issuer("algorithms", []any{"none"})), []string{at + ".algorithms[0]: it is not one of RS256, RS384, RS512, PS256, PS384, PS512, ES256, ES384, ES512, EdDSA"}},
		{"a shared secret", issuers(issuer("algorithms", []any{"RS256", "HS256"})), []string{at + ".algorithms[1]: it is not one of RS256, RS384, RS512, PS256, PS384, PS512, ES256, ES384, ES512, EdDSA"}},
		{"no algorithms", issuers(issuer("algorithms", []any{})), []string{at + ".algorithms: it is empty; leave it out instead"}},
		{"an unknown scope", issuers(issuer("scopes", []any{"admin"})), []string{at + ".scopes[0]: it is not one of call, audit:read, admin:read, admin:write"}},
		{"no scopes", issuers(issuer("scopes", []any{})), []string{at + ".scopes: it is empty; leave it out instead"}},
		{"too long a life", issuers(issuer("max_lifetime_s", 86401)), []string{at + ".max_lifetime_s: it is over the hard cap of 86400"}},
		{"no life", issuers(issuer("max_lifetime_s", 0)), []string{at + ".max_lifetime_s: it is under the least of 1"}},
		{"subjects of another kind", issuers(issuer("subjects", []any{"a"})), []string{at + ".subjects: it must be an object"}},
		{"a subject of nobody", issuers(issuer("subjects", object{"a": "", "": "b"})), []string{at + ".subjects: the subject of a token: it is missing or empty", at + ".subjects.a: it is missing or empty"}},
		{"many subjects", issuers(issuer("subjects", many)), []string{at + ".subjects: it has more than 4096 subjects"}},
		{"keys in two places", issuers(issuer("keys", keySet(ed()))), []string{at + ".keys: it cannot stand beside jwks_uri: keys that are given here are never fetched"}},
		{"keys over plain HTTP", issuers(issuer("jwks_uri", "http://login.example.com/keys")), []string{at + ".jwks_uri: scheme: an endpoint starts with https:// in lower case"}},
		{"keys on this machine", issuers(issuer("jwks_uri", "http://127.0.0.1:9/keys")), []string{at + ".jwks_uri: scheme: an endpoint starts with https:// in lower case"}},
		{"an unknown field", issuers(issuer("discovery", true)), []string{at + ".discovery: it is not a known field"}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			if diff := cmp.Diff(c.want, named(problems(t, c.file, config.Options{}))); diff != "" {
				t.Errorf("problems (-want +got):\n%s", diff)
			}
		})
	}
}

// named leaves out the number of a name that is not shown.
func named(lines []string) []string {
	for i := range lines {
		lines[i] = strings.Replace(lines[i], "[name 0]", "", 1)
	}
	return lines
}

func TestIssuersAreBounded(t *testing.T) {
	var all []any
	for i := range 17 {
		all = append(all, issuer("issuer", fmt.Sprintf("https://i%d.example.com", i)))
	}
	if diff := cmp.Diff([]string{"issuers[16]: a tenant has at most 16 issuers"}, problems(t, issuers(all...), config.Options{})); diff != "" {
		t.Errorf("problems (-want +got):\n%s", diff)
	}
	if got := problems(t, issuers(all[:16]...), config.Options{}); got != nil {
		t.Errorf("the most issuers: %q", got)
	}
}

// modulus is an RSA modulus of so many bits.
func modulus(bits int) string {
	b := make([]byte, (bits+7)/8)
	b[0], b[len(b)-1] = 1<<((bits+7)%8), 1
	return base64.RawURLEncoding.EncodeToString(b)
}

func rsa(changes ...any) object {
	k := object{"kty": "RSA", "n": modulus(2048), "e": "AQAB"}
	set(k, changes)
	return k
}

func ec(changes ...any) object {
	k := object{"kty": "EC", "crv": "P-256", "x": "AA", "y": "AA"}
	set(k, changes)
	return k
}

func TestKeysInTheFileArePublicKeysForSignatures(t *testing.T) {
	pinned := func(set any) object { return issuers(issuer("jwks_uri", nil, "keys", set)) }
	for name, set := range map[string]any{
		"rsa": keySet(rsa()), "the largest": keySet(rsa("n", modulus(8192))), "ec": keySet(ec("use", "sig", "alg", "ES256")), "okp": keySet(ed("kid", "one")),
		"several": keySet(rsa("kid", "a"), ec("kid", "b"), ed("kid", "c")), "other members": object{"keys": []any{ed("x5t", "AA")}, "more": 1},
	} {
		if got := problems(t, pinned(set), config.Options{}); got != nil {
			t.Errorf("%s: %q", name, got)
		}
	}
	const secret, at = "this is part of a secret key: only public keys belong here", "issuers[0].keys"
	for name, c := range map[string]struct {
		set  any
		want []string
	}{
		"a list":             {[]any{ed()}, []string{at + ": it must be an object"}},
		"one key":            {ed(), []string{at + ".keys: it is missing"}},
		"no keys":            {keySet(), []string{at + ".keys: it must have 1 to 16 keys"}},
		"keys of no kind":    {keySet("x"), []string{at + ".keys[0]: it must be an object"}},
		"a secret key":       {keySet(ed("d", "AA")), []string{at + ".keys[0].d: " + secret}},
		"an RSA secret":      {keySet(rsa("p", "AA", "qi", "AA")), []string{at + ".keys[0].p: " + secret, at + ".keys[0].qi: " + secret}},
		"a shared key":       {keySet(object{"kty": "oct", "k": "AA"}), []string{at + ".keys[0].k: " + secret, at + ".keys[0].kty: it is not one of RSA, EC, OKP"}},
		"a short modulus":    {keySet(rsa("n", modulus(2047))), []string{at + ".keys[0].n: it has 2047 bits, not 2048 to 8192"}},
		"a long modulus":     {keySet(rsa("n", modulus(8193))), []string{at + ".keys[0].n: it has 8193 bits, not 2048 to 8192"}},
		"padding":            {keySet(ed("x", "AA==")), []string{at + ".keys[0].x: it is not unpadded base64url"}},
		"left-over bits":     {keySet(ed("x", "AB")), []string{at + ".keys[0].x: it is not unpadded base64url"}},
		"no modulus":         {keySet(rsa("n", nil)), []string{at + ".keys[0].n: it is missing"}},
		"no point":           {keySet(ec("y", nil)), []string{at + ".keys[0].y: it is missing"}},
		"another curve":      {keySet(ec("crv", "secp256k1")), []string{at + ".keys[0].crv: it is not P-256, P-384, P-521"}},
		"an agreement":       {keySet(ed("crv", "X25519")), []string{at + ".keys[0].crv: it is not Ed25519"}},
		"for encryption":     {keySet(rsa("use", "enc")), []string{at + ".keys[0].use: it is not sig"}},
		"several, no kid":    {keySet(ed("kid", "a"), rsa()), []string{at + ".keys[1].kid: it is missing"}},
		"one kid twice":      {keySet(ed("kid", "a"), rsa("kid", "a")), []string{at + ".keys[1].kid: another key has this kid"}},
		"a kid with a blank": {keySet(ed("kid", "a b")), []string{at + ".keys[0].kid: it holds a blank, or something else than printable ASCII"}},
		"too large":          {object{"keys": []any{ed()}, "x": strings.Repeat("x", 64<<10)}, []string{at + ": it is larger than 65536 bytes"}},
	} {
		if diff := cmp.Diff(c.want, problems(t, pinned(c.set), config.Options{})); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}
