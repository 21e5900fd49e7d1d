package hostile

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"math/big"
	"net"
	"strings"
	"sync"
	"testing"
	"time"
)

// Certificate is a kind of certificate that a server presents.
type Certificate string

// The kinds. All but the first must be refused.
const (
	Valid            Certificate = "" // for the server's host, from [Roots]
	WrongName        Certificate = "wrong name"
	Expired          Certificate = "expired"
	NotYetValid      Certificate = "not yet valid"
	SelfSigned       Certificate = "self-signed"
	OtherAuthority   Certificate = "other authority"
	AddressOnly      Certificate = "address only"            // for 127.0.0.1 instead of the name
	WildcardTwoAbove Certificate = "wildcard two levels up"  // *.example.com for a.b.example.com
	ForClients       Certificate = "for clients"             // of the wrong extended key usage
	CommonNameOnly   Certificate = "name in the common name" // and in no subject alternative name
)

// BadCertificates lists the kinds that must be refused.
func BadCertificates() []Certificate {
	return []Certificate{WrongName, Expired, NotYetValid, SelfSigned, OtherAuthority, AddressOnly, WildcardTwoAbove, ForClients, CommonNameOnly}
}

// TLS is what a server does before HTTP. The zero TLS is a valid certificate
// for the server's host, TLS 1.2 and 1.3, and no protocol negotiation.
type TLS struct {
	Plain       bool // no TLS at all: the endpoint is http
	Certificate Certificate
	Protocols   []string       // for ALPN, for instance h2 alone
	Max         uint16         // highest TLS version, for instance tls.VersionTLS11
	Clients     *x509.CertPool // a client certificate of these is required
	// Instead speaks on the raw socket in place of TLS and HTTP.
	Instead func(c *Conn)
}

// lifetime is ample for tests that move the relay's clock by days.
const lifetime = 30 * 24 * time.Hour

// authority signs certificates. It lives as long as the process.
type authority struct {
	certificate *x509.Certificate
	key         *ecdsa.PrivateKey
}

var trusted = sync.OnceValues(func() (authority, error) { return newAuthority("trusted") })
var untrusted = sync.OnceValues(func() (authority, error) { return newAuthority("untrusted") })

// Roots is the authority that signs valid certificates.
func Roots(t testing.TB) *x509.CertPool {
	t.Helper()
	pool := x509.NewCertPool()
	pool.AddCert(must(trusted())(t).certificate)
	return pool
}

// ClientPair is a certificate for a client called name, from [Roots].
func ClientPair(t testing.TB, name string) tls.Certificate {
	t.Helper()
	template := leaf(name)
	template.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}
	return must(must(trusted())(t).sign(template))(t)
}

// must gives value, or fails the test.
func must[T any](value T, err error) func(testing.TB) T {
	return func(t testing.TB) T {
		t.Helper()
		if err != nil {
			t.Fatalf("hostile: making certificates: %v", err)
		}
		return value
	}
}

func newAuthority(name string) (authority, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return authority{}, err
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: name},
		NotBefore: time.Now().Add(-lifetime), NotAfter: time.Now().Add(lifetime),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		return authority{}, err
	}
	certificate, err := x509.ParseCertificate(der)
	return authority{certificate, key}, err
}

// sign signs template; the zero authority lets it sign itself.
func (a authority) sign(template *x509.Certificate) (tls.Certificate, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return tls.Certificate{}, err
	}
	parent, signer := a.certificate, a.key
	if parent == nil {
		parent, signer = template, key
	}
	der, err := x509.CreateCertificate(rand.Reader, template, parent, &key.PublicKey, signer)
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, err
}

func leaf(name string) *x509.Certificate {
	return &x509.Certificate{
		SerialNumber: big.NewInt(2), Subject: pkix.Name{CommonName: name}, DNSNames: []string{name},
		NotBefore: time.Now().Add(-lifetime / 2), NotAfter: time.Now().Add(lifetime / 2),
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
}

// pair is a certificate of the kind for a host.
func (k Certificate) pair(t testing.TB, host string) tls.Certificate {
	t.Helper()
	by, template := must(trusted())(t), leaf(host)
	if ip := net.ParseIP(host); ip != nil {
		template.DNSNames, template.IPAddresses = nil, []net.IP{ip}
	}
	switch k {
	case WrongName:
		template = leaf("other.localhost")
	case Expired:
		template.NotBefore, template.NotAfter = time.Now().Add(-2*time.Hour), time.Now().Add(-time.Hour)
	case NotYetValid:
		template.NotBefore = time.Now().Add(30 * time.Minute)
	case SelfSigned:
		by = authority{}
	case OtherAuthority:
		by = must(untrusted())(t)
	case AddressOnly:
		template.DNSNames, template.IPAddresses = nil, []net.IP{net.IPv4(127, 0, 0, 1)}
	case WildcardTwoAbove:
		labels := strings.SplitN(host, ".", 3)
		template.DNSNames = []string{"*." + labels[len(labels)-1]}
	case ForClients:
		template.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}
	case CommonNameOnly:
		template.DNSNames = nil
	}
	return must(by.sign(template))(t)
}

// config is what the server does in the handshake.
func (o TLS) config(t testing.TB, host string) *tls.Config {
	t.Helper()
	c := &tls.Config{Certificates: []tls.Certificate{o.Certificate.pair(t, host)}, NextProtos: o.Protocols, MaxVersion: o.Max}
	if o.Max != 0 && o.Max < tls.VersionTLS12 {
		c.MinVersion = o.Max
	}
	if o.Clients != nil {
		c.ClientAuth, c.ClientCAs = tls.RequireAndVerifyClientCert, o.Clients
	}
	return c
}
