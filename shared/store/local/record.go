package local

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/oklog/ulid/v2"

	"mcprelay/shared/audit"
)

// Intent inserts the record of a call that has not ended, and returns when it
// is on the disk. A call id that is taken is [ErrExists].
func (s *Store) Intent(ctx context.Context, r audit.Record) error {
	row, err := rowOf(r, audit.StateIntent)
	if err != nil {
		return fmt.Errorf("intent: %w", err)
	}
	err = s.writes.write(ctx, true, func(ctx context.Context, s *statements) error {
		inserted, err := changed(ctx, s.insert, row...)
		if err == nil && !inserted {
			err = ErrExists
		}
		return err
	})
	if err != nil {
		return fmt.Errorf("intent: %w", err)
	}
	return nil
}

// Final inserts a record or completes the intent of the same call, and returns
// when it would survive the kill of this process. A second final changes
// nothing and is [ErrAlreadyFinal].
func (s *Store) Final(ctx context.Context, r audit.Record) error {
	row, err := rowOf(r, audit.StateFinal)
	if err != nil {
		return fmt.Errorf("final: %w", err)
	}
	err = s.writes.write(ctx, false, func(ctx context.Context, s *statements) error {
		// Most finals are of reads, which have no intent here.
		if inserted, err := changed(ctx, s.insert, row...); inserted || err != nil {
			return err
		}
		completed, err := changed(ctx, s.complete, r.CallID, r.Tenant, r.Tool, string(r.Outcome), row[record])
		if err == nil && !completed {
			err = ErrAlreadyFinal
		}
		return err
	})
	if err != nil {
		return fmt.Errorf("final: %w", err)
	}
	return nil
}

// record is the place of the JSON document in a row.
const record = 9

// rowOf is the record as a row, in the order of the insert statement. Its call id must be a
// ULID: the trail is read in the order of ids.
func rowOf(r audit.Record, state audit.State) ([]any, error) {
	if _, err := ulid.ParseStrict(r.CallID); err != nil {
		return nil, fmt.Errorf("call id %q: %w", r.CallID, err)
	}
	if r.Tenant == "" {
		return nil, fmt.Errorf("record of %s without a tenant", r.CallID)
	}
	r.State = state
	text, err := json.Marshal(r)
	if err != nil {
		return nil, err
	}
	if err := within(text); err != nil {
		return nil, err
	}
	return []any{
		r.CallID, r.Tenant, state == audit.StateFinal, r.Time.UnixNano(), r.Agent, r.Server, r.Tool, r.Run,
		string(r.Outcome), string(text),
	}, nil
}
