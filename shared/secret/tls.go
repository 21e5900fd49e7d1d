package secret

import (
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"encoding/binary"
	"encoding/hex"
	"sync"
	"time"

	"mcprelay/shared/call"
)

const (
	// MaxPEM is the longest PEM text that is used, in bytes: some forty
	// certificates. Secrets Manager keeps no longer secret.
	MaxPEM = 64 << 10

	// maxIdentities bounds what is kept. A tenant has at most 256 servers.
	maxIdentities = 256
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
	Roots        *x509.CertPool    // nil for those of the system
	Certificates []tls.Certificate // none, or one
	Digest       string            // of everything in it; never empty
}

// Identities makes identities and keeps the last of them, so that PEM text is
// parsed once a version. The zero Identities is ready. It may be used by
// several goroutines.
type Identities struct {
	Now func() time.Time // nil for time.Now

	mu    sync.Mutex
	kept  map[string]*Identity
	order []string // digests, the oldest first
}

// Bind makes the identity of r from values, by reference, and gives what must
// be masked: the private key. It is nil where r is zero. The refusal is
// secret_missing, or secret_unusable for what is no PEM text of its kind, for
// a key of another certificate and for a client certificate out of its time;
// it never quotes a value.
func (i *Identities) Bind(r TLSRefs, values map[string]Value) (*Identity, []Value, *call.Refusal) {
	if r.IsZero() {
		return nil, nil, nil
	}
	if (r.Cert == "") != (r.Key == "") {
		return nil, nil, call.Refuse(call.SecretUnusable, "a client certificate and its key go together")
	}
	for _, ref := range r.References() {
		switch n := values[ref].Len(); {
		case n == 0:
			return nil, nil, call.Refuse(call.SecretMissing, "secret %s is not set", ref)
		case n > MaxPEM:
			return nil, nil, call.Refuse(call.SecretUnusable, "secret %s has %d bytes, more than %d", ref, n, MaxPEM)
		}
	}
	identity, refusal := i.identity(r, values)
	if refusal == nil {
		refusal = inTime(r, identity, i.now())
	}
	if refusal != nil {
		return nil, nil, refusal
	}
	var masked []Value
	if r.Key != "" {
		masked = append(masked, values[r.Key])
	}
	return identity, masked, nil
}

// identity gives a kept identity, or parses and keeps it. Two callers may both
// parse what is new.
func (i *Identities) identity(r TLSRefs, values map[string]Value) (*Identity, *call.Refusal) {
	key := digest(r, values)
	i.mu.Lock()
	identity, ok := i.kept[key]
	i.mu.Unlock()
	if ok {
		return identity, nil
	}
	identity, refusal := parseIdentity(r, values)
	if refusal != nil {
		return nil, refusal
	}
	identity.Digest = key
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.kept == nil {
		i.kept = make(map[string]*Identity)
	}
	if _, ok := i.kept[key]; !ok {
		i.order = append(i.order, key)
	}
	i.kept[key] = identity
	if len(i.order) > maxIdentities {
		delete(i.kept, i.order[0])
		i.order = i.order[1:]
	}
	return identity, nil
}

func (i *Identities) now() time.Time {
	if i.Now == nil {
		return time.Now()
	}
	return i.Now()
}

// digest names an identity by its bytes. A part that is absent differs from an
// empty one and from another part with the same bytes.
func digest(r TLSRefs, values map[string]Value) string {
	h := sha256.New()
	for _, ref := range []string{r.CA, r.Cert, r.Key} {
		if ref == "" {
			h.Write([]byte{0})
			continue
		}
		b := values[ref].Expose()
		h.Write(binary.BigEndian.AppendUint64([]byte{1}, uint64(len(b))))
		h.Write(b)
	}
	return hex.EncodeToString(h.Sum(nil))
}

// inTime refuses a client certificate that no server would take, before its
// answer, an alert without a word, is all there is.
func inTime(r TLSRefs, identity *Identity, now time.Time) *call.Refusal {
	for _, certificate := range identity.Certificates {
		switch leaf := certificate.Leaf; {
		case now.After(leaf.NotAfter):
			return call.Refuse(call.SecretUnusable, "the client certificate of secret %s expired at %s", r.Cert, leaf.NotAfter.UTC().Format(time.RFC3339))
		case now.Before(leaf.NotBefore):
			return call.Refuse(call.SecretUnusable, "the client certificate of secret %s is not valid before %s", r.Cert, leaf.NotBefore.UTC().Format(time.RFC3339))
		}
	}
	return nil
}
