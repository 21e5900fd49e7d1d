package exchange

import (
	"context"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"sync"

	"mcprelay/shared/call"
	"mcprelay/shared/session"
)

// refusesVersion reports whether the server did not execute the request because
// of its version, and finds one to ask in. The protocol has a code for it (MCP
// 2026-07-28, basic/versioning); servers of 2025-11-25 and older have a 400,
// and words. With any other status words alone prove nothing: a tool may say
// them. asked is what the request was sent as.
func (a *answer) refusesVersion(asked session.State) (finding, bool) {
	if a.ours && a.reply.Result != nil || a.ok() && !a.isError() {
		return finding{}, false
	}
	bad := a.status == http.StatusBadRequest
	if a.code() == call.CodeUnsupportedVersion && (bad || asked.Era == session.Modern) {
		return choose(listed(a.reply.Error.Data, "supported"), asked.Version, true), true
	}
	text := a.words()
	if !aboutVersion(text) {
		return finding{}, false
	}
	var versions []string
	if a.isError() {
		versions = listed(a.reply.Error.Data, "supported")
	}
	switch {
	case len(versions) > 0 && (bad || a.ok()):
		return choose(versions, asked.Version, true), true
	case !bad:
		return finding{}, false
	}
	versions = slices.DeleteFunc(revisions().FindAllString(text, -1), func(v string) bool { return v == asked.Version })
	if len(versions) > 0 {
		return choose(versions, asked.Version, true), true
	}
	// It names none, so it is asked: initialize negotiates.
	return finding{era: session.Legacy}, a.code() != call.CodeInvalidParams
}

// code is that of the server's error, 0 for none.
func (a *answer) code() int64 {
	if !a.isError() {
		return 0
	}
	return a.reply.Error.Code
}

// words is what the server said in the place of a result, not more of it than
// a sentence needs.
func (a *answer) words() string {
	switch {
	case a.isError():
		return a.reply.Error.Message[:min(len(a.reply.Error.Message), maxText)]
	case a.html:
		return ""
	}
	return string(a.text[:min(len(a.text), maxText)])
}

// aboutVersion reports whether words refuse a protocol version. Each SDK has
// its own; a tool that validates an argument of that name has others.
func aboutVersion(text string) bool {
	text = strings.ToLower(text)
	refused := strings.Contains(text, "unsupported") || strings.Contains(text, "not supported")
	switch {
	case strings.Contains(text, "mcp-protocol-version"):
		return refused || strings.Contains(text, "invalid") || strings.Contains(text, "unknown")
	case strings.Contains(text, "protocol version"):
		return refused
	}
	return false
}

// revisions finds what looks like a revision of MCP.
var revisions = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`\b20\d\d-\d\d-\d\d\b`) })

// turn changes to what was found when the server refused the version of s: the
// verdict was stale.
func (x *Exchange) turn(ctx context.Context, r *Request, s session.State, found finding) (session.State, *call.Refusal) {
	if found.refusal != nil {
		return s, opening(found.refusal)
	}
	x.verdict(ctx, r) // the stale one, for this to be stored over it
	now := x.judge(ctx, r, session.State{Era: found.era, Version: found.version})
	if found.era == session.Modern {
		now.Ver = x.memory.get(r.Session).Ver
		now, _ = x.save(ctx, r.Session, now)
		r.facts.opened(now, SessionNone)
		return now, nil
	}
	r.offer = found.version
	return x.open(ctx, r, s) // s is what the server has given up
}
