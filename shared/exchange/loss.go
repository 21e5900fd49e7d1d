package exchange

import (
	"bytes"
	"net/http"
	"regexp"
	"strings"
	"sync"

	"mcprelay/shared/call"
	"mcprelay/shared/session"
)

// Codes that servers use for a transport that lost its session. The protocol
// gives them no meaning (MCP 2026-07-28: -32000 to -32019 are legacy).
const (
	codeServerError     = -32000
	codeSessionNotFound = -32001
)

// lost reports whether the server says that it does not know the session, so
// that the request was not executed. The protocol says 404 (MCP 2025-11-25,
// basic/transports); servers in the field say it in five more ways. Only a
// server that was sent a session id can have lost it.
func (a *answer) lost(s session.State) bool {
	if s.Era != session.Legacy || s.SessionID == "" {
		return false
	}
	switch {
	case a.ours && a.reply.Result != nil:
		return false // it was executed, whatever the status says
	case a.isError():
		return a.errorSaysLost()
	case a.status == http.StatusNotFound:
		return !a.html
	case a.status == http.StatusBadRequest:
		return !a.html && mentionsSession(string(a.text[:min(len(a.text), maxText)]))
	}
	return false
}

// maxText is how far into a plain body the word is looked for.
const maxText = 1 << 10

// errorSaysLost reads a JSON-RPC error. The status bounds what its code may
// mean: a tool's own error about a session of its own comes with 200, after it
// ran, and must not be asked twice.
func (a *answer) errorSaysLost() bool {
	e := a.reply.Error
	switch a.status {
	case http.StatusNotFound:
		return e.Code == codeSessionNotFound || mentionsSession(e.Message) && e.Code != call.CodeMethodNotFound
	case http.StatusBadRequest:
		return mentionsSession(e.Message) && (e.Code == codeServerError || e.Code == codeSessionNotFound || e.Code == call.CodeInvalidRequest)
	case http.StatusOK:
		return e.Code == call.CodeInvalidRequest && namesLoss(e.Message)
	}
	return false
}

// mentionsSession reports whether a server's words are about a session, or
// about a handshake that it does not remember.
func mentionsSession(text string) bool {
	text = strings.ToLower(text)
	return strings.Contains(text, "session") || strings.Contains(text, "not initialized") || strings.Contains(text, "reinitialize")
}

// lossWords finds what a server says of the session of the transport and of no
// other: a clause of its own about the session or the handshake, without the
// word that would make it the session of something else (a shell, a browser),
// or the wish for a new handshake.
var lossWords = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?i)(?:^|[.:;,!(] ?)(?:the |this |your |mcp )*` +
		`(?:(?:unknown|no valid) (?:mcp )?session id\b` +
		`|(?:no valid session|session(?: id)? (?:was |is )?not found|session(?: id)? (?:has |is )?expired|server (?:is )?not initialized)` +
		`(?:$|[.:;,!()]))` +
		`|\bre-?initialize(?: the (?:mcp )?session)?(?:$|[.:;,!()])`)
})

// namesLoss reports whether words can mean nothing but that the session of the
// transport is gone.
func namesLoss(text string) bool {
	return lossWords().MatchString(strings.TrimSpace(text[:min(len(text), maxText)]))
}

// unlikeModern reports whether a reply cannot have come from a server that
// speaks the stateless protocol, so that the verdict about it is stale. Such
// servers give every error our id, and know of no sessions; the ones before
// them refuse what they do not know with a bare status, an error without an
// id, or a word about the session that it lacks.
func (a *answer) unlikeModern() bool {
	switch a.status {
	case http.StatusBadRequest, http.StatusNotFound, http.StatusMethodNotAllowed:
		return !a.ours || a.isError() && a.errorSaysLost()
	}
	return false
}

// said is the start of what a server said besides a reply, for the operator.
func (a *answer) said() []byte {
	if len(a.text) == 0 || a.html {
		return nil
	}
	return clip(bytes.TrimSpace(a.text))
}
