// Package jwt signs JSON Web Tokens as an issuer does, well or badly.
//
// It promises that a token is signed over the very bytes that it shows. It
// refuses no header and no claims: what is wrong with a token is the test's.
package jwt

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"maps"
	"testing"
	"time"
)

// Members are those of the header or the claims of a JWT.
type Members map[string]any

// Plus is m with others over its own.
func (m Members) Plus(others Members) Members {
	sum := maps.Clone(m)
	maps.Copy(sum, others)
	return sum
}

// Header is that of a good access token (RFC 9068 section 2.1).
func Header() Members { return Members{"alg": "ES256", "kid": "one", "typ": "at+jwt"} }

// Claims are those of a good token, for ten minutes.
func Claims(issuer, audience, subject string) Members {
	now := time.Now().Unix()
	return Members{"iss": issuer, "aud": audience, "sub": subject, "iat": now, "exp": now + 600}
}

// Key is a key of an issuer, on P-256.
type Key struct{ private *ecdsa.PrivateKey }

// NewKey makes one.
func NewKey(t testing.TB) Key {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return Key{private}
}

// Set is the public key as a JWK set (RFC 7517 section 5); nothing of a key
// that was not made here.
func (k Key) Set() map[string]any {
	point, _ := k.private.PublicKey.Bytes() // 4, x, y
	text := base64.RawURLEncoding.EncodeToString
	return map[string]any{"keys": []any{map[string]any{"kty": "EC", "crv": "P-256", "kid": "one", "x": text(point[1:33]), "y": text(point[33:])}}}
}

// Sign makes a JWT as ES256 (RFC 7518 section 3.4), whatever its header says.
func (k Key) Sign(t testing.TB, header, claims Members) string {
	t.Helper()
	signed := Segment(t, header) + "." + Segment(t, claims)
	digest := sha256.Sum256([]byte(signed))
	r, s, err := ecdsa.Sign(rand.Reader, k.private, digest[:])
	if err != nil {
		t.Fatal(err)
	}
	signature := append(r.FillBytes(make([]byte, 32)), s.FillBytes(make([]byte, 32))...)
	return signed + "." + base64.RawURLEncoding.EncodeToString(signature)
}

// Confused is what a verifier takes for genuine that believes the header: claims
// under HS256, with the public key as the secret (RFC 8725 section 2.1).
func (k Key) Confused(t testing.TB, claims Members) string {
	t.Helper()
	public, err := x509.MarshalPKIXPublicKey(&k.private.PublicKey)
	if err != nil {
		t.Fatal(err)
	}
	signed := Segment(t, Members{"alg": "HS256", "kid": "one"}) + "." + Segment(t, claims)
	mac := hmac.New(sha256.New, pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: public}))
	mac.Write([]byte(signed))
	return signed + "." + base64.RawURLEncoding.EncodeToString(mac.Sum(nil))
}

// Segment is one of the first two parts of a token.
func Segment(t testing.TB, m Members) string {
	t.Helper()
	text, err := json.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	return base64.RawURLEncoding.EncodeToString(text)
}
