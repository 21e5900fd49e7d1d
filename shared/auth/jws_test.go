package auth_test

import (
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"mcprelay/shared/auth"
	"mcprelay/shared/call"
)

func TestPrincipalOfAnIssuedToken(t *testing.T) {
	c := newCourt(t)
	want := call.Principal{Tenant: "acme", Subject: "alice", Kind: call.KindUser, Scopes: []call.Scope{call.ScopeCall}, Issuer: c.issuers[0].Issuer, TokenIssuer: c.issuers[0].Issuer}
	got, refusal := c.auth.Authenticate(t.Context(), bearer(genuine(c.clock.at).text(t)))
	if diff := cmp.Diff(want, got); diff != "" || refusal != nil {
		t.Errorf("%v (-want +got):\n%s", refusal, diff)
	}
}

func TestTokensThatAreAccepted(t *testing.T) {
	now := func(f *forged, name string, off time.Duration) {
		f.claims[name] = fmt.Sprint(newCourt(t).clock.at.Add(off).Unix())
	}
	for name, change := range map[string]func(*forged){
		"as it is":                   func(*forged) {},
		"type JWT":                   func(f *forged) { f.header["typ"] = `"JWT"` },
		"type without case":          func(f *forged) { f.header["typ"] = `"Application/AT+JWT"` },
		"no type":                    func(f *forged) { delete(f.header, "typ") },
		"unknown header member":      func(f *forged) { f.header["x5t"] = `"abc"` },
		"RS512":                      func(f *forged) { f.by("RS512", "rsa") },
		"PS256":                      func(f *forged) { f.by("PS256", "rsa") },
		"ES256":                      func(f *forged) { f.by("ES256", "p256") },
		"ES384":                      func(f *forged) { f.by("ES384", "p384") },
		"ES512":                      func(f *forged) { f.by("ES512", "p521") },
		"EdDSA":                      func(f *forged) { f.by("EdDSA", "ed") },
		"audience in a list":         func(f *forged) { f.claims["aud"] = `["` + audience + `"]` },
		"audience, all servers":      func(f *forged) { f.claims["aud"] = `"` + audience + `/v1/mcp"` },
		"audience, one server":       func(f *forged) { f.claims["aud"] = `"` + audience + `/v1/servers/docs-2/mcp"` },
		"nbf instead of iat":         func(f *forged) { f.claims["nbf"] = f.claims["iat"]; delete(f.claims, "iat") },
		"iat within the skew":        func(f *forged) { now(f, "iat", auth.Skew) },
		"nbf within the skew":        func(f *forged) { now(f, "nbf", auth.Skew) },
		"the last second":            func(f *forged) { now(f, "exp", time.Second) },
		"the longest life":           func(f *forged) { now(f, "exp", auth.DefaultLifetime) },
		"scopes of others":           func(f *forged) { f.claims["scope"] = `"openid profile"` },
		"scopes in a list":           func(f *forged) { f.claims["scp"] = `["call"]` },
		"Cognito access token":       func(f *forged) { f.claims["token_use"] = `"access"` },
		"Keycloak access token":      func(f *forged) { f.claims["typ"] = `"Bearer"` },
		"claims of every kind":       func(f *forged) { f.claims["x"] = `{"a":[1,{"b":null}],"c":1.5e300}` },
		"subject of the most bytes":  func(f *forged) { f.claims["sub"] = `"` + strings.Repeat("a", 256) + `"` },
		"subject outside ASCII":      func(f *forged) { f.claims["sub"] = `"Zoë #1"` },
		"claims with blanks between": func(f *forged) { f.rawClaims = strings.ReplaceAll(f.claims.String(), ",", " ,\n ") },
	} {
		t.Run(name, func(t *testing.T) {
			c := newCourt(t)
			f := genuine(c.clock.at)
			change(f)
			if got := c.judge(t, f.text(t)); strings.HasPrefix(got, "!") {
				_, refusal := c.auth.Authenticate(t.Context(), bearer(f.text(t)))
				t.Errorf("got %v", refusal)
			}
		})
	}
}

