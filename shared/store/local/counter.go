package local

import (
	"context"
	"fmt"
	"time"
)

// Add counts one more under a key while its count is below max, and reports
// whether it did. A key that is unknown or has expired counts from 0, and lives
// until expires from then on. The crash of a machine may lose the last counts:
// a wait for the disk would cost each call six times as much.
func (s *Store) Add(ctx context.Context, key string, max int, expires time.Time) (added bool, err error) {
	if max < 1 {
		return false, nil
	}
	now := s.now().UnixNano()
	err = s.writes.write(ctx, false, func(ctx context.Context, s *statements) (err error) {
		added, err = changed(ctx, s.addCount, key, max, expires.UnixNano(), now)
		return err
	})
	if err != nil {
		return false, fmt.Errorf("adding to a counter: %w", err)
	}
	return added, nil
}

// Sub takes one back of a count that is there and above 0.
func (s *Store) Sub(ctx context.Context, key string) error {
	now := s.now().UnixNano()
	err := s.writes.write(ctx, false, func(ctx context.Context, s *statements) error {
		_, err := changed(ctx, s.subCount, key, now)
		return err
	})
	if err != nil {
		return fmt.Errorf("taking back from a counter: %w", err)
	}
	return nil
}
