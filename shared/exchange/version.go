package exchange

import (
	"context"
	"net/http"
	"regexp"
	"slices"
	"sync"

	"mcprelay/shared/call"
	"mcprelay/shared/session"
	"mcprelay/shared/wire"
)

// refusesVersion reports whether the server did not execute the request because
// of its version, and finds one to ask in. The protocol has a code for it (MCP
// 2026-07-28, basic/versioning); servers of 2025-11-25 and older have a 400,
// and words. With any other status words prove nothing, whatever list of
// versions is beside them: a tool may say them too, after it ran. asked is what
// the request was sent as.
func (a *answer) refusesVersion(asked session.State) (finding, bool) {
	if a.ours && a.reply.Result != nil {
		return finding{}, false
	}
	bad := a.status == http.StatusBadRequest
	if a.code() == call.CodeUnsupportedVersion && (bad || asked.Era == session.Modern) {
		return choose(wire.ListedVersions(a.reply.Error.Data, "supported"), asked.Version), true
	}
	text := a.words()
	if !bad || !wire.RefusesVersion(text) {
		return finding{}, false
	}
	var versions []string
	if a.isError() {
		versions = wire.ListedVersions(a.reply.Error.Data, "supported")
	}
	if len(versions) == 0 {
		versions = slices.DeleteFunc(revisions().FindAllString(text, -1), func(v string) bool { return v == asked.Version })
	}
	if len(versions) > 0 {
		return choose(versions, asked.Version), true
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

// revisions finds what looks like a revision of MCP.
var revisions = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`\b20\d\d-\d\d-\d\d\b`) })

// turn changes to what was found when the server refused the version of s: the
// verdict was stale. The session of s is given back by whoever replaces it.
func (x *Exchange) turn(ctx context.Context, r *Request, s session.State, found finding) (session.State, *call.Refusal) {
	if found.refusal != nil {
		return s, opening(found.refusal)
	}
	stale := x.verdict(ctx, r) // for this to be stored over it
	now := x.judge(ctx, r, session.State{Era: found.era, Version: found.version, Instructions: stale.Instructions})
	if found.era == session.Modern {
		stale := x.memory.get(r.Session)
		now.Ver = stale.Ver
		now, _ = x.save(ctx, r.Session, now)
		r.facts.opened(now, SessionNone)
		if stale.Is(s) {
			x.end(ctx, r, s)
		}
		return now, nil
	}
	r.offer = found.version
	now, refusal := x.open(ctx, r, s) // s is what the server has given up
	if how := r.facts.Session; refusal == nil && (how == SessionRenewed || how == SessionUnsaved) {
		s.Version = now.Version // it would refuse the DELETE in the old one too
		x.end(ctx, r, s)
	}
	return now, refusal
}