// rejections is the table of what a token can be wrong in. Each begins as a
// token that is accepted.
func rejections(now time.Time) map[string]func(*forged) {
	at := func(off time.Duration) string { return fmt.Sprint(now.Add(off).Unix()) }
	header := func(name, value string) func(*forged) { return func(f *forged) { f.header[name] = value } }
	claim := func(name, value string) func(*forged) { return func(f *forged) { f.claims[name] = value } }
	unsigned := func(alg string) func(*forged) {
		return func(f *forged) {
			f.header["alg"] = alg
			f.spoil = func(s string) string { return s[:strings.LastIndex(s, ".")+1] }
		}
	}
	spoil := func(change func(string) string) func(*forged) { return func(f *forged) { f.spoil = change } }
	return map[string]func(*forged){
		"alg none":              unsigned(`"none"`),
		"alg None":              unsigned(`"None"`),
		"alg nOnE":              unsigned(`"nOnE"`),
		"alg empty":             header("alg", `""`),
		"alg none, with a sum":  header("alg", `"none"`),
		"alg missing":           func(f *forged) { delete(f.header, "alg") },
		"alg not a string":      header("alg", `["RS256"]`),
		"alg lower case":        header("alg", `"rs256"`),
		"alg not the issuer's":  header("alg", `"RS384"`),
		"HS256 with the PEM":    func(f *forged) { f.header["alg"], f.secret = `"HS256"`, publicPEM() },
		"HS256 with the JWK":    func(f *forged) { f.header["alg"], f.secret = `"HS256"`, []byte(jwk("rsa")) },
		"ES256 of an RSA key":   func(f *forged) { f.by("ES256", "p256"); f.header["kid"] = `"rsa"` },
		"RS256 of an EC key":    header("kid", `"p256"`),
		"ES256 on P-384":        func(f *forged) { f.by("ES256", "p384") },
		"EdDSA of an RSA key":   header("alg", `"EdDSA"`),
		"RSA of 1024 bits":      func(f *forged) { f.by("RS256", "weak") },
		"key of another":        func(f *forged) { f.key = keys()["other"] },
		"ECDSA of zeros":        func(f *forged) { f.by("ES256", "p256"); f.spoil = withSignature(make([]byte, 64)) },
		"ECDSA too short":       func(f *forged) { f.by("ES256", "p256"); f.spoil = withSignature(make([]byte, 8)) },
		"signature empty":       spoil(func(s string) string { return s[:strings.LastIndex(s, ".")+1] }),
		"signature of another":  spoil(withSignature(make([]byte, 256))),
		"header jku":            header("jku", `"https://login.example.com/keys"`),
		"header x5u":            header("x5u", `"https://login.example.com/cert"`),
		"header jwk":            header("jwk", jwk("rsa")),
		"header x5c":            header("x5c", `[]`),
		"header crit":           header("crit", `[]`),
		"header crit of a name": func(f *forged) { f.header["crit"], f.header["exp"] = `["exp"]`, `1` },
		"header b64":            header("b64", `true`),
		"header b64 false":      func(f *forged) { f.header["b64"], f.header["crit"] = `false`, `["b64"]` },
		"header zip":            header("zip", `"DEF"`),
		"header enc":            header("enc", `"A256GCM"`),
		"header cty":            header("cty", `"JWT"`),
		"header jku null":       header("jku", `null`),
		"kid a path":            header("kid", `"../../rsa"`),
		"kid SQL":               header("kid", `"rsa' OR '1'='1"`),
		"kid NUL":               header("kid", `"rsa\u0000"`),
		"kid empty":             header("kid", `""`),
		"kid a number":          header("kid", `1`),
		"kid null":              header("kid", `null`),
		"kid missing":           func(f *forged) { delete(f.header, "kid") }, // and there are several keys
		"typ of an ID-JAG":      header("typ", `"oauth-id-jag+jwt"`),
		"typ of a DPoP proof":   header("typ", `"dpop+jwt"`),
		"typ of a logout token": header("typ", `"logout+jwt"`),
		"typ a list":            header("typ", `["JWT"]`),
		"typ empty":             header("typ", `""`),
		"header twice":          func(f *forged) { f.rawHeader = `{"alg":"RS256","kid":"rsa","alg":"RS256"}` },
		"header a list":         func(f *forged) { f.rawHeader = `["RS256"]` },
		"header null":           func(f *forged) { f.rawHeader = `null` },
		"header and more":       func(f *forged) { f.rawHeader = f.header.String() + `{}` },
		"header not UTF-8":      func(f *forged) { f.rawHeader = "{\"alg\":\"RS256\",\"kid\":\"rsa\",\"x\":\"\xff\"}" },

		"ID token: nonce":         claim("nonce", `"x"`),
		"ID token: at_hash":       claim("at_hash", `"x"`),
		"ID token: c_hash":        claim("c_hash", `"x"`),
		"ID token of Cognito":     claim("token_use", `"id"`),
		"ID token of Keycloak":    claim("typ", `"ID"`),
		"bound to a key":          claim("cnf", `{"jkt":"x"}`),
		"aud missing":             func(f *forged) { delete(f.claims, "aud") },
		"aud of another":          claim("aud", `"https://other.example.com"`),
		"aud below another":       claim("aud", `"https://relay.example.com.evil.example/v1/mcp"`),
		"aud, other path":         claim("aud", `"https://relay.example.com/v2/mcp"`),
		"aud, no server":          claim("aud", `"https://relay.example.com/v1/servers//mcp"`),
		"aud, deeper path":        claim("aud", `"https://relay.example.com/v1/servers/a/b/mcp"`),
		"aud, no endpoint":        claim("aud", `"https://relay.example.com/v1/servers/a"`),
		"aud, other's endpoint":   claim("aud", `"https://relay.example.com/v2/servers/a/mcp"`),
		"aud with a slash":        claim("aud", `"https://relay.example.com/"`),
		"aud upper case":          claim("aud", `"HTTPS://relay.example.com"`),
		"aud empty":               claim("aud", `""`),
		"aud an empty list":       claim("aud", `[]`),
		"aud with an extra":       claim("aud", `["https://relay.example.com","https://other.example.com"]`),
		"aud twice the same":      claim("aud", `["https://relay.example.com","https://relay.example.com"]`),
		"aud an object":           claim("aud", `{"a":"https://relay.example.com"}`),
		"iss missing":             func(f *forged) { delete(f.claims, "iss") },
		"iss with a slash":        claim("iss", `"https://login.example.com/"`),
		"iss upper case":          claim("iss", `"https://LOGIN.example.com"`),
		"iss over http":           claim("iss", `"http://login.example.com"`),
		"iss of another":          claim("iss", `"https://evil.example.com"`),
		"iss a list":              claim("iss", `["https://login.example.com"]`),
		"iss empty":               claim("iss", `""`),
		"iss of 512 bytes":        claim("iss", `"`+strings.Repeat("a", 512)+`"`),
		"iss endless":             claim("iss", `"`+strings.Repeat("a", 600)+`"`),
		"exp missing":             func(f *forged) { delete(f.claims, "exp") },
		"exp past":                claim("exp", at(-time.Second)),
		"exp now":                 claim("exp", at(0)),
		"exp far":                 claim("exp", `9000000000000000000`),
		"exp beyond int64":        claim("exp", `99999999999999999999`),
		"exp a string":            claim("exp", `"`+at(time.Hour)+`"`),
		"exp a float":             claim("exp", at(time.Hour)+`.5`),
		"exp an exponent":         claim("exp", `2e9`),
		"exp of 13 digits":        claim("exp", `9999999999999`),
		"exp is iat":              func(f *forged) { f.claims["iat"], f.claims["exp"] = at(30*time.Second), at(30*time.Second) },
		"exp negative":            claim("exp", `-1`),
		"exp null":                claim("exp", `null`),
		"nbf future":              claim("nbf", at(auth.Skew+time.Second)),
		"nbf a string":            claim("nbf", `"`+at(0)+`"`),
		"iat future":              claim("iat", at(auth.Skew+time.Second)),
		"iat a float":             claim("iat", at(0)+`.1`),
		"iat and nbf missing":     func(f *forged) { delete(f.claims, "iat") },
		"lifetime over 24 h":      claim("exp", at(auth.DefaultLifetime+time.Second)),
		"lifetime, old iat":       claim("iat", at(-auth.DefaultLifetime)),
		"exp before iat":          func(f *forged) { f.claims["iat"], f.claims["exp"] = at(30*time.Second), at(20*time.Second) },
		"sub missing":             func(f *forged) { delete(f.claims, "sub") },
		"sub empty":               claim("sub", `""`),
		"sub a number":            claim("sub", `1`),
		"sub with a control":      claim("sub", `"a\nb"`),
		"sub with blanks":         claim("sub", `" alice"`),
		"sub endless":             claim("sub", `"`+strings.Repeat("a", 257)+`"`),
		"claims twice":            func(f *forged) { f.rawClaims = f.claims.String()[:len(f.claims.String())-1] + `,"sub":"bob"}` },
		"claims twice, inside":    claim("x", `{"a":1,"a":2}`),
		"claims twice, escaped":   func(f *forged) { f.rawClaims = f.claims.String()[:len(f.claims.String())-1] + `,"s\u0075b":"bob"}` },
		"claims a string":         func(f *forged) { f.rawClaims = `"x"` },
		"claims null":             func(f *forged) { f.rawClaims = `null` },
		"claims cut":              func(f *forged) { f.rawClaims = f.claims.String()[:20] },
		"claims and more":         func(f *forged) { f.rawClaims = f.claims.String() + ` 1` },
		"claims not UTF-8":        claim("x", "\"\xff\""),
		"nested JWS":              func(f *forged) { f.rawClaims = genuineText },
		"5 segments":              spoil(func(s string) string { return s + ".AA.AA" }),
		"2 segments":              spoil(func(s string) string { return s[:strings.LastIndex(s, ".")] }),
		"4 segments":              spoil(func(s string) string { return s + "." }),
		"empty segments":          spoil(func(string) string { return ".." }),
		"JSON serialization":      spoil(func(s string) string { return `{"payload":"` + strings.ReplaceAll(s, ".", `","protected":"`) + `"}` }),
		"padded":                  spoil(func(s string) string { return strings.Replace(s, ".", "=.", 1) }),
		"standard base64":         spoil(func(s string) string { return "+" + s[1:] }),
		"stray bits at the end":   spoil(strayBits),
		"line break inside":       spoil(func(s string) string { return s[:10] + "\n" + s[10:] }),
		"blank before":            spoil(func(s string) string { return " " + s }),
		"longer than its bound":   claim("x", `"`+strings.Repeat("a", auth.MaxJWT)+`"`),
		"scheme before the token": spoil(func(s string) string { return "Bearer " + s }),
	}
}

