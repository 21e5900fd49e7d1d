package auth

import (
	"net/http"
	"strings"

	"mcprelay/shared/call"
)

const (
	// HeaderClientID names the key id or the subject of a credential, for
	// clients that cannot set Authorization.
	HeaderClientID = "X-Relay-Client-Id"
	// HeaderClientSecret carries the token beside it.
	HeaderClientSecret = "X-Relay-Client-Secret"

	authorization = "Authorization"

	// MaxCredential bounds a credential that is no JWT, in bytes; it is hashed at
	// every request. A service token has 48.
	MaxCredential = 512
)

// credential is what a request presents, well-formed.
type credential struct {
	token string
	id    string // the client id beside it; empty for Authorization
}

// read finds the credential of a request: Authorization where it is there,
// else the pair of client headers.
func read(h http.Header) (credential, *call.Refusal) {
	if _, there := h[authorization]; there {
		value, refusal := single(h, authorization, MaxJWT+len("Bearer "))
		if refusal != nil {
			return credential{}, refusal
		}
		token, refusal := bearer(value)
		return credential{token: token}, refusal
	}
	_, id := h[HeaderClientID]
	_, secret := h[HeaderClientSecret]
	if !id && !secret {
		return credential{}, deny("the request has no credential")
	}
	var c credential
	var refusal *call.Refusal
	if c.id, refusal = single(h, HeaderClientID, MaxCredential); refusal != nil {
		return credential{}, refusal
	}
	if c.token, refusal = single(h, HeaderClientSecret, MaxCredential); refusal != nil {
		return credential{}, refusal
	}
	return c, nil
}

// bearer takes the token out of an Authorization value: the scheme in any
// case, one space, the token (RFC 6750 section 2.1).
func bearer(value string) (string, *call.Refusal) {
	scheme, token, _ := strings.Cut(value, " ")
	if !strings.EqualFold(scheme, "Bearer") {
		return "", deny("the scheme of Authorization is not Bearer")
	}
	if token == "" || strings.Contains(token, " ") {
		return "", deny("Authorization is not Bearer and one token")
	}
	return token, nil
}

// single gives the one value of a header. A comma is refused like a second
// header: gateways join repeated headers with it.
func single(h http.Header, name string, longest int) (string, *call.Refusal) {
	values := h[name]
	switch {
	case len(values) == 0 || values[0] == "":
		return "", deny("%s is missing or empty", name)
	case len(values) > 1 || strings.Contains(values[0], ","):
		return "", deny("%s is there more than once", name)
	case len(values[0]) > longest:
		return "", deny("%s is longer than a credential can be", name)
	}
	for i := range len(values[0]) {
		if c := values[0][i]; c < ' ' || c > '~' {
			return "", deny("%s holds a byte that is not visible ASCII", name)
		}
	}
	return values[0], nil
}
