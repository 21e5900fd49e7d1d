package auth

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"mcprelay/shared/call"
	"mcprelay/shared/endpoint"
	"mcprelay/shared/token"
)

// Issuer is what one tenant registered about an issuer of JWTs: everything that
// a token is judged by. Nothing of it ever comes from a token.
type Issuer struct {
	Tenant       string
	Issuer       string       // compared with iss byte by byte
	JWKSURI      endpoint.URL // where its keys are; zero where Keys is given
	Keys         json.RawMessage
	Audience     string            // compared with aud byte by byte; if it is [Options.PublicURL] it stands for the MCP endpoints below it too
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

// maxIssuer bounds the iss of a token that is looked up, in bytes.
const maxIssuer = 512

// trusted is an issuer with the keys that are registered with it.
type trusted struct {
	Issuer
	pinned keySet
	own    bool   // its audience is the relay's own URL
	path   string // the only one that the token is for, which it was found by
}

// trust prepares what is registered about an issuer. An entry that this relay
// cannot judge by is an error: it must not be passed over in silence.
func trust(registered []Issuer, publicURL string) ([]trusted, error) {
	if len(registered) == 0 {
		return nil, token.ErrUnknown
	}
	list := make([]trusted, len(registered))
	for i, one := range registered {
		list[i].Issuer = one.filled()
		list[i].own = publicURL != "" && one.Audience == publicURL
		if one.Issuer == "" || one.Audience == "" || one.Tenant == "" || one.JWKSURI.IsZero() == (one.Keys == nil) {
			return nil, errors.New("the registration of an issuer is not whole")
		}
		if one.Keys == nil {
			continue
		}
		pinned, err := parseKeys(one.Keys)
		if err != nil {
			return nil, fmt.Errorf("the registered keys of an issuer: %w", err)
		}
		list[i].pinned = pinned
	}
	return list, nil
}

// filled is i with what holds where the registration is silent.
func (i Issuer) filled() Issuer {
	if i.SubjectClaim == "" {
		i.SubjectClaim = "sub"
	}
	if len(i.Algorithms) == 0 {
		i.Algorithms = []string{"RS256", "ES256"}
	}
	if len(i.Scopes) == 0 {
		i.Scopes = []call.Scope{call.ScopeCall}
	}
	if i.MaxLifetime <= 0 {
		i.MaxLifetime = DefaultLifetime
	}
	return i
}

// issued finds whose token a JWT is. The issuer and the audience are looked up
// before anything is fetched, and the signature is checked before anything that
// the token says of its caller is believed.
func (a *Authenticator) issued(ctx context.Context, text string) (call.Principal, *call.Refusal) {
	t, refusal := readJWS(text)
	if refusal != nil {
		return call.Principal{}, refusal
	}
	i, refusal := a.issuer(ctx, t)
	if refusal != nil {
		return call.Principal{}, refusal
	}
	if !slices.Contains(i.Algorithms, t.alg) {
		return call.Principal{}, deny("the algorithm of the token is not one of its issuer's")
	}
	if refusal := t.judgeTime(a.now(), i.MaxLifetime); refusal != nil {
		return call.Principal{}, refusal
	}
	k, refusal := a.keyOf(ctx, i, t)
	if refusal != nil {
		return call.Principal{}, refusal
	}
	if refusal := t.verify(k); refusal != nil {
		return call.Principal{}, refusal
	}
	if refusal := t.judgeKind(); refusal != nil {
		return call.Principal{}, refusal
	}
	return i.principal(t)
}

// issuer finds the registration that a token is judged by: that of its issuer
// for its audience, and exactly one.
func (a *Authenticator) issuer(ctx context.Context, t jws) (trusted, *call.Refusal) {
	name, ok := textOf(t.claims["iss"])
	if !ok || name == "" || len(name) > maxIssuer {
		return trusted{}, deny("the token names no issuer")
	}
	audience, ok := t.audience()
	if !ok {
		return trusted{}, deny("the token has not exactly one audience")
	}
	list, err := a.issuers.find(ctx, name)
	if errors.Is(err, token.ErrUnknown) {
		return trusted{}, deny("the issuer of the token is not registered")
	}
	if err != nil {
		return trusted{}, unavailable("the registration of an issuer could not be read", err)
	}
	var found []trusted
	for _, one := range list {
		if path, ok := one.covers(audience); ok && one.Issuer.Issuer == name {
			one.path = path
			found = append(found, one)
		}
	}
	switch len(found) {
	case 0:
		return trusted{}, deny("the token is for another audience")
	case 1:
		return found[0], nil
	}
	return trusted{}, deny("the issuer of the token is registered twice for its audience")
}

func (a *Authenticator) keyOf(ctx context.Context, i trusted, t jws) (key, *call.Refusal) {
	if i.Keys != nil {
		return judged(i.pinned.pick(t))
	}
	return a.rings.key(ctx, i.JWKSURI, t)
}

// principal is the caller that a verified token stands for.
func (i trusted) principal(t jws) (call.Principal, *call.Refusal) {
	subject, ok := t.subject(i.SubjectClaim)
	if !ok {
		return call.Principal{}, deny("the claim of the token that names the caller is missing or unusable")
	}
	issuer := i.Issuer.Issuer
	if i.Subjects != nil {
		issuer = "" // it is the tenant that names its caller
		if subject = i.Subjects[subject]; subject == "" {
			return call.Principal{}, deny("the subject of the token is not mapped to a caller")
		}
	}
	return call.Principal{
		Tenant: i.Tenant, Subject: subject, Kind: i.Kind, Scopes: i.scopes(t), Issuer: issuer, TokenIssuer: i.Issuer.Issuer, Path: i.path,
	}, nil
}

// scopes are those that the token names, as far as the registration goes. A
// token that names none of the relay's scopes is from an issuer that does not
// know them: it may call, and nothing more.
func (i trusted) scopes(t jws) []call.Scope {
	named := t.named()
	if len(named) == 0 {
		named = []call.Scope{call.ScopeCall}
	}
	return slices.DeleteFunc(named, func(s call.Scope) bool { return !slices.Contains(i.Scopes, s) })
}