const genuineText = "eyJhbGciOiJSUzI1NiJ9.e30.AA"

func publicPEM() []byte {
	der, err := x509.MarshalPKIXPublicKey(keys()["rsa"].Public())
	if err != nil {
		panic(err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: der})
}

func withSignature(b []byte) func(string) string {
	return func(s string) string {
		return s[:strings.LastIndex(s, ".")+1] + base64.RawURLEncoding.EncodeToString(b)
	}
}

// reasons are what the operator is told about the rows of a table.
func reasons(t *testing.T, file string) map[string]string {
	t.Helper()
	text, err := os.ReadFile("testdata/" + file)
	if err != nil {
		t.Fatal(err)
	}
	found := make(map[string]string)
	for line := range strings.Lines(string(text)) {
		name, why, _ := strings.Cut(strings.TrimSuffix(line, "\n"), " | ")
		found[strings.TrimSpace(name)] = why
	}
	return found
}

// strayBits spells the signature another way: a last character whose unused
// bits are not zero.
func strayBits(s string) string {
	const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
	i := strings.IndexByte(alphabet, s[len(s)-1])
	return s[:len(s)-1] + string(alphabet[i+1])
}

func TestTokensThatAreRejected(t *testing.T) {
	table, why := rejections(newCourt(t).clock.at), reasons(t, "rejected.txt")
	for name, change := range table {
		t.Run(name, func(t *testing.T) {
			c := newCourt(t)
			f := genuine(c.clock.at)
			if got := c.judge(t, f.text(t)); got != "alice" {
				t.Fatalf("before the change: got %s", got)
			}
			change(f)
			_, refusal := c.auth.Authenticate(t.Context(), bearer(f.text(t)))
			if got := c.judge(t, f.text(t)); got != "!unauthenticated" || refusal.Detail != why[name] {
				t.Errorf("got %s (%v), want !unauthenticated: %s", got, refusal, why[name])
			}
		})
	}
	if len(why) != len(table) {
		t.Errorf("testdata/rejected.txt has %d reasons for %d rows", len(why), len(table))
	}
	if len(table) < 100 {
		t.Errorf("the table has %d rows, want at least 100", len(table))
	}
}

