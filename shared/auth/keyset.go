package auth

import (
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/rsa"
	"errors"
	"fmt"
	"strings"

	"github.com/go-jose/go-jose/v4"
	"github.com/go-json-experiment/json"

	"mcprelay/shared/call"
)

const (
	// maxSetKeys bounds the keys of a set. The largest issuers publish about ten.
	maxSetKeys = 64
	// leastRSA and mostRSA bound an RSA modulus, in bits: RFC 7518 section 3.3
	// asks for 2048, and go-jose reads no more than 4096.
	leastRSA = 2048
	mostRSA  = 4096
)

// errKeySet is the error of what is not a key set at all.
var errKeySet = errors.New("not a set of keys of its bounds")

// key verifies signatures.
type key struct {
	id     string
	alg    string // the only one it is for; empty: those of its type
	public any
}

// keySet is the keys of an issuer that verify. Keys of other types and for
// other uses are left out, as RFC 7517 section 5 asks.
type keySet []key

// parseKeys reads a JWK set (RFC 7517 section 5). Keys that this relay does not
// use, weak, secret and private ones among them, are left out; a set that is
// malformed is an error, which holds nothing of it.
func parseKeys(text []byte) (keySet, error) {
	var set struct {
		Keys []object `json:"keys"`
	}
	if len(text) > MaxKeys || json.Unmarshal(text, &set) != nil || set.Keys == nil {
		return nil, errKeySet
	}
	if len(set.Keys) > maxSetKeys {
		return nil, fmt.Errorf("%w: more than %d keys", errKeySet, maxSetKeys)
	}
	keys := keySet{}
	for _, member := range set.Keys {
		if k, ok := parseKey(member); ok {
			keys = append(keys, k)
		}
	}
	return keys, nil
}

// parseKey reads one public key for signatures.
func parseKey(member object) (key, bool) {
	if _, private := member["d"]; private {
		return key{}, false // whoever published it gave it away
	}
	if use, ok := textOf(member["use"]); ok && use != "sig" {
		return key{}, false
	}
	// Only what makes the key: certificates beside it are read by nobody.
	own := object{}
	for _, name := range []string{"kty", "kid", "alg", "n", "e", "crv", "x", "y"} {
		if value, there := member[name]; there {
			own[name] = value
		}
	}
	text, err := json.Marshal(own)
	var read jose.JSONWebKey
	if err != nil || read.UnmarshalJSON(text) != nil {
		return key{}, false
	}
	return key{id: read.KeyID, alg: read.Algorithm, public: read.Key}, strong(read.Key)
}

// strong passes public keys that are long enough.
func strong(public any) bool {
	switch k := public.(type) {
	case *rsa.PublicKey:
		bits := k.N.BitLen()
		return bits >= leastRSA && bits <= mostRSA && k.E >= 3 && k.E%2 == 1
	case *ecdsa.PublicKey, ed25519.PublicKey:
		return true
	}
	return false
}

// fits reports whether k makes signatures of an algorithm.
func (k key) fits(alg string) bool {
	if k.alg != "" && k.alg != alg {
		return false
	}
	switch public := k.public.(type) {
	case *rsa.PublicKey:
		return strings.HasPrefix(alg, "RS") || strings.HasPrefix(alg, "PS")
	case *ecdsa.PublicKey:
		return public.Curve.Params().Name == map[string]string{"ES256": "P-256", "ES384": "P-384", "ES512": "P-521"}[alg]
	case ed25519.PublicKey:
		return alg == "EdDSA"
	}
	return false
}

// errNoKey is the error of a token whose key is not in the set; a newer set may
// have it.
var errNoKey = errors.New("no key of the issuer has the key id of the token")

// pick finds the one key that a token can be signed with: that of its key id,
// or, where it has none, the only one there is.
func (s keySet) pick(t jws) (key, error) {
	var found []key
	for _, k := range s {
		if !t.hasKid || k.id == t.kid {
			found = append(found, k)
		}
	}
	switch {
	case len(found) == 0:
		return key{}, errNoKey
	case len(found) > 1 && t.hasKid:
		return key{}, errors.New("several keys of the issuer have the key id of the token")
	case len(found) > 1:
		return key{}, errors.New("the token has no key id, and its issuer several keys")
	case !found[0].fits(t.alg):
		return key{}, errors.New("the algorithm of the token is not that of its key")
	}
	return found[0], nil
}

// verify checks the signature of a token with its key.
func (t jws) verify(k key) *call.Refusal {
	signed, err := jose.ParseSignedCompact(t.text, []jose.SignatureAlgorithm{jose.SignatureAlgorithm(t.alg)})
	if err == nil {
		_, err = signed.Verify(k.public)
	}
	if err != nil {
		return deny("the signature of the token is wrong")
	}
	return nil
}
