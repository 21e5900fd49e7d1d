package secret_test

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"strings"
	"testing"
	"time"

	"mcprelay/shared/call"
	"mcprelay/shared/secret"
)

// authority is a certificate that signs itself, and its key, in PEM.
type authority struct {
	leaf      *x509.Certificate
	cert, key string
}

func newAuthority(t testing.TB, name string) authority {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return sign(t, name, key, pkcs8(t, key))
}

func sign(t testing.TB, name string, key crypto.Signer, text string) authority {
	t.Helper()
	now := time.Now()
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: name},
		NotBefore: now.Add(-time.Hour), NotAfter: now.Add(time.Hour), IsCA: true, BasicConstraintsValid: true,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	leaf, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	return authority{leaf, block("CERTIFICATE", der), text}
}

func block(kind string, b []byte) string {
	return string(pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: b}))
}

func pkcs8(t testing.TB, key crypto.Signer) string {
	t.Helper()
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	return block("PRIVATE KEY", der)
}

func keysOfEveryKind(t testing.TB) map[string]authority {
	t.Helper()
	curve, err := ecdsa.GenerateKey(elliptic.P384(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	old, err := x509.MarshalECPrivateKey(curve)
	if err != nil {
		t.Fatal(err)
	}
	prime, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	_, edwards, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return map[string]authority{
		"EC":            sign(t, "a", curve, block("EC PRIVATE KEY", old)),
		"EC of openssl": sign(t, "b", curve, block("EC PARAMETERS", []byte{6, 5, 43, 129, 4, 0, 34})+block("EC PRIVATE KEY", old)),
		"EC in PKCS 8":  sign(t, "c", curve, pkcs8(t, curve)),
		"RSA":           sign(t, "d", prime, block("RSA PRIVATE KEY", x509.MarshalPKCS1PrivateKey(prime))),
		"RSA in PKCS 8": sign(t, "e", prime, pkcs8(t, prime)),
		"Ed25519":       sign(t, "f", edwards, pkcs8(t, edwards)),
	}
}

// Whatever text stands where PEM belongs, it makes an identity with roots or a
// refusal that holds no line of it; and what is accepted has as many blocks as
// it has beginnings of any.
func FuzzIdentity(f *testing.F) {
	ca := newAuthority(f, "ca")
	for _, seed := range []string{"", ca.cert, ca.key, ca.cert + ca.cert, ca.cert[:100], "x" + ca.cert, ca.cert + "-----", strings.ReplaceAll(ca.cert, "\n", " ")} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		identity, _, refusal := new(secret.Identities).Bind(secret.TLSRefs{CA: "ca"}, values("ca", text))
		if refusal == nil {
			if identity.Roots.Equal(x509.NewCertPool()) || !strings.Contains(text, "-----BEGIN CERTIFICATE-----") {
				t.Errorf("%q makes an identity without roots", text)
			}
			return
		}
		if refusal.Reason != call.SecretUnusable && (text != "" || refusal.Reason != call.SecretMissing) {
			t.Errorf("%q: %v", text, refusal)
		}
		for line := range strings.Lines(text) {
			if line = strings.TrimSpace(line); len(line) >= secret.MinLength && strings.Contains(refusal.Detail, line) && !strings.Contains(staticWords, line) {
				t.Errorf("%q: the refusal repeats %q: %s", text, line, refusal.Detail)
			}
		}
	})
}

// staticWords is what refusals say of any text, which a text may say as well.
const staticWords = "secret ca holds a damaged PEM block secret ca holds no certificate in PEM secret ca holds a certificate that cannot be read secret ca holds a PEM block of another kind than its field is for has bytes, more than 65536 secret ca is not set"
