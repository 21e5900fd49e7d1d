package auth_test

import (
	"context"
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/hmac"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/sha512"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"

	"mcprelay/shared/auth"
	"mcprelay/shared/call"
	"mcprelay/shared/endpoint"
)

const (
	issuer   = "https://login.example.com"
	audience = "https://relay.example.com"
)

// keyring is private keys by the key id of their public half.
type keyring map[string]crypto.Signer

// keys are made once: RSA keys take a while.
var keys = sync.OnceValue(func() keyring {
	must := func(s crypto.Signer, err error) crypto.Signer {
		if err != nil {
			panic(err)
		}
		return s
	}
	rsaKey := func(bits int) crypto.Signer { return must(rsa.GenerateKey(rand.Reader, bits)) }
	ecKey := func(c elliptic.Curve) crypto.Signer { return must(ecdsa.GenerateKey(c, rand.Reader)) }
	_, ed, err := ed25519.GenerateKey(rand.Reader)
	return keyring{
		"rsa": rsaKey(2048), "other": rsaKey(2048), "weak": rsaKey(1024),
		"p256": ecKey(elliptic.P256()), "p384": ecKey(elliptic.P384()), "p521": ecKey(elliptic.P521()),
		"ed": must(ed, err),
	}
})

// jwk is the public half of a key as a member of a set.
func jwk(id string) string {
	text, err := json.Marshal(jose.JSONWebKey{Key: keys()[id].Public(), KeyID: id})
	if err != nil {
		panic(err)
	}
	return string(text)
}

// jwks is a set of some keys, each an id or the text of a member.
func jwks(members ...string) string {
	for i, m := range members {
		if !strings.HasPrefix(m, "{") {
			members[i] = jwk(m)
		}
	}
	return `{"keys":[` + strings.Join(members, ",") + `]}`
}

// members are JSON texts by the names of an object.
type members map[string]string

func (m members) String() string {
	var b strings.Builder
	for _, name := range slices.Sorted(maps.Keys(m)) {
		fmt.Fprintf(&b, "%s%q:%s", map[bool]string{true: ","}[b.Len() > 0], name, m[name])
	}
	return "{" + b.String() + "}"
}

// forged is a token in the making.
type forged struct {
	header, claims members
	rawHeader      string // instead of header
	rawClaims      string
	key            crypto.Signer
	secret         []byte // signs with HMAC instead
	spoil          func(token string) string
}

// genuine is a token that is accepted, for a test to spoil.
func genuine(now time.Time) *forged {
	return &forged{
		header: members{"alg": `"RS256"`, "kid": `"rsa"`, "typ": `"at+jwt"`},
		claims: members{
			"iss": `"` + issuer + `"`, "aud": `"` + audience + `"`, "sub": `"alice"`,
			"iat": fmt.Sprint(now.Unix()), "exp": fmt.Sprint(now.Add(time.Hour).Unix()),
		},
		key: keys()["rsa"],
	}
}

// by makes the token one that a key of the ring signs.
func (f *forged) by(alg, id string) {
	f.header["alg"], f.header["kid"], f.key = `"`+alg+`"`, `"`+id+`"`, keys()[id]
}

func segment(s string) string { return base64.RawURLEncoding.EncodeToString([]byte(s)) }

// text signs the token as its header says.
func (f *forged) text(t testing.TB) string {
	t.Helper()
	header, claims := f.rawHeader, f.rawClaims
	if header == "" {
		header = f.header.String()
	}
	if claims == "" {
		claims = f.claims.String()
	}
	signed := segment(header) + "." + segment(claims)
	token := signed + "." + base64.RawURLEncoding.EncodeToString(f.sign(t, signed))
	if f.spoil != nil {
		token = f.spoil(token)
	}
	return token
}

