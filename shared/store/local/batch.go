package local

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"modernc.org/sqlite"
)

// run is the writer's goroutine, which ends after close. It folds the trail
// whenever that is due, and calls expire at once and every hour.
func (w *writer) run(t *trail, expire func(context.Context, *sql.Conn) error) {
	defer close(w.ended)
	tick := time.NewTicker(expireEvery)
	defer tick.Stop()
	w.inTurn(func() { w.clean(expire) })
	for {
		select {
		case r := <-w.queue:
			w.inTurn(func() { w.commit(w.gather(r)) })
		case <-t.due.C:
			if t.resting() {
				w.inTurn(func() { w.tidy(t) })
			}
		case <-t.ripe:
			w.inTurn(func() { w.tidy(t) })
		case <-tick.C:
			w.inTurn(func() { w.clean(expire) })
		case <-w.closing:
			w.turn.Lock() // for good: the connection is about to be closed
			w.drain()
			w.last = w.finish(t)
			return
		}
	}
}

// inTurn waits for whoever uses the connection, then uses it.
func (w *writer) inTurn(use func()) {
	w.turn.Lock()
	defer w.turn.Unlock()
	use()
}

// drain carries out what is queued.
func (w *writer) drain() {
	for {
		select {
		case r := <-w.queue:
			w.commit(w.gather(r))
		default:
			return
		}
	}
}

// clean deletes what has expired. What it cannot do now, it can in an hour.
func (w *writer) clean(expire func(context.Context, *sql.Conn) error) {
	_ = w.transaction(false, func(ctx context.Context) error { return expire(ctx, w.conn) })
}

// gather takes whatever has been queued behind r; it never waits for more.
func (w *writer) gather(r *request) []*request {
	batch := []*request{r}
	for len(batch) < maxBatch {
		select {
		case next := <-w.queue:
			batch = append(batch, next)
		default:
			return batch
		}
	}
	return batch
}

// commit carries a batch out in one transaction and answers its requests.
// Where SQLite fails on one of them, each gets a transaction of its own, so
// that only the one that cannot be done fails.
func (w *writer) commit(batch []*request) {
	replies := make([]error, len(batch))
	durable := false
	for _, r := range batch {
		durable = durable || r.durable
	}
	if len(batch) == 1 {
		batch[0].reply <- w.alone(batch[0], true)
		return
	}
	var failed *taskError
	err := w.transaction(durable, func(ctx context.Context) error {
		for i, r := range batch {
			if replies[i] = carryOut(ctx, r, w.prepared); sqlites(replies[i]) {
				return &taskError{replies[i]}
			}
		}
		return nil
	})
	if errors.As(err, &failed) {
		for _, r := range batch {
			w.commit([]*request{r})
		}
		return
	}
	for i, r := range batch {
		if err != nil {
			replies[i] = err
		}
		r.reply <- replies[i]
	}
}

// alone carries out one request without BEGIN and COMMIT: whatever a task
// changes, one statement of it does, and a statement is a transaction by
// itself. That spares a lone record two of its three round trips.
func (w *writer) alone(r *request, wait bool) error {
	if err := w.settings(context.Background(), r.durable, wait); err != nil {
		return err
	}
	return carryOut(context.Background(), r, w.prepared)
}

// carryOut runs one task, unless nobody waits for it any more.
func carryOut(ctx context.Context, r *request, s *statements) error {
	if err := r.ctx.Err(); err != nil {
		return err
	}
	return r.task(ctx, s)
}

// taskError marks an error of one task's statement.
type taskError struct{ error }

// Unwrap gives SQLite's error.
func (e *taskError) Unwrap() error { return e.error }

// sqlites reports whether an error is SQLite's own: the transaction may be
// half done.
func sqlites(err error) bool {
	var e *sqlite.Error
	return errors.As(err, &e)
}

// transaction runs do between BEGIN and COMMIT. It waits for another process
// at most busyTimeout.
func (w *writer) transaction(durable bool, do func(context.Context) error) error {
	ctx := context.Background()
	if err := w.settings(ctx, durable, true); err != nil {
		return err
	}
	if _, err := w.prepared.begin.ExecContext(ctx); err != nil {
		return fmt.Errorf("beginning a transaction: %w", err)
	}
	err := do(ctx)
	if err == nil {
		if _, err = w.prepared.commit.ExecContext(ctx); err == nil {
			return nil
		}
		err = fmt.Errorf("committing: %w", err)
	}
	// Fails only where SQLite has rolled back by itself.
	_, _ = w.prepared.rollback.ExecContext(ctx)
	return err
}

// settings sets what the next transaction waits for: the disk, and at most
// busyTimeout for another process.
func (w *writer) settings(ctx context.Context, full, patient bool) error {
	if patient != w.patient {
		wait := 0
		if patient {
			wait = busyTimeout
		}
		if err := pragma(ctx, w.conn, "busy_timeout", wait); err != nil {
			return err
		}
		w.patient = patient
	}
	return w.synchronous(ctx, full)
}

// synchronous sets when a commit waits for the disk, where that changes.
func (w *writer) synchronous(ctx context.Context, full bool) error {
	if full == w.full {
		return nil
	}
	level := "NORMAL"
	if full {
		level = "FULL"
	}
	if err := pragma(ctx, w.conn, "synchronous", level); err != nil {
		return err
	}
	w.full = full
	return nil
}

func pragma(ctx context.Context, c *sql.Conn, name string, value any) error {
	_, err := c.ExecContext(ctx, fmt.Sprintf("PRAGMA %s = %v", name, value))
	return err
}
