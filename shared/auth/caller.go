package auth

import (
	"fmt"
	"io"
	"strings"

	"mcprelay/shared/call"
	"mcprelay/shared/token"
)

// Caller is a caller that the configuration names, by the hash of its token.
type Caller struct {
	Hash      [32]byte
	Principal call.Principal
}

// MinimumToken is the least length of a configured caller's token, in
// characters.
const MinimumToken = 16

// NewCaller makes a caller of the token that it will present: at least
// [MinimumToken] and at most [MaxCredential] characters of visible ASCII
// without commas, which is what an Authorization header can carry. The error
// says nothing of the token but its length.
func NewCaller(s string, p call.Principal) (Caller, error) {
	if len(s) < MinimumToken || len(s) > MaxCredential {
		return Caller{}, fmt.Errorf("the token has %d characters, not %d to %d", len(s), MinimumToken, MaxCredential)
	}
	if strings.ContainsFunc(s, func(r rune) bool { return r <= ' ' || r > '~' || r == ',' }) {
		return Caller{}, fmt.Errorf("the token holds a blank, a comma or a character that is not ASCII, which Authorization cannot carry")
	}
	return Caller{Hash: token.Hash(s), Principal: p}, nil
}

// Local mints a service token for a relay without configured callers, from
// rand. Its principal is the subject "local" of the tenant, with every scope.
// Nothing is stored: the token dies with the process.
func Local(tenant string, rand io.Reader) (minted string, c Caller, err error) {
	minted, keyID, err := token.Mint(rand)
	if err != nil {
		return "", Caller{}, err
	}
	c, err = NewCaller(minted, call.Principal{
		Tenant: tenant, Subject: "local", Kind: call.KindUser, KeyID: keyID,
		Scopes: []call.Scope{call.ScopeCall, call.ScopeAuditRead, call.ScopeAdminRead, call.ScopeAdminWrite},
	})
	return minted, c, err
}
