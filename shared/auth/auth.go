// Package auth finds out who a caller is.
//
// It promises that a credential is compared by its hash, in a time that does
// not depend on how much of it is right, that the tenant comes from the
// credential's registration and no scope beyond it, and that a revoked token
// is refused within [CacheTTL]. It refuses requests with more than one
// credential of a kind, never tries a second credential after a first was
// refused, and says the same of every credential that it refuses.
//
// # Credentials
//
// Authorization: Bearer <token>, where the token is a service token, that of a
// configured caller, or a JWT of a registered issuer; or
// X-Relay-Client-Secret: <token> beside X-Relay-Client-Id: <key id or subject
// of that token>, which is not for JWTs. Where Authorization is there,
// well-formed or not, the other two headers are not looked at.
//
// # Issuers
//
// Who may issue, for which audience, with which algorithms and keys is
// registered ([Issuer]); nothing of it is taken from a token, and nothing is
// fetched for a token whose issuer and audience are not registered. A token is
// JWS compact serialization, at most [MaxJWT] bytes (RFC 7515, RFC 8725).
package auth

import (
	"context"
	"crypto/subtle"
	"errors"
	"net/http"
	"slices"
	"strings"
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
	// PublicURL is the relay's own, without a slash at its end. Where it is the
	// audience of an issuer, that issuer's tokens may be for one MCP endpoint below
	// it too: then the principal's Path says for which. Empty: none is.
	PublicURL string
	// Fetch reads the key set of an issuer, at most [MaxKeys] bytes. Nil: only
	// key sets that are registered themselves are used.
	Fetch func(ctx context.Context, from endpoint.URL) ([]byte, error)
}

// Authenticator turns credentials into principals.
type Authenticator struct {
	callers []Caller
	peppers *token.Peppers
	records *lookup[token.Record]
	issuers *lookup[[]trusted]
	rings   *rings
	now     func() time.Time
}

// New makes an authenticator.
func New(o Options) *Authenticator {
	if o.Now == nil {
		o.Now = time.Now
	}
	// Round strips the monotonic reading, which stands still while a Lambda
	// process is frozen.
	now := func() time.Time { return o.Now().Round(0) }
	a := &Authenticator{callers: slices.Clone(o.Callers), peppers: o.Peppers, rings: newRings(o.Fetch, now), now: now}
	a.records, a.issuers = newLookup[token.Record](nil, now), newLookup[[]trusted](nil, now)
	if o.Tokens != nil {
		a.records.ask = o.Tokens.Token
	}
	if o.Issuers != nil {
		a.issuers.ask = func(ctx context.Context, issuer string) ([]trusted, error) {
			registered, err := o.Issuers(ctx, issuer)
			if err != nil {
				return nil, err
			}
			return trust(registered, o.PublicURL)
		}
	}
	return a
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
	p, refusal := a.principal(ctx, c)
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

// principal finds whose token a credential is.
func (a *Authenticator) principal(ctx context.Context, c credential) (call.Principal, *call.Refusal) {
	if len(c.token) <= MaxCredential {
		if p, ok := a.configured(c.token); ok {
			return p, nil
		}
	}
	keyID, err := token.Parse(c.token)
	if err == nil {
		return a.recorded(ctx, c.token, keyID)
	}
	// The pair of client headers is for tokens of the relay's own.
	if c.id == "" && a.issuers.ask != nil && strings.Contains(c.token, ".") {
		return a.issued(ctx, c.token)
	}
	return call.Principal{}, deny("the token is neither a service token nor that of a configured caller")
}

// recorded finds whose service token s is.
func (a *Authenticator) recorded(ctx context.Context, s, keyID string) (call.Principal, *call.Refusal) {
	record, err := a.records.find(ctx, keyID)
	unknown := errors.Is(err, token.ErrUnknown)
	if err != nil && !unknown {
		return call.Principal{}, unavailable("the record of key id "+keyID+" could not be read", err)
	}
	// The zero record of an unknown key id is checked like any other, so that
	// the time of the answer does not tell which key ids exist.
	if valid := record.Check(s, a.now(), a.peppers); !valid || unknown {
		return call.Principal{}, deny("key id %s is unknown, expired or revoked, or its secret is wrong", keyID)
	}
	return record.Principal(), nil
}

// unavailable is the refusal where the store could not be asked.
func unavailable(detail string, err error) *call.Refusal {
	refusal := &call.Refusal{Reason: call.AuthUnavailable, Detail: detail, Err: err}
	if errors.Is(err, errFlood) {
		refusal.RetryAfter = 1
	}
	return refusal
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
