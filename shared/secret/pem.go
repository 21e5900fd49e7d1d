package secret

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"slices"

	"mcprelay/shared/call"
)

// The types of PEM block that are understood (RFC 7468, and the two older
// kinds of key).
const (
	blockCertificate = "CERTIFICATE"
	blockKey         = "PRIVATE KEY"
	blockRSA         = "RSA PRIVATE KEY"
	blockEC          = "EC PRIVATE KEY"
	blockCurve       = "EC PARAMETERS" // beside an EC key, by habit of openssl
	blockEncrypted   = "ENCRYPTED PRIVATE KEY"
)

// parseIdentity makes an identity without its digest. The refusals say which
// secret and what kind of thing is wrong: the errors of the parsers may quote.
func parseIdentity(r TLSRefs, values map[string]Value) (*Identity, *call.Refusal) {
	identity := new(Identity)
	if r.CA != "" {
		roots, reason := parseRoots(values[r.CA].Expose())
		if reason != "" {
			return nil, call.Refuse(call.SecretUnusable, "secret %s %s", r.CA, reason)
		}
		identity.Roots = roots
	}
	if r.Cert == "" {
		return identity, nil
	}
	cert, key := values[r.Cert].Expose(), values[r.Key].Expose()
	chain, reason := parseCertificates(cert)
	if reason != "" {
		return nil, call.Refuse(call.SecretUnusable, "secret %s %s", r.Cert, reason)
	}
	if reason := checkKey(key); reason != "" {
		return nil, call.Refuse(call.SecretUnusable, "secret %s %s", r.Key, reason)
	}
	pair, err := tls.X509KeyPair(cert, key)
	if err != nil {
		return nil, call.Refuse(call.SecretUnusable, "secret %s is not the key of the first certificate of secret %s", r.Key, r.Cert)
	}
	pair.Leaf = chain[0]
	identity.Certificates = []tls.Certificate{pair}
	return identity, nil
}

func parseRoots(text []byte) (*x509.CertPool, string) {
	certificates, reason := parseCertificates(text)
	if reason != "" {
		return nil, reason
	}
	roots := x509.NewCertPool()
	for _, certificate := range certificates {
		roots.AddCert(certificate)
	}
	return roots, ""
}

// parseCertificates wants at least one certificate and no other block.
func parseCertificates(text []byte) ([]*x509.Certificate, string) {
	blocks, reason := parseBlocks(text, blockCertificate)
	if reason != "" {
		return nil, reason
	}
	var certificates []*x509.Certificate
	for _, block := range blocks {
		certificate, err := x509.ParseCertificate(block.Bytes)
		if err != nil {
			return nil, "holds a certificate that cannot be read"
		}
		certificates = append(certificates, certificate)
	}
	if len(certificates) == 0 {
		return nil, "holds no certificate in PEM"
	}
	return certificates, ""
}

// checkKey wants one private key that is not encrypted.
func checkKey(text []byte) string {
	blocks, reason := parseBlocks(text, blockKey, blockRSA, blockEC, blockCurve, blockEncrypted)
	if reason != "" {
		return reason
	}
	keys := 0
	for _, block := range blocks {
		if block.Type == blockEncrypted || block.Headers["DEK-Info"] != "" {
			return "is an encrypted key"
		}
		if block.Type == blockCurve {
			continue
		}
		if keys++; !readable(block) {
			return "holds a key that cannot be read"
		}
	}
	if keys != 1 {
		return "holds no private key in PEM, or several"
	}
	return ""
}

func readable(block *pem.Block) bool {
	var err error
	switch block.Type {
	case blockRSA:
		_, err = x509.ParsePKCS1PrivateKey(block.Bytes)
	case blockEC:
		_, err = x509.ParseECPrivateKey(block.Bytes)
	default:
		_, err = x509.ParsePKCS8PrivateKey(block.Bytes)
	}
	return err == nil
}

// boundary is what every line around a block has, and no other line.
const boundary = "-----"

// parseBlocks reads all blocks of text, which must be of the types allowed.
// What stands outside of blocks is a comment; a block that is cut or damaged
// is not, though the decoder passes over it.
func parseBlocks(text []byte, allowed ...string) ([]*pem.Block, string) {
	var blocks []*pem.Block
	for {
		block, rest := pem.Decode(text)
		if block == nil {
			break
		}
		// A block has two lines with two boundaries each.
		if bytes.Count(text[:len(text)-len(rest)], []byte(boundary)) != 4 {
			return nil, "holds a damaged PEM block"
		}
		if !slices.Contains(allowed, block.Type) {
			return nil, "holds a PEM block of another kind than its field is for"
		}
		blocks, text = append(blocks, block), rest
	}
	if bytes.Contains(text, []byte(boundary)) {
		return nil, "holds a damaged PEM block"
	}
	return blocks, ""
}