func (f *forged) sign(t testing.TB, signed string) []byte {
	t.Helper()
	if f.secret != nil {
		mac := hmac.New(sha256.New, f.secret)
		mac.Write([]byte(signed))
		return mac.Sum(nil)
	}
	digest, hash := sum(f.header["alg"], signed)
	var signature []byte
	var err error
	switch key := f.key.(type) {
	case *rsa.PrivateKey:
		if strings.HasPrefix(f.header["alg"], `"PS`) {
			signature, err = rsa.SignPSS(rand.Reader, key, hash, digest, nil)
		} else {
			signature, err = rsa.SignPKCS1v15(rand.Reader, key, hash, digest)
		}
	case *ecdsa.PrivateKey:
		r, s, failed := ecdsa.Sign(rand.Reader, key, digest)
		size := (key.Curve.Params().BitSize + 7) / 8
		signature, err = append(r.FillBytes(make([]byte, size)), s.FillBytes(make([]byte, size))...), failed
	case ed25519.PrivateKey:
		signature = ed25519.Sign(key, []byte(signed))
	}
	if err != nil {
		t.Fatal(err)
	}
	return signature
}

// sum is the digest that an algorithm signs; SHA-256 for those that are none.
func sum(alg, signed string) ([]byte, crypto.Hash) {
	switch {
	case strings.Contains(alg, "384"):
		d := sha512.Sum384([]byte(signed))
		return d[:], crypto.SHA384
	case strings.Contains(alg, "512"):
		d := sha512.Sum512([]byte(signed))
		return d[:], crypto.SHA512
	}
	d := sha256.Sum256([]byte(signed))
	return d[:], crypto.SHA256
}

// court is an authenticator of one issuer, and all that it depends on.
type court struct {
	clock   *clock
	auth    *auth.Authenticator
	issuers []auth.Issuer
	broken  error // of the registration's store
	asked   int   // for registrations

	mu      sync.Mutex
	set     string // the issuer's key set
	down    error
	fetched int
}

// newCourt trusts the issuer with keys that are registered.
func newCourt(t testing.TB, change ...func(*auth.Issuer)) *court {
	t.Helper()
	one := auth.Issuer{
		Tenant: "acme", Issuer: issuer, Audience: audience, Kind: call.KindUser,
		Keys:       json.RawMessage(jwks("rsa", "p256", "p384", "p521", "ed", "weak")),
		Algorithms: []string{"RS256", "RS512", "PS256", "ES256", "ES384", "ES512", "EdDSA"},
	}
	for _, f := range change {
		f(&one)
	}
	c := &court{clock: &clock{time.Date(2026, 8, 1, 12, 0, 0, 0, time.UTC)}, issuers: []auth.Issuer{one}, set: jwks("rsa", "p256")}
	c.auth = auth.New(auth.Options{
		Now: c.clock.now, PublicURL: audience,
		Issuers: func(_ context.Context, name string) ([]auth.Issuer, error) {
			c.asked++
			var found []auth.Issuer
			for _, i := range c.issuers {
				if i.Issuer == name {
					found = append(found, i)
				}
			}
			return found, c.broken
		},
		Fetch: func(_ context.Context, from endpoint.URL) ([]byte, error) {
			c.mu.Lock()
			defer c.mu.Unlock()
			c.fetched++
			return []byte(c.set), c.down
		},
	})
	return c
}

// remote makes an issuer whose keys are fetched.
func remote(i *auth.Issuer) {
	uri, err := endpoint.Parse("https://login.example.com/keys", endpoint.Options{})
	if err != nil {
		panic(err)
	}
	i.Keys, i.JWKSURI = nil, uri
}

// judge gives the subject of a token, or "!" and the reason of its refusal.
func (c *court) judge(t testing.TB, text string) string {
	t.Helper()
	p, refusal := c.auth.Authenticate(t.Context(), bearer(text))
	if refusal == nil {
		return p.Subject
	}
	if refusal.Detail == nobody {
		t.Error("the token was refused for nothing but that it names nobody")
	}
	if p.Known() {
		t.Errorf("a refusal came with the principal %+v", p)
	}
	for part := range strings.SplitSeq(text, ".") {
		if len(part) > 8 && strings.Contains(refusal.Error(), part) {
			t.Errorf("the refusal %q holds a part of the token", refusal)
		}
	}
	return "!" + string(refusal.Reason)
}
