package auth

import (
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"mcprelay/shared/call"
)

const (
	// Skew is how far the clock of an issuer may be ahead of the relay's. An
	// expiry has no such grace.
	Skew = 60 * time.Second

	maxSubject = 256 // bytes; OpenID Connect Core section 2 has 255 for sub
	maxDigits  = 12  // of a NumericDate: up to the year 9999
)

// marks are claims that only another kind of token has: an ID token (OpenID
// Connect Core, 2 and 3.3.2.11), or a token that its bearer must prove to own,
// which nobody here asks for (RFC 7800).
func marks() []string { return []string{"nonce", "at_hash", "c_hash", "s_hash", "cnf"} }

// judgeKind refuses a genuine token that is not an access token.
func (t jws) judgeKind() *call.Refusal {
	for _, name := range marks() {
		if _, there := t.claims[name]; there {
			return deny("the token is not a bearer's access token: it has the claim %s", name)
		}
	}
	if use, there := t.claims["token_use"]; there { // Amazon Cognito
		if text, ok := textOf(use); !ok || text != "access" {
			return deny("the token_use of the token is not access")
		}
	}
	if typ, ok := textOf(t.claims["typ"]); ok && !strings.EqualFold(typ, "Bearer") { // Keycloak
		return deny("the claim typ of the token is not Bearer")
	}
	return nil
}

// judgeTime refuses a token before and after its time, and one that lives
// longer than its issuer's tokens may.
func (t jws) judgeTime(now time.Time, longest time.Duration) *call.Refusal {
	expires, ok := t.date("exp")
	if !ok {
		return deny("the token has no exp, or one that is not a date")
	}
	if !now.Before(expires) {
		return deny("the token has expired")
	}
	var begins time.Time
	for _, name := range []string{"nbf", "iat"} { // the latter counts for the lifetime
		if _, there := t.claims[name]; !there {
			continue
		}
		at, ok := t.date(name)
		if !ok {
			return deny("the %s of the token is not a date", name)
		}
		if at.After(now.Add(Skew)) {
			return deny("the %s of the token lies in the future", name)
		}
		begins = at
	}
	if begins.IsZero() {
		return deny("the token has neither iat nor nbf")
	}
	if life := expires.Sub(begins); life <= 0 || life > longest {
		return deny("the lifetime of the token is not within %v", longest)
	}
	return nil
}

// date reads a NumericDate (RFC 7519 section 2): whole seconds, in digits.
func (t jws) date(name string) (time.Time, bool) {
	value := string(t.claims[name])
	if len(value) > maxDigits || strings.Trim(value, "0123456789") != "" {
		return time.Time{}, false
	}
	seconds, err := strconv.ParseInt(value, 10, 64)
	return time.Unix(seconds, 0), err == nil
}

// audience is the one audience of a token (RFC 7519 section 4.1.3). A token
// that is for others as well is not for this relay: each of them could show it
// here.
func (t jws) audience() (string, bool) {
	value := t.claims["aud"]
	if text, ok := textOf(value); ok {
		return text, true
	}
	var list []jsontext.Value
	if value.Kind() != '[' || json.Unmarshal(value, &list) != nil || len(list) != 1 {
		return "", false
	}
	return textOf(list[0])
}

// covers reports whether a token for an audience is for this relay: the
// registered one, or, where that is the relay's own URL, an MCP endpoint below
// it, which is what an issuer that follows RFC 8707 puts there. The token is
// then for that path alone.
func (i trusted) covers(audience string) (path string, ok bool) {
	below, ok := strings.CutPrefix(audience, i.Audience)
	if !ok || below == "" {
		return "", ok
	}
	return below, i.own && endpointPath(below)
}

// endpointPath reports whether a path is that of an MCP endpoint.
func endpointPath(below string) bool {
	server, ok := strings.CutPrefix(below, "/v1/servers/")
	name, ok2 := strings.CutSuffix(server, "/mcp")
	return below == "/v1/mcp" || ok && ok2 && name != "" && strings.Trim(name, "abcdefghijklmnopqrstuvwxyz0123456789-") == ""
}

// subject is what a claim calls the caller: up to 256 bytes without control
// characters or blanks at either end.
func (t jws) subject(claim string) (string, bool) {
	text, ok := textOf(t.claims[claim])
	if !ok || text == "" || len(text) > maxSubject || strings.TrimSpace(text) != text {
		return "", false
	}
	return text, !strings.ContainsFunc(text, unicode.IsControl)
}

// named are the relay's scopes that a token names: in scope (RFC 9068 section
// 2.2.3), or in scp, where some issuers have them, as text or as a list.
func (t jws) named() []call.Scope {
	var words []string
	for _, claim := range []string{"scope", "scp"} {
		if text, ok := textOf(t.claims[claim]); ok {
			words = append(words, strings.Fields(text)...)
		}
		var list []string
		if value := t.claims[claim]; value.Kind() == '[' && json.Unmarshal(value, &list) == nil {
			words = append(words, list...)
		}
	}
	var scopes []call.Scope
	for _, word := range words {
		if s := call.Scope(word); s.Valid() && !slices.Contains(scopes, s) {
			scopes = append(scopes, s)
		}
	}
	return scopes
}
