package dynamo

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"mcprelay/shared/session"
)

// Load gives the state of a key; the zero State where none is stored or what is
// stored has expired, although it may still be in the table.
func (s *Store) Load(ctx context.Context, key session.Key) (session.State, error) {
	at := item{}
	at.text(attrPK, string(key))
	stored, err := s.get(ctx, s.c.State, at)
	if err != nil {
		return session.State{}, fmt.Errorf("loading a session: %w", err)
	}
	if stored == nil || stored.ends() <= s.c.Now().Unix() {
		return session.State{}, nil
	}
	state, err := stateOf(stored)
	if err != nil {
		return session.State{}, fmt.Errorf("loading a session: %w", err)
	}
	return state, nil
}

// Save stores a state while the stored one still has its Ver; with Ver 0, while
// none is stored or what is stored has expired; an expired session that nobody
// has closed yet is set aside then. A negative Ver, which [Store.SessionsOfRun]
// and [Store.SessionsExpired] give, is of a session that was. It gives back what
// is stored now, or [session.ErrConflict].
func (s *Store) Save(ctx context.Context, key session.Key, state session.State) (session.State, error) {
	was := state.Ver
	state.Ver = nextVer(state, s.c.Now())
	body, err := json.Marshal(state)
	if err == nil {
		err = within(body)
	}
	if err != nil {
		return session.State{}, fmt.Errorf("saving a session: %w", err)
	}
	i := stateItem(key, state, body)
	switch {
	case was == 0:
		err = s.first(ctx, i)
	case was < 0:
		i.text(attrPK, asideKey(string(key), -was))
		err = s.put(ctx, s.c.State, i, still(attrVer, was))
	default:
		err = s.put(ctx, s.c.State, i, still(attrVer, was))
	}
	if errors.Is(err, errCondition) {
		err = session.ErrConflict
	}
	if err != nil {
		return session.State{}, fmt.Errorf("saving a session: %w", err)
	}
	return state, nil
}

// nextVer is the version of a state once it is saved. The first one of a key
// grows with time, so that it is never one that somebody still holds of a state
// that has expired since. What was set aside keeps its own until it is blank.
func nextVer(state session.State, now time.Time) int64 {
	switch {
	case state.Ver >= 0:
		return max(state.Ver+1, now.UnixMicro())
	case state.SessionID == "":
		return 0
	}
	return state.Ver
}
