package dynamo

import (
	"context"
	"errors"

	"mcprelay/shared/idempotency"
)

var errSoon = errors.New("not supported yet")

// BeginKey stores the record of a call that begins, where the key is unknown or
// forgotten, and gives it with true; otherwise it gives the record in the way.
func (s *Store) BeginKey(ctx context.Context, key idempotency.Key, r idempotency.Record) (idempotency.Record, bool, error) {
	return idempotency.Record{}, false, errSoon
}

// EndKey stores what the call came to, or with the zero State gives the key
// back, while the stored record is a running one of the same call; otherwise
// it is [idempotency.ErrConflict].
func (s *Store) EndKey(ctx context.Context, key idempotency.Key, r idempotency.Record) error {
	return errSoon
}
