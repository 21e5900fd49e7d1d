// Package seal closes what the relay hands to an agent and wants back as it
// was: the state that a server keeps in its questions (requestState of MCP
// 2026-07-28, basic/patterns/mrtr).
//
// It promises that a sealed state opens for the caller, the server and the
// request it was made for and for nobody and nothing else, that it opens until
// it expires and not after, and that an agent can neither read nor change it.
// It refuses to say why a state does not open beyond forged and expired, and it
// keeps nothing, so a state may be given back more than once.
package seal

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/hkdf"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"strings"
	"time"
)

const (
	// KeySize is the length of a key, in bytes: 32, for AES-256.
	KeySize = 32

	// MaxSealed bounds a sealed state, in bytes: what an agent gives back is
	// read up to 64 KiB.
	MaxSealed = 64 << 10

	// MaxState bounds a state before it is sealed, in bytes. Sealed it is a third
	// longer, by base64.
	MaxState = MaxSealed/4*3 - overhead
)

const (
	// version is the first byte of what is sealed, so that another form can
	// follow this one.
	version = 1
	// overhead is what sealing adds: the version, the nonce, the expiry and the
	// tag.
	overhead = 1 + nonceSize + expirySize + tagSize

	nonceSize  = 12 // NIST SP 800-38D, 8.2.2
	expirySize = 8
	tagSize    = 16
)

// purpose keeps a key that is derived for request states apart from every other
// use that the same secret may find (RFC 5869, 3.2).
const purpose = "mcprelay request state 1"

// The errors of [Sealer.Open]. Nothing else comes from it.
var (
	// ErrForged says that no key of the sealer sealed this for this binding:
	// changed, cut, somebody else's, or of another request.
	ErrForged = errors.New("not sealed here for this")
	// ErrExpired says that the state was genuine and its time is over.
	ErrExpired = errors.New("the sealed state has expired")
)

var (
	errNoKey    = errors.New("seal: there is no key")
	errKeySize  = errors.New("seal: a key must have 32 bytes")
	errTooLarge = errors.New("the state is too large to be sealed")
)

// Binding says whose a state is and what it is about. Every field takes part:
// a state opens with the very binding that it was sealed with.
type Binding struct {
	Tenant  string
	Kind    string // of the caller
	Subject string // the caller
	Server  string
	Method  string
	Digest  string // of the request
}

// Sealer seals and opens. It is safe for concurrent use. The zero Sealer, and
// nil, seal nothing and open nothing.
type Sealer struct {
	keys []cipher.AEAD
}

// New makes a sealer of keys of [KeySize] bytes: the first one seals, all of
// them open, so that a key can be replaced while states are under way.
func New(keys ...[]byte) (*Sealer, error) {
	if len(keys) == 0 {
		return nil, errNoKey
	}
	s := &Sealer{}
	for _, key := range keys {
		aead, err := derive(key)
		if err != nil {
			return nil, err
		}
		s.keys = append(s.keys, aead)
	}
	return s, nil
}

// derive makes AES-256-GCM with a random nonce in front. One key is good for
// 2^32 of them (NIST SP 800-38D, 8.3): at ten states a second, thirteen years.
func derive(key []byte) (cipher.AEAD, error) {
	if len(key) != KeySize {
		return nil, errKeySize
	}
	own, err := hkdf.Key(sha256.New, key, nil, purpose, KeySize)
	if err != nil {
		return nil, fmt.Errorf("seal: deriving a key: %w", err)
	}
	block, err := aes.NewCipher(own)
	if err != nil {
		return nil, fmt.Errorf("seal: %w", err)
	}
	return cipher.NewGCMWithRandomNonce(block)
}

// Seal closes a state for b until expires, to the millisecond. The text is
// unpadded base64url, at most [MaxSealed] bytes, and differs each time. The
// error says that the state is larger than [MaxState] or that there is no key;
// it does not hold the state.
func (s *Sealer) Seal(b Binding, state string, expires time.Time) (string, error) {
	switch {
	case s == nil || len(s.keys) == 0:
		return "", errNoKey
	case len(state) > MaxState:
		return "", errTooLarge
	}
	plain := binary.BigEndian.AppendUint64(make([]byte, 0, expirySize+len(state)), uint64(expires.UnixMilli()))
	plain = append(plain, state...)
	sealed := s.keys[0].Seal([]byte{version}, nil, plain, b.bytes())
	return base64.RawURLEncoding.EncodeToString(sealed), nil
}

// Open gives the state that was sealed for b, if its time is not over at now.
// The error is [ErrForged] or [ErrExpired].
func (s *Sealer) Open(b Binding, sealed string, now time.Time) (string, error) {
	closed, ok := decode(sealed)
	if s == nil || !ok {
		return "", ErrForged
	}
	bound := b.bytes()
	for _, key := range s.keys {
		plain, err := key.Open(nil, nil, closed, bound)
		if err != nil {
			continue
		}
		expires := time.UnixMilli(int64(binary.BigEndian.Uint64(plain)))
		if !now.Before(expires) {
			return "", ErrExpired
		}
		return string(plain[expirySize:]), nil
	}
	return "", ErrForged
}

// decode gives what follows the version byte. There is one text for one seal:
// no padding, no stray bits at the end, and no line breaks, which the decoder
// would skip (RFC 4648, 3.3 and 3.5).
func decode(sealed string) ([]byte, bool) {
	if len(sealed) > MaxSealed || strings.ContainsAny(sealed, "\r\n") {
		return nil, false
	}
	raw, err := base64.RawURLEncoding.Strict().DecodeString(sealed)
	if err != nil || len(raw) < overhead || raw[0] != version {
		return nil, false
	}
	return raw[1:], true
}

// bytes is the binding as associated data: the version, then each field after
// its length, so that no two bindings look alike.
func (b Binding) bytes() []byte {
	bound := []byte{version}
	for _, field := range []string{b.Tenant, b.Kind, b.Subject, b.Server, b.Method, b.Digest} {
		bound = binary.BigEndian.AppendUint64(bound, uint64(len(field)))
		bound = append(bound, field...)
	}
	return bound
}
