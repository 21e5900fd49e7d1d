package local_test

import (
	"context"
	"database/sql"
	"encoding/binary"
	"errors"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"mcprelay/shared/audit"
	"mcprelay/shared/store/local"
)

// commits counts the transactions in the write-ahead log: a frame whose header
// holds the size of the database ends one (SQLite file format, section 4.1).
func commits(t *testing.T, dir string) int {
	t.Helper()
	log, err := os.ReadFile(filepath.Join(dir, local.FileName+"-wal"))
	if err != nil {
		t.Fatal(err)
	}
	const header, frameHeader = 32, 24
	page := int(binary.BigEndian.Uint32(log[8:]))
	n := 0
	for at := header; at+frameHeader+page <= len(log); at += frameHeader + page {
		if binary.BigEndian.Uint32(log[at+4:]) != 0 {
			n++
		}
	}
	return n
}

// stall keeps the writer at work until the returned function is called.
func stall(t *testing.T, s *local.Store) (release func()) {
	t.Helper()
	started, end, done := make(chan struct{}), make(chan struct{}), make(chan error)
	go func() {
		done <- s.Do(context.Background(), false, func(context.Context, *sql.Conn) error {
			close(started)
			<-end
			return nil
		})
	}()
	<-started
	return func() {
		close(end)
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
}

// cleaned waits until what had expired is deleted: the writer's goroutine does
// that before its first request.
func cleaned(t *testing.T, s *local.Store) {
	t.Helper()
	if err := s.Do(t.Context(), false, func(context.Context, *sql.Conn) error { return nil }); err != nil {
		t.Fatal(err)
	}
}

func TestRequestsThatWaitShareOneTransaction(t *testing.T) {
	const writers = 50
	dir := t.TempDir()
	s := open(t, dir)
	if err := s.Final(t.Context(), record("acme")); err != nil {
		t.Fatal(err)
	}
	before := commits(t, dir)
	release := stall(t, s)
	var wg sync.WaitGroup
	for i := range writers {
		wg.Go(func() {
			write := s.Intent
			if i%2 == 0 {
				write = s.Final
			}
			if err := write(context.Background(), record("acme")); err != nil {
				t.Error(err)
			}
		})
	}
	s.AwaitQueue(writers)
	release()
	wg.Wait()
	if got := commits(t, dir) - before; got != 1 {
		t.Errorf("%d writes took %d transactions, want 1", writers, got)
	}
	got, _, err := s.Audit(t.Context(), audit.Filter{Limit: 1000})
	if err != nil || len(got) != writers+1 {
		t.Errorf("got %d records and %v, want %d", len(got), err, writers+1)
	}
}

func TestIntentsWaitForTheDiskAndFinalsDoNot(t *testing.T) {
	s := open(t, t.TempDir())
	cleaned(t, s)
	for range 2 {
		for _, tt := range []struct {
			name  string
			write func(context.Context, audit.Record) error
			full  bool
		}{{"intent", s.Intent, true}, {"final", s.Final, false}} {
			if err := tt.write(t.Context(), record("acme")); err != nil {
				t.Fatal(err)
			}
			if s.Full() != tt.full {
				t.Errorf("%s: full synchronisation %v, want %v", tt.name, s.Full(), tt.full)
			}
		}
	}
	for durable, want := range map[bool]int{true: 2, false: 1} {
		var got int
		err := s.Do(t.Context(), durable, func(ctx context.Context, c *sql.Conn) error {
			return c.QueryRowContext(ctx, "PRAGMA synchronous").Scan(&got)
		})
		if err != nil || got != want {
			t.Errorf("durable %v: SQLite says synchronous %d and %v, want %d", durable, got, err, want)
		}
	}
}

// A statement that SQLite fails on must not take the rest of its batch along.
func TestOneFailureDoesNotFailItsBatch(t *testing.T) {
	s := open(t, t.TempDir())
	release := stall(t, s)
	var wg sync.WaitGroup
	errs := make([]error, 9)
	for i := range errs {
		wg.Go(func() {
			if i == 4 {
				errs[i] = s.Do(context.Background(), false, func(ctx context.Context, c *sql.Conn) error {
					_, err := c.ExecContext(ctx, "INSERT INTO nowhere VALUES (1)")
					return err
				})
				return
			}
			errs[i] = s.Intent(context.Background(), record("acme"))
		})
	}
	s.AwaitQueue(len(errs))
	release()
	wg.Wait()
	for i, err := range errs {
		if failed := err != nil; failed != (i == 4) {
			t.Errorf("request %d: got %v", i, err)
		}
	}
	got, _, err := s.Audit(t.Context(), audit.Filter{})
	if err != nil || len(got) != len(errs)-1 {
		t.Errorf("got %d records and %v, want %d", len(got), err, len(errs)-1)
	}
}

func TestRequestWhoseCallerIsGoneIsNotCarriedOut(t *testing.T) {
	s := open(t, t.TempDir())
	release := stall(t, s)
	ctx, cancel := context.WithCancel(t.Context())
	gone := make(chan error)
	go func() { gone <- s.Intent(ctx, record("acme")) }()
	s.AwaitQueue(1)
	cancel()
	if err := <-gone; !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want %v at once", err, context.Canceled)
	}
	release()
	if err := s.Final(t.Context(), record("acme")); err != nil {
		t.Error(err)
	}
	got, _, err := s.Audit(t.Context(), audit.Filter{})
	if err != nil || len(got) != 1 {
		t.Errorf("got %d records and %v, want the one that somebody waited for", len(got), err)
	}
}

