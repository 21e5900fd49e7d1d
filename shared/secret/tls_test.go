package secret_test

import (
	"crypto/x509"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"mcprelay/shared/call"
	"mcprelay/shared/secret"

	"github.com/google/go-cmp/cmp"
)

var whole = secret.TLSRefs{CA: "ca", Cert: "cert", Key: "key"}

func TestReferencesOfTLSSettings(t *testing.T) {
	for _, c := range []struct {
		refs secret.TLSRefs
		want []string
	}{
		{secret.TLSRefs{}, nil}, {secret.TLSRefs{CA: "ca"}, []string{"ca"}}, {whole, []string{"ca", "cert", "key"}},
		{secret.TLSRefs{CA: "x", Cert: "x", Key: "x"}, []string{"x"}},
	} {
		if diff := cmp.Diff(c.want, c.refs.References()); diff != "" || c.refs.IsZero() != (c.want == nil) {
			t.Errorf("%+v: zero %v (-want +got):\n%s", c.refs, c.refs.IsZero(), diff)
		}
	}
}

func TestAnIdentityOfEachKind(t *testing.T) {
	ca, client := newAuthority(t, "ca"), newAuthority(t, "client")
	all := values("ca", ca.cert, "cert", client.cert, "key", client.key)
	for name, c := range map[string]struct {
		refs         secret.TLSRefs
		roots        bool
		certificates int
		masked       int
	}{
		"nothing":       {secret.TLSRefs{}, false, 0, 0},
		"a CA":          {secret.TLSRefs{CA: "ca"}, true, 0, 0},
		"a certificate": {secret.TLSRefs{Cert: "cert", Key: "key"}, false, 1, 1},
		"both":          {whole, true, 1, 1},
	} {
		identity, masked, refusal := new(secret.Identities).Bind(c.refs, all)
		if refusal != nil {
			t.Fatalf("%s: %v", name, refusal)
		}
		if c.refs.IsZero() {
			if identity != nil || masked != nil {
				t.Errorf("%s: got %v, want nothing", name, identity)
			}
			continue
		}
		if (identity.Roots != nil) != c.roots || len(identity.Certificates) != c.certificates || len(masked) != c.masked || identity.Digest == "" {
			t.Errorf("%s: got %+v and %d to mask", name, identity, len(masked))
		}
		for _, certificate := range identity.Certificates {
			if certificate.Leaf.Subject.CommonName != "client" || !masked[0].Same(all["key"]) {
				t.Errorf("%s: the certificate of %s, masked %v", name, certificate.Leaf.Subject.CommonName, masked)
			}
		}
		if c.roots && !identity.Roots.Equal(pool(ca.leaf)) {
			t.Errorf("%s: the roots are others", name)
		}
	}
}

func TestEveryCertificateOfABundleIsARoot(t *testing.T) {
	one, two := newAuthority(t, "one"), newAuthority(t, "two")
	bundle := "# the old one\n" + one.cert + "\nSubject: two\n" + strings.ReplaceAll(two.cert, "\n", "\r\n") + "  \n"
	identity, _, refusal := new(secret.Identities).Bind(secret.TLSRefs{CA: "ca"}, values("ca", bundle))
	if refusal != nil {
		t.Fatal(refusal)
	}
	if !identity.Roots.Equal(pool(one.leaf, two.leaf)) {
		t.Error("a root is missing, or there is one more")
	}
}

