package registry

import (
	"encoding/json"
	"errors"
	"strings"
	"time"

	"mcprelay/shared/call"
	"mcprelay/shared/endpoint"
)

// Bounds of issuers. Each is asked for its keys by every process of the relay.
const (
	MaxIssuers   = 16
	MaxIssuerID  = 512            // bytes of the iss of a token, and of its audience
	MaxSubjects  = 4096           // of one issuer's map
	MaxKeys      = 64 << 10       // bytes of a set of keys in the file
	MaxLifetime  = 24 * time.Hour // of a token, from its iat to its exp (SECURITY 4.5)
	MaxClaim     = 128            // bytes of the name of a claim; some are URLs
	DefaultClaim = "sub"          // RFC 7519 section 4.1.2
)

// Issuer is somebody else whose tokens callers may show. Everything that a
// token is judged by is here: nothing is taken from the token itself.
type Issuer struct {
	Issuer       string          // iss, byte for byte
	JWKSURI      endpoint.URL    // zero where Keys is given
	Keys         json.RawMessage // a JWK set (RFC 7517 section 5) of public keys; nil where JWKSURI is given
	Audience     string          // the only aud
	Kind         call.Kind       // of its callers
	SubjectClaim string
	Subjects     map[string]string // subject of the token -> of the caller; nil: as they are. Whoever is not in it is refused
	Algorithms   []string          // of IssuerAlgorithms
	Scopes       []call.Scope      // the most that its callers may
	MaxLifetime  time.Duration     // of a token
}

// IssuerAlgorithms lists the signatures that an issuer's tokens may have: the
// asymmetric ones of RFC 7518 section 3.1 and RFC 8037. With a shared secret,
// whoever checks a token could issue one.
func IssuerAlgorithms() []string {
	return []string{"RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA"}
}

// DefaultAlgorithms are those of an issuer that lists none.
func DefaultAlgorithms() []string { return []string{"RS256", "ES256"} }

// ErrClaimed is the error of a write that registers an issuer for an audience
// that another tenant has: a token would not say whose caller it is.
var ErrClaimed = errors.New("another tenant has registered the issuer for this audience")

// Claim is what a tenant takes by registering audience: no other tenant may
// have an audience of the same issuer that comes to the same. The relay's URL
// and the MCP endpoints below it do, since a token for one may be for another.
func Claim(audience string) string {
	if base, ok := strings.CutSuffix(audience, "/v1/mcp"); ok {
		return base
	}
	if rest, ok := strings.CutSuffix(audience, "/mcp"); ok {
		if at := strings.LastIndexByte(rest, '/'); at >= 0 {
			if base, ok := strings.CutSuffix(rest[:at], "/v1/servers"); ok {
				return base
			}
		}
	}
	return strings.TrimSuffix(audience, "/")
}

// Claim is what a document of an issuer takes, see [Claim]; empty for nothing.
func (d Document) Claim() string {
	var body struct {
		Audience string `json:"audience"`
	}
	if d.Kind != KindIssuer || json.Unmarshal(d.Body, &body) != nil {
		return ""
	}
	return Claim(body.Audience)
}
