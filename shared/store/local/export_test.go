package local

import (
	"context"
	"database/sql"
	"runtime"
)

// Full reports whether the last batch waited for the disk.
func (s *Store) Full() (full bool) {
	s.writes.inTurn(func() { full = s.writes.full })
	return full
}

// Do runs a task of a test in a batch, never in the caller's own goroutine: what
// is queued meanwhile stays queued, since the writer's goroutine is at work.
func (s *Store) Do(ctx context.Context, durable bool, do func(context.Context, *sql.Conn) error) error {
	return s.writes.enqueue(ctx, &request{
		ctx: ctx, durable: durable, reply: make(chan error, 1),
		task: func(ctx context.Context, _ *statements) error { return do(ctx, s.writes.conn) },
	})
}

// Prepare makes or checks a folder for the user uid.
func Prepare(dir string, uid int) error {
	_, err := prepare(dir, uid)
	return err
}

// Find checks a folder for the user uid.
func Find(dir string, uid int) error {
	_, err := find(dir, uid)
	return err
}

// FileName is the name of the file in the folder.
const FileName = fileName

// AwaitQueue waits until n requests wait behind the one that is carried out.
func (s *Store) AwaitQueue(n int) {
	for len(s.writes.queue) != n {
		runtime.Gosched()
	}
}
