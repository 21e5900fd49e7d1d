package token

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"time"

	"mcprelay/shared/call"
)

// Digest is the SHA-256 of a token; its text is lower-case hex.
type Digest [sha256.Size]byte

// Hash digests a whole token, or any other string that a caller presents as a
// credential.
func Hash(s string) [sha256.Size]byte { return sha256.Sum256([]byte(s)) }

// MarshalText writes the digest in hex.
func (d Digest) MarshalText() ([]byte, error) { return hex.AppendEncode(nil, d[:]), nil }

// UnmarshalText reads 64 hex digits.
func (d *Digest) UnmarshalText(text []byte) error {
	if len(text) != hex.EncodedLen(len(d)) {
		return fmt.Errorf("a digest has %d hex digits, not %d", hex.EncodedLen(len(d)), len(text))
	}
	if _, err := hex.Decode(d[:], text); err != nil {
		return fmt.Errorf("reading a digest: %w", err)
	}
	return nil
}

// Record is what is kept of a token. The zero Record accepts nothing.
type Record struct {
	KeyID     string       `json:"key_id"`
	Hash      Digest       `json:"hash"`
	Pepper    string       `json:"pepper,omitempty"` // name of the one that Hash was made with; empty: Hash is a plain SHA-256
	Tenant    string       `json:"tenant"`
	Subject   string       `json:"subject"`
	Kind      call.Kind    `json:"kind"`
	Scopes    []call.Scope `json:"scopes"`
	Created   time.Time    `json:"created,omitzero"`
	Expires   time.Time    `json:"expires,omitzero"`    // zero: never
	RevokedAt time.Time    `json:"revoked_at,omitzero"` // zero: not revoked
}

// Check reports whether s is the token of r and may be used at now. A
// revocation counts from the moment it is written, whatever its time says, so
// that clocks that differ cannot postpone it; an expiry counts from its own
// instant on. How long Check takes tells nothing about the secret. The peppers
// may be nil, where every record is of before.
func (r Record) Check(s string, now time.Time, peppers *Peppers) bool {
	same := peppers.matches(r, s)
	keyID, err := Parse(s)
	known := err == nil && keyID == r.KeyID
	return same && known && r.Alive(now)
}

// Alive reports whether r is neither revoked nor expired at now.
func (r Record) Alive(now time.Time) bool {
	return r.RevokedAt.IsZero() && (r.Expires.IsZero() || now.Before(r.Expires))
}

// Principal is the caller that r stands for.
func (r Record) Principal() call.Principal {
	return call.Principal{Tenant: r.Tenant, Subject: r.Subject, Kind: r.Kind, Scopes: r.Scopes, KeyID: r.KeyID}
}
