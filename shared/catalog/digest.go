package catalog

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
)

// Digest is the SHA-256 of a descriptor's canonical form, in hex.
func Digest(descriptor json.RawMessage) string {
	sum := sha256.Sum256(descriptor)
	return hex.EncodeToString(sum[:])
}