// Another process that keeps the file locked is waited for, but never longer
// than the caller wants to.
func TestALoneWriteWaitsForAnotherProcessUntilItsDeadline(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir)
	cleaned(t, s)
	other := raw(t, dir)
	for range 2 {
		if _, err := other.ExecContext(t.Context(), "BEGIN IMMEDIATE"); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
		if err := s.Final(ctx, record("acme")); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("got %v, want %v", err, context.DeadlineExceeded)
		}
		cancel()
		written := make(chan error)
		go func() { written <- s.Final(context.Background(), record("umbra")) }()
		if _, err := other.ExecContext(t.Context(), "COMMIT"); err != nil {
			t.Fatal(err)
		}
		if err := <-written; err != nil {
			t.Errorf("after the other's end: %v", err)
		}
	}
}

func TestCloseCarriesOutWhatIsQueued(t *testing.T) {
	dir := t.TempDir()
	s, err := local.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	release := stall(t, s)
	var wg sync.WaitGroup
	for range 20 {
		wg.Go(func() {
			if err := s.Intent(context.Background(), record("acme")); err != nil {
				t.Error(err)
			}
		})
	}
	s.AwaitQueue(20)
	closed := make(chan error)
	go func() { closed <- s.Close() }()
	release()
	if err := <-closed; err != nil {
		t.Error(err)
	}
	wg.Wait()
	got, _, err := open(t, dir).Audit(t.Context(), audit.Filter{})
	if err != nil || len(got) != 20 {
		t.Errorf("got %d records and %v, want 20", len(got), err)
	}
}

func TestClosedStoreRefuses(t *testing.T) {
	s, err := local.Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
	if err := s.Intent(t.Context(), record("acme")); !errors.Is(err, local.ErrClosed) {
		t.Errorf("Intent: got %v, want %v", err, local.ErrClosed)
	}
	if _, _, err := s.Audit(t.Context(), audit.Filter{}); err == nil {
		t.Error("Audit: got no error")
	}
}

// Writers that race with Close are answered: what was acknowledged is kept.
func TestCloseLeavesNobodyWaiting(t *testing.T) {
	dir := t.TempDir()
	s, err := local.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	var (
		wg   sync.WaitGroup
		mu   sync.Mutex
		kept int
	)
	for range 8 {
		wg.Go(func() {
			for {
				err := s.Final(context.Background(), record("acme"))
				if err != nil {
					if !errors.Is(err, local.ErrClosed) {
						t.Errorf("got %v, want %v", err, local.ErrClosed)
					}
					return
				}
				mu.Lock()
				kept++
				mu.Unlock()
			}
		})
	}
	for range 20 {
		if err := s.Final(t.Context(), record("other")); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	wg.Wait()
	got := 0
	f := audit.Filter{Tenant: "acme", Limit: audit.MaxPage}
	for reopened := open(t, dir); ; {
		page, cursor, err := reopened.Audit(t.Context(), f)
		if err != nil {
			t.Fatal(err)
		}
		if got += len(page); cursor == "" {
			break
		}
		f.Cursor = cursor
	}
	if got != kept {
		t.Errorf("got %d records, want the %d that were acknowledged", got, kept)
	}
}

func TestExpiredRowsAreDeletedWhenTheFolderIsOpened(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir)
	then := time.Now().AddDate(0, 0, -91)
	old := recordAt("acme", then)
	if err := s.Final(t.Context(), old); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Save(t.Context(), "S#old", expired(then)); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	s = open(t, dir)
	if err := s.Final(t.Context(), record("acme")); err != nil {
		t.Fatal(err)
	}
	cleaned(t, s)
	conn := raw(t, dir)
	for query, want := range map[string]int{"SELECT count(*) FROM audit": 1, "SELECT count(*) FROM state": 0} {
		var got int
		if err := conn.QueryRowContext(t.Context(), query).Scan(&got); err != nil || got != want {
			t.Errorf("%s: got %d and %v, want %d", query, got, err, want)
		}
	}
}