func TestUnusablePEMIsRefusedWithoutQuotingIt(t *testing.T) {
	ca, client, other := newAuthority(t, "ca"), newAuthority(t, "client"), newAuthority(t, "other")
	cut := ca.cert[:len(ca.cert)-40]
	damaged := strings.Replace(ca.cert, "MII", "M~~", 1)
	nonsense := block("CERTIFICATE", []byte("no certificate at all"))
	good := map[string]string{"ca": ca.cert, "cert": client.cert, "key": client.key}
	for _, c := range []struct {
		name, ref, text string
		reason          call.Reason
		detail          string
	}{
		{"no CA", "ca", "", call.SecretMissing, "secret ca is not set"},
		{"no certificate", "cert", "", call.SecretMissing, "secret cert is not set"},
		{"no key", "key", "", call.SecretMissing, "secret key is not set"},
		{"a long CA", "ca", ca.cert + strings.Repeat("\n", 64<<10), call.SecretUnusable, fmt.Sprintf("secret ca has %d bytes, more than 65536", len(ca.cert)+64<<10)},
		{"no PEM", "ca", "hunter2!hunter2!", call.SecretUnusable, "secret ca holds no certificate in PEM"},
		{"a cut CA", "ca", cut, call.SecretUnusable, "secret ca holds a damaged PEM block"},
		{"a cut CA behind a good one", "ca", other.cert + cut, call.SecretUnusable, "secret ca holds a damaged PEM block"},
		{"a damaged CA before a good one", "ca", damaged + other.cert, call.SecretUnusable, "secret ca holds a damaged PEM block"},
		{"one line", "ca", strings.ReplaceAll(ca.cert, "\n", `\n`), call.SecretUnusable, "secret ca holds a damaged PEM block"},
		{"no X.509", "ca", ca.cert + nonsense, call.SecretUnusable, "secret ca holds a certificate that cannot be read"},
		{"a key beside the CA", "ca", ca.cert + ca.key, call.SecretUnusable, "secret ca holds a PEM block of another kind than its field is for"},
		{"a request", "ca", block("CERTIFICATE REQUEST", []byte("x")), call.SecretUnusable, "secret ca holds a PEM block of another kind than its field is for"},
		{"a key as the certificate", "cert", client.key, call.SecretUnusable, "secret cert holds a PEM block of another kind than its field is for"},
		{"a nonsense certificate", "cert", nonsense, call.SecretUnusable, "secret cert holds a certificate that cannot be read"},
		{"a certificate as the key", "key", client.cert, call.SecretUnusable, "secret key holds a PEM block of another kind than its field is for"},
		{"two keys", "key", client.key + client.key, call.SecretUnusable, "secret key holds no private key in PEM, or several"},
		{"a curve alone", "key", block("EC PARAMETERS", []byte("x")), call.SecretUnusable, "secret key holds no private key in PEM, or several"},
		{"a nonsense key", "key", block("PRIVATE KEY", []byte("x")), call.SecretUnusable, "secret key holds a key that cannot be read"},
		{"a nonsense RSA key", "key", block("RSA PRIVATE KEY", []byte("x")), call.SecretUnusable, "secret key holds a key that cannot be read"},
		{"an encrypted key", "key", block("ENCRYPTED PRIVATE KEY", []byte("x")), call.SecretUnusable, "secret key is an encrypted key"},
		{"an encrypted key of old", "key", "-----BEGIN RSA PRIVATE KEY-----\nProc-Type: 4,ENCRYPTED\nDEK-Info: AES-128-CBC,00\n\nAAAA\n-----END RSA PRIVATE KEY-----\n", call.SecretUnusable, "secret key is an encrypted key"},
		{"another's key", "key", other.key, call.SecretUnusable, "secret key is not the key of the first certificate of secret cert"},
		{"another's certificate first", "cert", other.cert + client.cert, call.SecretUnusable, "secret key is not the key of the first certificate of secret cert"},
	} {
		texts := map[string]string{}
		for ref, text := range good {
			texts[ref] = text
		}
		texts[c.ref] = c.text
		identity, masked, refusal := new(secret.Identities).Bind(whole, values("ca", texts["ca"], "cert", texts["cert"], "key", texts["key"]))
		if refusal == nil || refusal.Reason != c.reason || refusal.Detail != c.detail || refusal.Err != nil || identity != nil || masked != nil {
			t.Errorf("%s: got %v, want %s: %s", c.name, refusal, c.reason, c.detail)
		}
	}
}

func TestHalfAClientCertificateIsRefused(t *testing.T) {
	client := newAuthority(t, "client")
	for _, refs := range []secret.TLSRefs{{Cert: "cert"}, {Key: "key"}, {CA: "cert", Key: "key"}} {
		_, _, refusal := new(secret.Identities).Bind(refs, values("cert", client.cert, "key", client.key))
		if refusal == nil || refusal.Reason != call.SecretUnusable {
			t.Errorf("%+v: got %v, want a refusal", refs, refusal)
		}
	}
}

func TestKeysOfEveryUsualKind(t *testing.T) {
	for name, client := range keysOfEveryKind(t) {
		identity, _, refusal := new(secret.Identities).Bind(secret.TLSRefs{Cert: "cert", Key: "key"}, values("cert", client.cert, "key", client.key))
		if refusal != nil || len(identity.Certificates) != 1 {
			t.Errorf("%s: %v", name, refusal)
		}
	}
}

