package turn

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"strings"
)

// Key names the present turn of one run of one caller. It is a digest, so it
// tells a reader of the store nothing about the caller, and a caller cannot
// choose another's.
type Key string

// KeyOf is the key of a caller's run: the same run is another one for another
// tenant, another kind of caller or another subject.
func KeyOf(tenant, kind, subject, run string) Key {
	buf := make([]byte, 0, 512)
	for _, part := range []string{tenant, kind, subject, run} {
		// The lengths keep two lists of parts from running into the same bytes.
		buf = binary.BigEndian.AppendUint64(buf, uint64(len(part)))
		buf = append(buf, part...)
	}
	sum := sha256.Sum256(buf)
	return keyOf(sum[:])
}

// The parts of an id. Together the bytes fill their base64url form, so that one
// id has one spelling.
const (
	idPrefix    = "trn_"
	randomBytes = 16 // nobody guesses the turn of another, or of later
	idBytes     = sha256.Size + randomBytes
)

// KeyOfID is the key that an id belongs to; false for what is no id. Anybody
// can make up an id of any key: only a [Turn] that is stored has authority.
func KeyOfID(id string) (Key, bool) {
	text, ok := strings.CutPrefix(id, idPrefix)
	if !ok || len(text) != base64.RawURLEncoding.EncodedLen(idBytes) {
		return "", false
	}
	raw, err := base64.RawURLEncoding.DecodeString(text)
	if err != nil || len(raw) != idBytes { // the decoder skips line breaks
		return "", false
	}
	return keyOf(raw[:sha256.Size]), true
}

// newID is an id of a key that nobody has seen.
func newID(key Key) string {
	raw, _ := base64.RawURLEncoding.DecodeString(strings.TrimPrefix(string(key), keyPrefix))
	random := make([]byte, randomBytes)
	// crypto/rand.Read never fails since Go 1.24.
	_, _ = rand.Read(random)
	return idPrefix + base64.RawURLEncoding.EncodeToString(append(raw, random...))
}

const keyPrefix = "N#"

func keyOf(sum []byte) Key {
	return Key(keyPrefix + base64.RawURLEncoding.EncodeToString(sum))
}
