package local

import (
	"context"
	"database/sql"
	"runtime"
)

// Full reports whether the last batch waited for the disk.
func (s *Store) Full() bool { return s.writes.full }

// Do runs a task of a test in a batch.
func (s *Store) Do(ctx context.Context, durable bool, do func(context.Context, *sql.Conn) error) error {
	return s.writes.write(ctx, durable, func(ctx context.Context, _ *statements) error { return do(ctx, s.writes.conn) })
}

// FileName is the name of the file in the folder.
const FileName = fileName

// AwaitQueue waits until n requests wait behind the one that is carried out.
func (s *Store) AwaitQueue(n int) {
	for len(s.writes.queue) != n {
		runtime.Gosched()
	}
}
