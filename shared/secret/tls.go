package secret

import (
	"crypto/tls"
	"crypto/x509"
	"time"

	"mcprelay/shared/call"
)

// TLSRefs are the secrets that a server's TLS settings are made of, each
// optional: PEM text of a private CA, and of a client certificate and its key.
// The zero TLSRefs asks for nothing.
type TLSRefs struct {
	CA   string `json:"ca_ref,omitempty"`
	Cert string `json:"client_cert_ref,omitempty"`
	Key  string `json:"client_key_ref,omitempty"`
}

// IsZero reports whether r refers to nothing.
func (r TLSRefs) IsZero() bool { return r == TLSRefs{} }

// References lists the secrets that r uses, each once, in order.
func (r TLSRefs) References() []string { return unique(r.CA, r.Cert, r.Key) }

// Identity is whom a server must be, and who the relay is to it.
type Identity struct {
	Roots        *x509.CertPool // nil for those of the system
	Certificates []tls.Certificate
	Digest       string // of everything in it; never empty
}

// Identities makes identities and keeps the last of them, so that PEM text is
// parsed once a version. The zero Identities is ready. It may be used by
// several goroutines.
type Identities struct {
	Now func() time.Time // nil for time.Now
}

// Bind makes the identity of r from values, by reference, and gives what must
// be masked: the private key. It is nil where r is zero. The refusal is
// secret_missing or secret_unusable and never quotes a value.
func (i *Identities) Bind(r TLSRefs, values map[string]Value) (*Identity, []Value, *call.Refusal) {
	return nil, nil, nil
}
