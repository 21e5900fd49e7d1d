package local

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"mcprelay/shared/session"
)

// Load gives the state of a key; the zero State where none is stored or what is
// stored has expired.
func (s *Store) Load(ctx context.Context, key session.Key) (session.State, error) {
	var (
		state session.State
		ver   int64
		body  []byte
	)
	err := s.reads.QueryRowContext(ctx, `SELECT ver, body FROM state WHERE key = ? AND expires > ?`,
		string(key), s.now().Unix()).Scan(&ver, &body)
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return session.State{}, nil
	case err != nil:
		return session.State{}, fmt.Errorf("loading a session: %w", err)
	}
	if err := json.Unmarshal(body, &state); err != nil {
		return session.State{}, fmt.Errorf("loading a session: %w", err)
	}
	state.Ver = ver
	return state, nil
}

// Save stores a state while the stored one still has its Ver; with Ver 0, while
// none is stored or what is stored has expired; an expired session that nobody
// has closed yet is set aside then. A negative Ver, which [Store.SessionsOfRun]
// and [Store.SessionsExpired] give, is of a session that was. It gives back what
// is stored now, or [session.ErrConflict].
func (s *Store) Save(ctx context.Context, key session.Key, state session.State) (session.State, error) {
	was, now, at := state.Ver, s.now(), string(key)
	state.Ver = nextVer(state, now)
	body, err := json.Marshal(state)
	if err == nil {
		err = within(body)
	}
	if err == nil && was == 0 {
		err = s.aside(ctx, key)
	}
	if err != nil {
		return session.State{}, fmt.Errorf("saving a session: %w", err)
	}
	condition := was
	switch {
	case was == 0:
		condition = now.Unix()
	case was < 0:
		at = asideKey(key, -was)
	}
	err = s.writes.write(ctx, false, func(ctx context.Context, s *statements) error {
		statement := s.renew
		if was == 0 {
			statement = s.open
		}
		saved, err := changed(ctx, statement, at, state.Ver, state.Expires.Unix(), string(body), string(state.RunKey()), closes(state), condition)
		if err == nil && !saved {
			err = session.ErrConflict
		}
		return err
	})
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
