package local

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"mcprelay/shared/audit"
)

// Intent writes the record of a call that has not ended, and returns when it
// is on the disk. A call id that is taken is [ErrExists]. Its call id must be a
// ULID: the trail is read in the order of ids.
func (s *Store) Intent(ctx context.Context, r audit.Record) error {
	r.State = audit.StateIntent
	if err := s.trail.put(ctx, intent, &r); err != nil {
		return fmt.Errorf("intent: %w", err)
	}
	return nil
}

// Final writes a record or completes the intent of the same call, and returns
// when it would survive the kill of this process. A second final changes
// nothing and is [ErrAlreadyFinal].
func (s *Store) Final(ctx context.Context, r audit.Record) error {
	r.State = audit.StateFinal
	if err := s.trail.put(ctx, final, &r); err != nil {
		return fmt.Errorf("final: %w", err)
	}
	return nil
}

// Lost is how many finals of this process came second and were found out too
// late for [ErrAlreadyFinal]: another process had finished the call, in the
// same instant or since. The first one stays.
func (s *Store) Lost() int64 { return s.trail.counted() }

// ask says what is known of a call elsewhere than in this process's memory:
// in the journals of others, then in SQLite (a fold moves records that way).
func (s *Store) ask(ctx context.Context, own string, id key) (state, error) {
	had, err := s.trail.folder.look(own, id)
	if err != nil {
		return none, err
	}
	var ended bool
	err = s.reads.QueryRowContext(ctx, `SELECT final FROM audit WHERE call_id = ? AND tenant = ?`, id.call, id.tenant).Scan(&ended)
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return had, nil
	case err != nil:
		return none, err
	case ended:
		return final, nil
	}
	return max(had, intent), nil
}
