package front

import (
	"net/http"
	"sync"

	"mcprelay/shared/call"
	"mcprelay/shared/wire"
)

// maxLevels bounds the levels that are remembered: at about 200 bytes each, less
// than 1 MiB. Who is forgotten over it gets what those get who set none.
const maxLevels = 4096

// levels are the log levels that agents of older eras set, for as long as this
// process lives: they have no session with the relay to keep them in. What is
// not there is [wire.LevelInfo]. The zero levels is ready.
type levels struct {
	mu  sync.Mutex
	set map[agent]string
}

// agent is a caller in one of its runs: who a level holds for, and whose calls
// it may cancel, as a session with a server is for one.
type agent struct {
	tenant, domain, subject, run string
}

func agentOf(c call.Call) agent {
	return agent{c.Principal.Tenant, c.Principal.Domain(), c.Principal.Subject, c.Run}
}

// of is the level that c's caller set last.
func (l *levels) of(c call.Call) string {
	l.mu.Lock()
	defer l.mu.Unlock()
	if level, ok := l.set[agentOf(c)]; ok {
		return level
	}
	return wire.LevelInfo
}

// put remembers a level, in place of anybody's where there are too many.
func (l *levels) put(c call.Call, level string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	who := agentOf(c)
	delete(l.set, who)
	if level == wire.LevelInfo {
		return
	}
	if l.set == nil {
		l.set = make(map[agent]string)
	}
	for other := range l.set {
		if len(l.set) < maxLevels {
			break
		}
		delete(l.set, other)
	}
	l.set[who] = level
}

// setLevel is logging/setLevel of 2025-11-25 and older. What becomes of it at
// the servers does not matter to the agent: it is one of several, and log
// messages are let pass at the level here whatever they send.
func (f *Front) setLevel(w http.ResponseWriter, r *http.Request, q request) {
	level, ok := wire.Level(q.Params)
	if !ok {
		f.refuse(w, r, q, call.Refuse(call.BadParams, "logging/setLevel without a level"))
		return
	}
	q.call.Level = level
	if !f.Relay.SetLevel(r.Context(), q.call) {
		f.unknownMethod(w, r, q)
		return
	}
	f.levels.put(q.call, level)
	f.result(w, q, []byte(`{}`))
}

// listens is the level from which on an agent gets log messages, empty for
// none: a modern one says so with each request (2026-07-28,
// server/utilities/logging), one of an older era takes them all unless it set
// another level than [wire.LevelInfo].
func (f *Front) listens(q request) string {
	if q.LogLevel != "" || q.modern {
		return q.LogLevel
	}
	return f.levels.of(q.call)
}
