package local

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"

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
// has closed yet is kept beside it. It gives back what is stored now, or
// [session.ErrConflict].
func (s *Store) Save(ctx context.Context, key session.Key, state session.State) (session.State, error) {
	was, now := state.Ver, s.now()
	// A first Ver that grows with time is never one that somebody still holds
	// of a state that has expired since.
	state.Ver = max(was+1, now.UnixMicro())
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
	err = s.writes.write(ctx, false, func(ctx context.Context, s *statements) error {
		statement, condition := s.open, now.Unix()
		if was != 0 {
			statement, condition = s.renew, was
		}
		saved, err := changed(ctx, statement, string(key), state.Ver, state.Expires.Unix(), string(body), string(state.RunKey()), closes(state), condition)
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
