package auth

import (
	"encoding/json"
	"time"

	"mcprelay/shared/call"
	"mcprelay/shared/endpoint"
)

// Issuer is what one tenant registered about an issuer of JWTs: everything that
// a token is judged by. Nothing of it ever comes from a token.
type Issuer struct {
	Tenant       string
	Issuer       string       // compared with iss byte by byte
	JWKSURI      endpoint.URL // where its keys are; zero where Keys is given
	Keys         json.RawMessage
	Audience     string            // compared with aud byte by byte
	Kind         call.Kind         // of its callers
	SubjectClaim string            // the claim that names the caller; empty: sub
	Subjects     map[string]string // nil: callers are named as the claim does; else the unmapped are refused
	Algorithms   []string          // empty: RS256 and ES256
	Scopes       []call.Scope      // the most its callers may; empty: call
	MaxLifetime  time.Duration     // the longest life of a token; zero: [DefaultLifetime]
}

const (
	// MaxJWT bounds a token in bytes, before anything of it is parsed.
	MaxJWT = 8 << 10
	// MaxKeys bounds a key set, in bytes.
	MaxKeys = 256 << 10
	// DefaultLifetime is the longest life of a token, where its issuer's
	// registration says nothing.
	DefaultLifetime = 24 * time.Hour
)
