package exchange

import (
	"context"
	"errors"

	"mcprelay/shared/session"
)

// load is the live state of key: from the store, which other processes write
// too. A store that fails is a store that holds nothing (SECURITY 5.3, row 43):
// opening once too often is better than no answer.
func (x *Exchange) load(ctx context.Context, key session.Key) session.State {
	if x.sessions == nil {
		return session.State{}
	}
	s, err := x.sessions.Load(ctx, key)
	if err != nil || !s.Live(x.now()) {
		return session.State{}
	}
	x.memory.set(key, s)
	return s
}

// save stores s over the state it was derived from, and gives what holds now:
// s, or what another process stored first. It reports whether the store holds
// it; if not, this process alone knows s.
func (x *Exchange) save(ctx context.Context, key session.Key, s session.State) (session.State, bool) {
	stored := s
	var err error
	if x.sessions != nil {
		stored, err = x.sessions.Save(ctx, key, s)
	}
	if errors.Is(err, session.ErrConflict) {
		if winner := x.load(ctx, key); winner.Era != "" {
			return winner, true
		}
	}
	if err == nil {
		s.Ver = stored.Ver
	}
	x.memory.set(key, s)
	return s, err == nil
}

// verdict is what is known of the server's era; the zero State for nothing.
func (x *Exchange) verdict(ctx context.Context, r *Request) session.State {
	if s := x.memory.get(r.Origin); s.Live(x.now()) {
		return s
	}
	return x.load(ctx, r.Origin)
}

// judge keeps a verdict that this call found, and gives the one that holds.
func (x *Exchange) judge(ctx context.Context, r *Request, s session.State) session.State {
	now := x.now()
	s = session.State{
		Era: s.Era, Version: s.Version, Offers: s.Offers, Instructions: s.Instructions,
		Opened: now, Expires: now.Add(session.VerdictLifetime),
	}
	if stale := x.memory.get(r.Origin); stale.Live(now) {
		s.Ver = stale.Ver // what has expired may be gone from the store
	}
	s, _ = x.save(ctx, r.Origin, s)
	return s
}

// forget takes back a verdict that a call has shown to be stale: the next call
// probes. This one does not: protocols are never tried in turn with a request
// that may have an effect.
func (x *Exchange) forget(ctx context.Context, r *Request) {
	for _, key := range []session.Key{r.Session, r.Origin} {
		s := x.memory.get(key)
		if s.Ver == 0 {
			s = x.load(ctx, key)
		}
		x.memory.drop(key)
		if x.sessions != nil && s.Ver != 0 {
			// Best effort: a verdict that stays fails as loudly the next time.
			_, _ = x.sessions.Save(ctx, key, session.State{Ver: s.Ver, Expires: x.now()})
		}
	}
}
