package local

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"mcprelay/shared/idempotency"
)

// keyTries bounds how often a record that is in the way may be gone when it is
// looked for: another process must have deleted it in between.
const keyTries = 3

// BeginKey stores the record of a call that begins, where the key is unknown or
// forgotten, and gives it with true; otherwise it gives the record in the way.
// A record that was begun is on the disk: after a crash nobody could tell any
// more that its call may have run.
func (s *Store) BeginKey(ctx context.Context, key idempotency.Key, r idempotency.Record) (idempotency.Record, bool, error) {
	r, err := r.Begun(key)
	if err != nil {
		return idempotency.Record{}, false, err
	}
	now := s.now().UnixNano()
	var there idempotency.Record
	var mine bool
	err = s.writes.write(ctx, true, func(ctx context.Context, s *statements) (err error) {
		for range keyTries {
			mine, err = changed(ctx, s.beginKey, string(key), r.Digest, r.CallID, r.Until.UnixNano(), r.Expires.UnixNano(), now)
			if err != nil || mine {
				return err
			}
			if there, err = keyRecord(ctx, s.findKey, key, now); !errors.Is(err, sql.ErrNoRows) {
				return err
			}
		}
		return err
	})
	switch {
	case err != nil:
		return idempotency.Record{}, false, fmt.Errorf("beginning an idempotency key: %w", err)
	case mine:
		return r, true, nil
	}
	return there, false, nil
}

// EndKey stores what the call came to, or with the zero State gives the key
// back, while the stored record is a running one of the same call; otherwise
// it is [idempotency.ErrConflict]. A key that nobody has is given back already.
func (s *Store) EndKey(ctx context.Context, key idempotency.Key, r idempotency.Record) error {
	r, err := r.Ended(key)
	if err != nil {
		return err
	}
	reply, now := r.Reply, s.now().UnixNano()
	if reply == nil {
		reply = []byte{} // nil would be NULL
	}
	err = s.writes.write(ctx, false, func(ctx context.Context, s *statements) (err error) {
		var ended bool
		if r.State == idempotency.Done {
			ended, err = changed(ctx, s.endKey, string(key), r.CallID, r.Digest, r.Until.UnixNano(), r.Expires.UnixNano(), reply)
		} else if ended, err = changed(ctx, s.freeKey, string(key), r.CallID); err == nil && !ended {
			_, err = keyRecord(ctx, s.findKey, key, now)
			ended = errors.Is(err, sql.ErrNoRows)
		}
		switch {
		case ended:
			return nil
		case err == nil:
			err = idempotency.ErrConflict
		}
		return err
	})
	if err != nil {
		return fmt.Errorf("ending an idempotency key: %w", err)
	}
	return nil
}

// keyRecord reads the record of a key that has not expired.
func keyRecord(ctx context.Context, find *sql.Stmt, key idempotency.Key, now int64) (idempotency.Record, error) {
	var r idempotency.Record
	var until, expires int64
	err := find.QueryRowContext(ctx, string(key), now).Scan(&r.Ver, &r.Digest, &r.CallID, (*string)(&r.State), &until, &expires, &r.Reply)
	r.Until, r.Expires = time.Unix(0, until).UTC(), time.Unix(0, expires).UTC()
	return r, err
}
