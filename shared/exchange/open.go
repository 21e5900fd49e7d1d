package exchange

import (
	"context"

	"mcprelay/shared/call"
	"mcprelay/shared/session"
)

// open gives what is needed to speak to the server: from memory, from the
// store, or by asking it. A state that the server has lost is not given again.
func (x *Exchange) open(ctx context.Context, r *Request, lost session.State) (session.State, *call.Refusal) {
	if s, ok := x.remembered(r, lost); ok {
		r.facts.opened(s, SessionReused)
		return s, nil
	}
	bounded := ctx
	if r.Open > 0 {
		var cancel context.CancelFunc
		bounded, cancel = context.WithTimeout(ctx, r.Open)
		defer cancel()
	}
	how := SessionReused
	s, refusal := x.flights.do(bounded, r.Session, lost, func() (session.State, *call.Refusal) {
		var s session.State
		var refusal *call.Refusal
		s, how, refusal = x.acquire(bounded, r, lost)
		r.facts.unnamed(refusal) // whoever waits for it does not know the ids
		return s, opening(refusal)
	})
	if refusal != nil {
		return session.State{}, refusal
	}
	if lost.SessionID != "" && how == SessionNew {
		how = SessionRenewed
	}
	r.facts.opened(s, how)
	return s, nil
}

// opened notes how the server was opened. That a later page of a list found the
// session open does not hide how it came to be.
func (f *Facts) opened(s session.State, how string) {
	f.Era, f.Version, f.Offers, f.Instructions = s.Era, s.Version, s.Offers, s.Instructions
	if s.SessionID == "" {
		how = SessionNone
	}
	if f.Session == "" || how != SessionReused {
		f.Session = how
	}
}

// remembered is what this process knows: the session, or that the server
// needs none.
func (x *Exchange) remembered(r *Request, lost session.State) (session.State, bool) {
	now := x.now()
	if s := x.memory.get(r.Session); s.Live(now) && !sameSession(s, lost) {
		return s, true
	}
	if s := x.memory.get(r.Origin); s.Live(now) && s.Era == session.Modern && lost.Era == "" {
		return s, true
	}
	return session.State{}, false
}

// acquire opens the server where this process does not know it. It runs once
// at a time for a session key, and says how it came by the state.
func (x *Exchange) acquire(ctx context.Context, r *Request, lost session.State) (session.State, string, *call.Refusal) {
	if s, ok := x.remembered(r, lost); ok {
		return s, SessionReused, nil // the flight before this one
	}
	stored := x.load(ctx, r.Session)
	if stored.Era != "" && !sameSession(stored, lost) {
		return stored, SessionReused, nil
	}
	known := x.verdict(ctx, r)
	era := known
	if era.Era == "" {
		var refusal *call.Refusal
		if era, refusal = x.probe(ctx, r); refusal != nil {
			return session.State{}, "", refusal
		}
	}
	if era.Era == session.Modern {
		return era, SessionNone, nil
	}
	s, refusal := x.initialize(ctx, r)
	if refusal != nil && known.Era != "" && unknownHandshake(refusal) {
		x.forget(ctx, r) // the server may have left the legacy era: the next opening probes
	}
	if refusal != nil {
		return session.State{}, "", refusal
	}
	if s.Era == session.Modern { // so it said instead
		return x.judge(ctx, r, s), SessionNone, nil
	}
	if known.Era == "" {
		x.judge(ctx, r, s)
	}
	s.Ver = stored.Ver
	return x.keep(ctx, r, s, lost)
}

// keep stores a session that was just opened. Where another process was first,
// its session is used and this one is ended.
func (x *Exchange) keep(ctx context.Context, r *Request, s, lost session.State) (session.State, string, *call.Refusal) {
	now, saved := x.save(ctx, r.Session, s)
	if sameSession(now, lost) { // it could not be loaded before
		s.Ver = now.Ver
		now, saved = x.save(ctx, r.Session, s)
	}
	if now.Is(s) {
		if !saved {
			return now, SessionUnsaved, nil
		}
		return now, SessionNew, nil
	}
	x.end(ctx, r, s)
	return now, SessionReused, nil
}

// unknownHandshake reports whether a server may have refused initialize because
// it has no such method any more.
func unknownHandshake(refusal *call.Refusal) bool {
	return refusal.Reason == call.NoCommonVersion || refusal.Reason == call.InitializeFailed && refusal.Status/100 == 4
}

// opening is the refusal of a failure before the agent's request was sent:
// nothing of it ran. Where the server could be reached and spoke, or should
// have, it is the handshake that failed.
func opening(refusal *call.Refusal) *call.Refusal {
	if refusal == nil {
		return nil
	}
	told := *refusal
	told.Impact = call.ImpactNone
	switch refusal.Row().Stage {
	case call.StageCall:
	default: // address, connect, tls, credential, initialize
		return &told
	}
	switch refusal.Reason {
	case call.Redirect, call.Cancelled:
	case call.HeadTimeout, call.CallTimeout:
		told.Reason, told.Err = call.OpenTimeout, refusal
	default:
		told.Reason, told.Detail, told.Err = call.InitializeFailed, refusal.Error(), refusal
	}
	return &told
}
