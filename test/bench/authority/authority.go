// Package authority makes a certificate authority that lives as long as one
// run of the bench, so that TLS is measured with verification on.
//
// It promises a certificate for 127.0.0.1 that a client with the authority's
// file accepts. It refuses to keep the authority's key.
package authority

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"time"
)

// Files are where an authority's certificates and the server's key lie.
type Files struct {
	Roots string // PEM, for SSL_CERT_FILE
	Cert  string // PEM
	Key   string // PEM
}

// lifetime is longer than any run.
const lifetime = 24 * time.Hour

// Make writes a new authority and a server's certificate to dir.
func Make(dir string, now time.Time) (Files, error) {
	f := Files{
		Roots: filepath.Join(dir, "roots.pem"),
		Cert:  filepath.Join(dir, "server.pem"),
		Key:   filepath.Join(dir, "server.key"),
	}
	caKey, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return f, fmt.Errorf("making the authority's key: %w", err)
	}
	ca := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "bench authority"},
		NotBefore: now.Add(-time.Hour), NotAfter: now.Add(lifetime),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}
	server := &x509.Certificate{
		SerialNumber: big.NewInt(2), Subject: pkix.Name{CommonName: "bench upstream"},
		NotBefore: ca.NotBefore, NotAfter: ca.NotAfter,
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return f, fmt.Errorf("making the server's key: %w", err)
	}
	private, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return f, fmt.Errorf("encoding the server's key: %w", err)
	}
	return f, errors.Join(
		sign(f.Roots, ca, ca, &caKey.PublicKey, caKey),
		sign(f.Cert, server, ca, &key.PublicKey, caKey),
		write(f.Key, "PRIVATE KEY", private),
	)
}

func sign(name string, cert, parent *x509.Certificate, public *ecdsa.PublicKey, by *ecdsa.PrivateKey) error {
	der, err := x509.CreateCertificate(rand.Reader, cert, parent, public, by)
	if err != nil {
		return fmt.Errorf("signing a certificate: %w", err)
	}
	return write(name, "CERTIFICATE", der)
}

func write(name, kind string, der []byte) error {
	if err := os.WriteFile(name, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}), 0o600); err != nil {
		return fmt.Errorf("writing a certificate: %w", err)
	}
	return nil
}

// Roots reads the authority's file; nil for an empty name.
func Roots(name string) (*x509.CertPool, error) {
	if name == "" {
		return nil, nil
	}
	text, err := os.ReadFile(name)
	if err != nil {
		return nil, fmt.Errorf("reading the authority: %w", err)
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(text) {
		return nil, fmt.Errorf("reading the authority: %s holds no certificate", name)
	}
	return pool, nil
}

// Server reads the certificate and key that [Make] wrote.
func Server(cert, key string) (*tls.Config, error) {
	pair, err := tls.LoadX509KeyPair(cert, key)
	if err != nil {
		return nil, fmt.Errorf("reading the server's certificate: %w", err)
	}
	return &tls.Config{Certificates: []tls.Certificate{pair}, MinVersion: tls.VersionTLS12}, nil
}
