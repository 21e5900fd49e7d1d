// Package auth finds out who a caller is.
package auth

import (
	"context"
	"io"
	"net/http"
	"time"

	"mcprelay/shared/call"
	"mcprelay/shared/token"
)

// Tokens finds the record of a service token. The error of an unknown key id
// wraps [token.ErrUnknown].
type Tokens interface {
	Token(ctx context.Context, keyID string) (token.Record, error)
}

// Caller is a caller that the configuration names, by the hash of its token.
type Caller struct {
	Hash      [32]byte
	Principal call.Principal
}

// Options is what an authenticator is made of.
type Options struct {
	Tokens  Tokens           // nil: only Callers are known
	Callers []Caller         // at most a few: every one is compared at each request
	Now     func() time.Time // nil: time.Now
}

// MinimumToken is the least length of a configured caller's token, in characters
// (DESIGN 5).
const MinimumToken = 16

// Authenticator turns credentials into principals.
type Authenticator struct{ o Options }

// New makes an authenticator.
func New(o Options) *Authenticator { return &Authenticator{o} }

// Authenticate finds the principal of a request by its headers.
func (a *Authenticator) Authenticate(ctx context.Context, h http.Header) (call.Principal, *call.Refusal) {
	return call.Principal{}, call.Refuse(call.Unauthenticated, "no credential")
}

// NewCaller makes a caller of the token it will present: at least 16 visible
// ASCII characters without a comma.
func NewCaller(token string, p call.Principal) (Caller, error) { return Caller{}, nil }

// Local mints a service token for a relay without configured callers. Its
// principal is the subject "local" of the tenant, with every scope.
func Local(tenant string, rand io.Reader) (token string, c Caller, err error) {
	return "", Caller{}, nil
}
