package auth

import (
	"encoding/base64"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"mcprelay/shared/call"
)

// object is a JSON object of a token. Repeated names never come so far: two
// readers of such an object see different ones (RFC 8725, 2.4).
type object map[string]jsontext.Value

// jws is a token as it is written: nothing of it is verified.
type jws struct {
	text   string
	alg    string
	kid    string
	hasKid bool
	claims object
}

// forbidden are members of a header that name a key, change what is signed, or
// say that the token is not what it looks like (RFC 7515 sections 4.1 and
// 4.1.11, RFC 7797, RFC 7516 section 4.1.3). A token that has one is refused
// whatever its value.
func forbidden() []string {
	return []string{"jku", "jwk", "x5u", "x5c", "crit", "b64", "zip", "enc", "cty", "nonce"}
}

// readJWS takes a token apart: three segments of unpadded base64url, each with
// one spelling, a header and claims (RFC 7515 section 7.1). [MaxJWT] is held by
// whoever reads the header.
func readJWS(text string) (jws, *call.Refusal) {
	parts := strings.Split(text, ".")
	if len(parts) != 3 {
		return jws{}, deny("the token has %d segments, not 3", len(parts))
	}
	var raw [3][]byte
	for i, part := range parts {
		decoded, ok := decode(part)
		if !ok {
			return jws{}, deny("segment %d of the token is not base64url", i+1)
		}
		raw[i] = decoded
	}
	var head object
	t := jws{text: text}
	if json.Unmarshal(raw[0], &head) != nil || head == nil {
		return jws{}, deny("the header of the token is not one JSON object")
	}
	if json.Unmarshal(raw[1], &t.claims) != nil || t.claims == nil {
		return jws{}, deny("the claims of the token are not one JSON object")
	}
	return t, t.readHeader(head)
}

// decode reads unpadded base64url without line breaks, which the decoder would
// skip, and without stray bits at its end (RFC 4648, 3.3 and 3.5).
func decode(part string) ([]byte, bool) {
	if part == "" || strings.ContainsAny(part, "\r\n") {
		return nil, false
	}
	decoded, err := base64.RawURLEncoding.Strict().DecodeString(part)
	return decoded, err == nil
}

func (t *jws) readHeader(head object) *call.Refusal {
	for _, name := range forbidden() {
		if _, there := head[name]; there {
			return deny("the header of the token has the member %s", name)
		}
	}
	if typ, there := head["typ"]; there && !lawfulType(typ) {
		return deny("the token is of another type than JWT and at+jwt")
	}
	var ok bool
	if t.alg, ok = textOf(head["alg"]); !ok {
		return deny("the header of the token names no algorithm")
	}
	if kid, there := head["kid"]; there {
		if t.kid, t.hasKid = textOf(kid); !t.hasKid {
			return deny("the key id of the token is not a string")
		}
	}
	return nil
}

// lawfulType passes what RFC 7519 section 5.1 and RFC 9068 section 2.1 call an
// access token: their names are media types, without case and with or without
// "application/".
func lawfulType(value jsontext.Value) bool {
	typ, ok := textOf(value)
	if !ok {
		return false
	}
	typ = strings.TrimPrefix(strings.ToLower(typ), "application/")
	return slices.Contains([]string{"jwt", "at+jwt"}, typ)
}

// textOf reads a JSON string; false for everything else, nothing included.
func textOf(value jsontext.Value) (string, bool) {
	if value.Kind() != '"' {
		return "", false
	}
	var text string
	err := json.Unmarshal(value, &text)
	return text, err == nil
}
