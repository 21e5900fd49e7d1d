package idempotency

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
)

// Key names a [Record]. It is a digest, so it tells a reader of the store
// nothing about the caller, and a caller cannot choose another's.
type Key string

// KeyOf is the key that a caller's Idempotency-Key comes to: the same text is
// another key for another tenant, another kind of caller or another subject.
func KeyOf(tenant, kind, subject, key string) Key {
	buf := make([]byte, 0, 512)
	for _, part := range []string{tenant, kind, subject, key} {
		// The lengths keep two lists of parts from running into the same bytes.
		buf = binary.BigEndian.AppendUint64(buf, uint64(len(part)))
		buf = append(buf, part...)
	}
	sum := sha256.Sum256(buf)
	return Key("I#" + base64.RawURLEncoding.EncodeToString(sum[:]))
}