func TestTokensOfIssuersAreForAuthorizationOnly(t *testing.T) {
	c := newCourt(t)
	f := genuine(c.clock.at)
	f.by("EdDSA", "ed")
	text := f.text(t)
	if len(text) > auth.MaxCredential {
		t.Fatalf("the token has %d bytes", len(text))
	}
	_, refusal := c.auth.Authenticate(t.Context(), pair("alice", text))
	if refusal == nil || refusal.Reason != call.Unauthenticated {
		t.Errorf("got %v, want unauthenticated", refusal)
	}
	h := bearer("x")
	h["Authorization"] = append(h["Authorization"], "Bearer "+text)
	if _, refusal := c.auth.Authenticate(t.Context(), h); refusal == nil {
		t.Error("one of two credentials is accepted")
	}
}

func TestNobodyIsTrustedWhereNobodyIsRegistered(t *testing.T) {
	a := auth.New(auth.Options{})
	text := genuine(time.Now()).text(t)
	if _, refusal := a.Authenticate(t.Context(), bearer(text)); refusal == nil || refusal.Reason != call.Unauthenticated {
		t.Errorf("got %v, want unauthenticated", refusal)
	}
}

// Whatever a token looks like, it is accepted only if it is the very text that
// the issuer signed, and never with a panic.
func FuzzJWT(f *testing.F) {
	c := newCourt(f)
	signed := genuine(c.clock.at).text(f)
	f.Add(signed)
	f.Add(genuineText)
	f.Add("..")
	for _, part := range []string{`{"alg":"none"}`, `{"alg":"RS256","kid":"rsa"}`} {
		f.Add(segment(part) + "." + segment(`{"iss":"https://login.example.com","aud":["https://relay.example.com"]}`) + ".AA")
	}
	f.Fuzz(func(t *testing.T, text string) {
		p, refusal := c.auth.Authenticate(t.Context(), http.Header{"Authorization": {"Bearer " + text}})
		if (refusal == nil) != (text == signed) || p.Known() != (refusal == nil) {
			t.Errorf("%q: got %+v, %v", text, p, refusal)
		}
	})
}

// Whatever a set of keys looks like, reading it gives an answer.
func FuzzKeySet(f *testing.F) {
	text := genuine(newCourt(f).clock.at).text(f)
	f.Add(jwks("rsa"))
	f.Add(`{"keys":[{"kty":"RSA","kid":"rsa","n":"AQAB","e":"AQAB"},{"kty":"oct","kid":"rsa","k":"AA"}]}`)
	f.Add(`{"keys":[{"kty":"EC","kid":"rsa","crv":"P-256","x":"AA","y":"AA"},null]}`)
	f.Fuzz(func(t *testing.T, set string) {
		c := newCourt(t, func(i *auth.Issuer) { i.Keys = json.RawMessage(set) })
		if got := c.judge(t, text); got == "alice" && !strings.Contains(set, `"`) {
			t.Errorf("%q: got %s", set, got)
		}
	})
}