// A kept identity is judged anew at every call: certificates expire while a
// process is warm.
func TestAClientCertificateOutOfItsTimeIsRefused(t *testing.T) {
	client := newAuthority(t, "client")
	begin, end := client.leaf.NotBefore, client.leaf.NotAfter
	now := begin
	identities := &secret.Identities{Now: func() time.Time { return now }}
	for _, c := range []struct {
		at   time.Time
		want string
	}{
		{begin, ""}, {end, ""}, {begin.Add(time.Hour), ""},
		{end.Add(time.Second), "the client certificate of secret cert expired at " + end.UTC().Format(time.RFC3339)},
		{begin.Add(-time.Second), "the client certificate of secret cert is not valid before " + begin.UTC().Format(time.RFC3339)},
	} {
		now = c.at
		_, _, refusal := identities.Bind(secret.TLSRefs{Cert: "cert", Key: "key"}, values("cert", client.cert, "key", client.key))
		if got := detail(refusal); got != c.want {
			t.Errorf("at %v: got %q, want %q", c.at, got, c.want)
		}
	}
	now = end.Add(time.Hour)
	if _, _, refusal := identities.Bind(secret.TLSRefs{CA: "cert"}, values("cert", client.cert)); refusal != nil {
		t.Errorf("an expired root is the handshake's to refuse: %v", refusal)
	}
}

func detail(r *call.Refusal) string {
	if r == nil {
		return ""
	}
	return r.Detail
}

// What names an identity in the pool of connections differs whenever any part
// of it does, and only then.
func TestDigestsTellIdentitiesApart(t *testing.T) {
	one, two := newAuthority(t, "one"), newAuthority(t, "two")
	identities := new(secret.Identities)
	seen := make(map[string]string)
	for name, c := range map[string]struct {
		refs secret.TLSRefs
		all  map[string]secret.Value
	}{
		"root one":            {secret.TLSRefs{CA: "ca"}, values("ca", one.cert)},
		"root two":            {secret.TLSRefs{CA: "ca"}, values("ca", two.cert)},
		"client one":          {secret.TLSRefs{Cert: "cert", Key: "key"}, values("cert", one.cert, "key", one.key)},
		"client two":          {secret.TLSRefs{Cert: "cert", Key: "key"}, values("cert", two.cert, "key", two.key)},
		"root and client one": {whole, values("ca", one.cert, "cert", one.cert, "key", one.key)},
		"root of the other":   {whole, values("ca", two.cert, "cert", one.cert, "key", one.key)},
		"a longer root":       {secret.TLSRefs{CA: "ca"}, values("ca", one.cert+"\n")},
	} {
		first, _, refusal := identities.Bind(c.refs, c.all)
		if refusal != nil {
			t.Fatalf("%s: %v", name, refusal)
		}
		if other, there := seen[first.Digest]; there {
			t.Errorf("%s has the digest of %s", name, other)
		}
		seen[first.Digest] = name
		again, _, _ := identities.Bind(c.refs, c.all)
		if again != first {
			t.Errorf("%s: it is parsed again", name)
		}
		if fresh, _, _ := new(secret.Identities).Bind(c.refs, c.all); fresh.Digest != first.Digest {
			t.Errorf("%s: another process has another digest", name)
		}
	}
}

func TestIdentitiesAreBounded(t *testing.T) {
	client := newAuthority(t, "client")
	identities := new(secret.Identities)
	version := func(i int) map[string]secret.Value { return values("ca", client.cert+strings.Repeat("\n", i)) }
	bind := func(i int) *secret.Identity {
		identity, _, refusal := identities.Bind(secret.TLSRefs{CA: "ca"}, version(i))
		if refusal != nil {
			t.Fatal(refusal)
		}
		return identity
	}
	first, second := bind(0), bind(1)
	for i := range 255 {
		bind(2 + i)
	}
	if bind(1) != second {
		t.Error("one of the last 256 identities is parsed again")
	}
	if bind(0) == first {
		t.Error("the oldest of 257 identities is kept")
	}
}

func TestIdentitiesMayBeUsedByManyAtOnce(t *testing.T) {
	one, two := newAuthority(t, "one"), newAuthority(t, "two")
	identities := new(secret.Identities)
	var group sync.WaitGroup
	for i := range 16 {
		group.Go(func() {
			from := []authority{one, two}[i%2]
			identity, _, refusal := identities.Bind(secret.TLSRefs{Cert: "cert", Key: "key"}, values("cert", from.cert, "key", from.key))
			if refusal != nil || identity.Certificates[0].Leaf.Subject.CommonName != from.leaf.Subject.CommonName {
				t.Errorf("%d: got %v, %v", i, identity, refusal)
			}
		})
	}
	group.Wait()
}

func pool(certificates ...*x509.Certificate) *x509.CertPool {
	p := x509.NewCertPool()
	for _, c := range certificates {
		p.AddCert(c)
	}
	return p
}
