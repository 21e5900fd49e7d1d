package local

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"

	"mcprelay/shared/turn"
)

// Turn gives the present turn of a key; the zero Turn where none is known, or
// what was known is forgotten.
func (s *Store) Turn(ctx context.Context, key turn.Key) (turn.Turn, error) {
	var t turn.Turn
	var ver int64
	var body []byte
	err := s.reads.QueryRowContext(ctx, `SELECT ver, body FROM turns WHERE key = ? AND expires > ?`,
		string(key), s.now().UnixNano()).Scan(&ver, &body)
	if errors.Is(err, sql.ErrNoRows) {
		return turn.Turn{}, nil
	}
	if err == nil {
		err = json.Unmarshal(body, &t)
	}
	if err != nil {
		return turn.Turn{}, fmt.Errorf("reading a turn: %w", err)
	}
	t.Ver = ver
	return t, nil
}

// PutTurn stores a turn while the stored one still has its Ver; with Ver 0,
// while none is known. It gives what is stored now, or [turn.ErrConflict]. A
// turn that is stored is on the disk: one that was ended or used may not come
// back after a crash.
func (s *Store) PutTurn(ctx context.Context, key turn.Key, t turn.Turn) (turn.Turn, error) {
	was, now := t.Ver, s.now()
	body, err := json.Marshal(t)
	if err == nil {
		err = within(body)
	}
	if err != nil {
		return turn.Turn{}, fmt.Errorf("storing a turn: %w", err)
	}
	// It grows with time, so that it is never one that somebody still holds of a
	// turn that was forgotten since.
	t.Ver = max(was+1, now.UnixMicro())
	err = s.writes.write(ctx, true, func(ctx context.Context, s *statements) error {
		statement, condition := s.setTurn, was
		if was == 0 {
			statement, condition = s.addTurn, now.UnixNano()
		}
		stored, err := changed(ctx, statement, string(key), t.Ver, t.Forgotten().UnixNano(), string(body), condition)
		if err == nil && !stored {
			err = turn.ErrConflict
		}
		return err
	})
	if err != nil {
		return turn.Turn{}, fmt.Errorf("storing a turn: %w", err)
	}
	return t, nil
}
