package token

import (
	"crypto/hkdf"
	"crypto/hmac"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"errors"
	"fmt"
)

const (
	// PepperSize is the length of a key that peppers are made of, in bytes.
	PepperSize = 32

	// pepperPurpose keeps a pepper apart from every other use of the same key
	// (RFC 5869, 3.2).
	pepperPurpose = "mcprelay service token 1"
	// nameLen is the length of a pepper's name, in bytes: it tells the few
	// peppers of one deployment apart, and nothing about them.
	nameLen = 4
)

var (
	errNoPepper   = errors.New("token: there is no key to hash tokens with")
	errPepperSize = fmt.Errorf("token: a key must have %d bytes", PepperSize)
)

// Peppers are the keys that tokens are hashed with, so that whoever reads the
// records alone can neither check a guess nor plant a token. The zero Peppers,
// and nil, know none: they make no records and verify only those of before.
type Peppers struct {
	peppers []pepper
}

type pepper struct {
	name string
	key  []byte
}

// NewPeppers derives peppers of keys of [PepperSize] bytes: the first one
// hashes new tokens, all of them verify. A token outlives the replacement of a
// key as long as the key is still among them. No keys give no peppers.
func NewPeppers(keys ...[]byte) (*Peppers, error) {
	p := &Peppers{}
	for _, key := range keys {
		if len(key) != PepperSize {
			return nil, errPepperSize
		}
		own, err := hkdf.Key(sha256.New, key, nil, pepperPurpose, PepperSize+nameLen)
		if err != nil {
			return nil, fmt.Errorf("token: deriving a pepper: %w", err)
		}
		p.peppers = append(p.peppers, pepper{name: hex.EncodeToString(own[PepperSize:]), key: own[:PepperSize]})
	}
	return p, nil
}

// Seal sets the hash of a record to that of the token s.
func (p *Peppers) Seal(r *Record, s string) error {
	if p == nil || len(p.peppers) == 0 {
		return errNoPepper
	}
	r.Hash, r.Pepper = p.peppers[0].digest(s), p.peppers[0].name
	return nil
}

func (p pepper) digest(s string) Digest {
	mac := hmac.New(sha256.New, p.key)
	mac.Write([]byte(s))
	return Digest(mac.Sum(nil))
}

// matches reports whether s is the token that r was made of. Both ways of
// hashing take place whatever r says, with a pepper that fits nothing where its
// own is gone: the time does not tell which records there are.
func (p *Peppers) matches(r Record, s string) bool {
	used, known := pepper{key: make([]byte, PepperSize)}, r.Pepper == ""
	if p != nil {
		for _, one := range p.peppers {
			if one.name == r.Pepper {
				used, known = one, true
			}
		}
	}
	given, plain := used.digest(s), Digest(Hash(s))
	if r.Pepper == "" {
		given = plain
	}
	return subtle.ConstantTimeCompare(given[:], r.Hash[:]) == 1 && known
}
