// Package auth finds out who a caller is.
//
// It promises that a credential is compared by its hash, in a time that does
// not depend on how much of it is right, that the tenant and the scopes come
// from the credential's record alone, and that a revoked token is refused
// within [CacheTTL]. It refuses requests with more than one credential of a
// kind, never tries a second credential after a first was refused, and says
// the same of every credential that it refuses.
//
// # Credentials
//
// Authorization: Bearer <token>, where the token is a service token or that of
// a configured caller; or X-Relay-Client-Secret: <token> beside
// X-Relay-Client-Id: <key id or subject of that token>. Where Authorization is
// there, well-formed or not, the other two headers are not looked at.
package auth

import (
	"context"
	"crypto/subtle"
	"errors"
	"net/http"
	"slices"
	"time"

	"mcprelay/shared/call"
	"mcprelay/shared/endpoint"
	"mcprelay/shared/token"
)

// Tokens finds the record of a service token. The error of an unknown key id
// wraps [token.ErrUnknown].
type Tokens interface {
	Token(ctx context.Context, keyID string) (token.Record, error)
}

// Options is what an authenticator is made of.
type Options struct {
	Tokens  Tokens           // nil: only Callers are known
	Callers []Caller         // at most a few: every one is compared at each request
	Peppers *token.Peppers   // of the records' hashes; nil: only plain ones are verified
	Now     func() time.Time // nil: time.Now

	// Issuers gives what is registered about an issuer, an entry a tenant and
	// audience; none for one that nobody trusts. It is asked with the iss of a
	// token that nobody has verified, at most once in [CacheTTL] for each. Nil: no
	// issuer is trusted.
	Issuers func(ctx context.Context, issuer string) ([]Issuer, error)
	// Fetch reads the key set of an issuer, at most [MaxKeys] bytes. Nil: only
	// key sets that are registered themselves are used.
	Fetch func(ctx context.Context, from endpoint.URL) ([]byte, error)
}

// Authenticator turns credentials into principals.
type Authenticator struct {
	callers []Caller
	peppers *token.Peppers
	records *records
	now     func() time.Time
}

// New makes an authenticator.
func New(o Options) *Authenticator {
	if o.Now == nil {
		o.Now = time.Now
	}
	return &Authenticator{callers: slices.Clone(o.Callers), peppers: o.Peppers, records: newRecords(o.Tokens, o.Now), now: o.Now}
}

// Authenticate finds the principal of a request by its headers. The refusal is
// unauthenticated, with a detail for the operator that holds nothing of the
// credential but a key id, or auth_unavailable where the store of tokens
// cannot be asked.
func (a *Authenticator) Authenticate(ctx context.Context, h http.Header) (call.Principal, *call.Refusal) {
	c, refusal := read(h)
	if refusal != nil {
		return call.Principal{}, refusal
	}
	p, refusal := a.principal(ctx, c.token)
	if refusal != nil {
		return call.Principal{}, refusal
	}
	if c.id != "" && c.id != p.KeyID && c.id != p.Subject {
		return call.Principal{}, deny("the client id is not that of the secret")
	}
	if !p.Known() || !p.Kind.Valid() {
		return call.Principal{}, deny("the record of the credential names no caller")
	}
	p.Scopes = slices.Clone(p.Scopes)
	return p, nil
}

// principal finds whose token s is.
func (a *Authenticator) principal(ctx context.Context, s string) (call.Principal, *call.Refusal) {
	if p, ok := a.configured(s); ok {
		return p, nil
	}
	keyID, err := token.Parse(s)
	if err != nil {
		return call.Principal{}, deny("the token is neither a service token nor that of a configured caller")
	}
	record, err := a.records.find(ctx, keyID)
	unknown := errors.Is(err, token.ErrUnknown)
	if err != nil && !unknown {
		return call.Principal{}, &call.Refusal{Reason: call.AuthUnavailable, Detail: "the record of key id " + keyID + " could not be read", Err: err}
	}
	// The zero record of an unknown key id is checked like any other, so that
	// the time of the answer does not tell which key ids exist.
	if valid := record.Check(s, a.now(), a.peppers); !valid || unknown {
		return call.Principal{}, deny("key id %s is unknown, expired or revoked, or its secret is wrong", keyID)
	}
	return record.Principal(), nil
}

// configured finds a configured caller. Every one is compared, so that the
// time tells nothing about which came close.
func (a *Authenticator) configured(s string) (call.Principal, bool) {
	hash := token.Hash(s)
	var found call.Principal
	match := 0
	for _, c := range a.callers {
		if same := subtle.ConstantTimeCompare(hash[:], c.Hash[:]); same == 1 {
			found, match = c.Principal, 1
		}
	}
	return found, match == 1
}

func deny(format string, args ...any) *call.Refusal {
	return call.Refuse(call.Unauthenticated, format, args...)
}
