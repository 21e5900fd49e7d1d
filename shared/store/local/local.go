// Package local keeps what the relay keeps in one SQLite file, and reads
// secrets from environment variables: the stores of a relay on one machine.
// The audit trail goes through a journal beside the file, from which it is
// folded in a few times a second.
//
// It promises that an intent is on the disk when Intent returns, that what is
// acknowledged survives the kill of the process and is seen by every process
// at once, that several processes may share one folder, and that what has
// expired is never read. It refuses a folder or a file that is a symbolic link,
// that group or others can write, or that belongs neither to the process's user
// nor to root, and items over [MaxItem] bytes.
package local

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"
)

// MaxItem bounds what is kept as one item, in bytes: what DynamoDB can hold
// with its keys, so that nothing works on one machine only.
const MaxItem = 350 << 10

// Retention is how long an audit record is kept.
const Retention = 90 * 24 * time.Hour

// readers is how many reads go on at once; more would only contend for two to
// four cores, each with a page cache of its own.
const readers = 4

// The errors a caller branches on.
var (
	// ErrExists says that the id of a new record is taken.
	ErrExists = errors.New("there is a record of that id")
	// ErrAlreadyFinal says that the call has ended; its record was not changed.
	ErrAlreadyFinal = errors.New("the record is final")
	// ErrTooLarge says that an item would exceed [MaxItem].
	ErrTooLarge = errors.New("item too large")
	// ErrCursor says that a cursor was not made by this store.
	ErrCursor = errors.New("not a cursor")
	// ErrClosed says that the store was closed.
	ErrClosed = errors.New("the store is closed")
)

// Store is a data folder. It is safe for concurrent use.
type Store struct {
	reads   *sql.DB
	writes  *writer
	trail   *trail
	now     func() time.Time
	version []byte // key of the versions of secrets
}

// Open opens the data folder, and makes it where there is none. Its errors are
// sentences for the operator.
func Open(dir string) (*Store, error) {
	path, err := prepare(dir, os.Geteuid())
	if err != nil {
		return nil, err
	}
	return open(path)
}

// OpenExisting opens a data folder that a relay has made. Where there is none
// it makes nothing, and its error is one sentence for the operator.
func OpenExisting(dir string) (*Store, error) {
	path, err := find(dir, os.Geteuid())
	if err == nil {
		err = begun(path)
	}
	if err != nil {
		return nil, err
	}
	return open(path)
}

func open(path string) (*Store, error) {
	reads, err := sql.Open("sqlite", source(path, "query_only(1)"))
	if err != nil {
		return nil, fmt.Errorf("opening %s: %w", path, err)
	}
	writes, err := openWriter(path)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("opening %s: %w", path, err), reads.Close())
	}
	reads.SetMaxOpenConns(readers)
	reads.SetMaxIdleConns(readers)
	s := &Store{reads: reads, writes: writes, now: time.Now, version: versionKey()}
	if s.trail, err = openTrail(context.Background(), writes, filepath.Dir(path)); err != nil {
		return nil, errors.Join(fmt.Errorf("opening %s: %w", path, err), writes.disconnect(), reads.Close())
	}
	s.trail.ask = s.ask
	go writes.run(s.trail, s.expire)
	return s, nil
}

// Close waits for what is being written, moves the trail into the file, then
// closes it. Writes that come later get [ErrClosed].
func (s *Store) Close() error {
	s.trail.close()
	return errors.Join(s.writes.close(), s.reads.Close())
}

// expireBatch is how many rows one transaction deletes, so that no call waits
// long for it.
const expireBatch = 500

// expire deletes what nobody can read any more. It is bounded: the next round
// takes what is left.
func (s *Store) expire(ctx context.Context, c *sql.Conn) error {
	now := s.now()
	_, err := c.ExecContext(ctx, `DELETE FROM state WHERE key IN (SELECT key FROM state WHERE expires <= ?1 AND closes <= ?1 LIMIT ?2)`,
		now.Unix(), expireBatch)
	if err != nil {
		return err
	}
	for _, statement := range []string{
		`DELETE FROM idempotency WHERE key IN (SELECT key FROM idempotency WHERE expires <= ? LIMIT ?)`,
		`DELETE FROM turns WHERE key IN (SELECT key FROM turns WHERE expires <= ? LIMIT ?)`,
		`DELETE FROM counters WHERE key IN (SELECT key FROM counters WHERE expires <= ? LIMIT ?)`,
	} {
		if _, err := c.ExecContext(ctx, statement, now.UnixNano(), expireBatch); err != nil {
			return err
		}
	}
	// Call ids begin with their time, so the oldest are found by the key.
	_, err = c.ExecContext(ctx, `DELETE FROM audit WHERE rowid IN
		(SELECT rowid FROM audit WHERE call_id < ? ORDER BY call_id LIMIT ?)`,
		lowest(now.Add(-Retention-skew)), expireBatch)
	return err
}

// within refuses an item that is too large.
func within(item []byte) error {
	if len(item) > MaxItem {
		return fmt.Errorf("%w: %d bytes, at most %d", ErrTooLarge, len(item), MaxItem)
	}
	return nil
}
