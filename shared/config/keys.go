package config

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"math/big"
	"slices"
	"strings"

	"mcprelay/shared/registry"
)

// The least and the most of an RSA modulus, in bits: RFC 7518 section 3.3, and
// what Go's own TLS takes of a peer.
const (
	leastModulus = 2048
	mostModulus  = 8192
)

// maxKeys bounds the keys of one set. Issuers have the present key and the
// next one.
const maxKeys = 16

// readKeys reads a JWK set (RFC 7517 section 5) of public keys for signatures.
// Whether a curve's point is on it is for whoever checks the signatures.
func readKeys(n node) json.RawMessage {
	if !n.is('{', "an object") {
		return nil
	}
	raw := n.compact()
	if len(raw) > registry.MaxKeys {
		n.fail("it is larger than %d bytes", registry.MaxKeys)
		return nil
	}
	list := object{n}.get("keys")
	if !list.is('[', "a list") {
		return nil
	}
	if len(list.items) == 0 || len(list.items) > maxKeys {
		list.fail("it must have 1 to %d keys", maxKeys)
		return nil
	}
	ids := make(map[string]bool)
	for _, item := range list.items {
		id := readKey(item, len(list.items) > 1)
		if ids[id] && id != "" {
			object{item}.get("kid").fail("another key has this kid")
		}
		ids[id] = true
	}
	return json.RawMessage(raw)
}

// readKey checks a key and gives its kid.
func readKey(n node, several bool) string {
	if !n.is('{', "an object") {
		return ""
	}
	o := object{n}
	// RFC 7518 section 6: what private and shared keys have.
	o.refuse("d p q dp dq qi oth k", "this is part of a secret key: only public keys belong here")
	switch kty := o.get("kty"); kty.text() {
	case "RSA":
		checkModulus(o.get("n"))
		o.get("e").name(base64url)
	case "EC":
		o.get("crv").name(named("P-256", "P-384", "P-521"))
		o.get("x").name(base64url)
		o.get("y").name(base64url)
	case "OKP":
		o.get("crv").name(named("Ed25519"))
		o.get("x").name(base64url)
	default:
		if kty.kind == '"' {
			kty.fail("it is not one of RSA, EC, OKP")
		}
	}
	if use := o.get("use"); use.present() {
		use.name(named("sig"))
	}
	kid := o.get("kid")
	if !kid.present() && !several {
		return ""
	}
	return kid.name(plainWord(registry.MaxClaim))
}

func checkModulus(n node) {
	text := n.name(base64url)
	modulus, err := base64.RawURLEncoding.DecodeString(text)
	if err != nil || text == "" {
		return // it was reported
	}
	if bits := new(big.Int).SetBytes(modulus).BitLen(); bits < leastModulus || bits > mostModulus {
		n.fail("it has %d bits, not %d to %d", bits, leastModulus, mostModulus)
	}
}

// base64url wants the encoding of RFC 7515 section 2: unpadded, and only one of
// the texts that mean the same.
func base64url(s string) error {
	if _, err := base64.RawURLEncoding.Strict().DecodeString(s); err != nil || s == "" {
		return errEncoding
	}
	return nil
}

var errEncoding = errors.New("it is not unpadded base64url")

// named wants one of words.
func named(words ...string) func(string) error {
	return func(s string) error {
		if !slices.Contains(words, s) {
			return fmt.Errorf("it is not %s", strings.Join(words, ", "))
		}
		return nil
	}
}
