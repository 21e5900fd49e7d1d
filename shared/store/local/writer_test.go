package local_test

import (
	"context"
	"database/sql"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"mcprelay/shared/audit"
	"mcprelay/shared/registry"
	"mcprelay/shared/session"
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

// write writes the i-th of a test's items: every other one is durable.
func write(s *local.Store, i int) error {
	if i%2 == 0 {
		return put(s, i)
	}
	_, err := s.Save(context.Background(), session.Key(fmt.Sprint("S#", i)), expired(time.Now().Add(time.Hour)))
	return err
}

// put writes the i-th document.
func put(s *local.Store, i int) error {
	_, err := s.PutDocument(context.Background(), "acme", registry.Document{
		Kind: registry.KindServer, Name: fmt.Sprint("s", i), Body: json.RawMessage(`{}`),
	})
	return err
}

// documents counts the documents that a store has.
func documents(t *testing.T, s *local.Store) int {
	t.Helper()
	all, err := s.Documents(t.Context(), "acme")
	if err != nil {
		t.Fatal(err)
	}
	return len(all)
}

func TestRequestsThatWaitShareOneTransaction(t *testing.T) {
	const writers = 50
	dir := t.TempDir()
	s := open(t, dir)
	if err := put(s, writers); err != nil {
		t.Fatal(err)
	}
	before := commits(t, dir)
	release := stall(t, s)
	var wg sync.WaitGroup
	for i := range writers {
		wg.Go(func() {
			if err := write(s, i); err != nil {
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
	if got := documents(t, s); got != writers/2+1 {
		t.Errorf("got %d documents, want %d", got, writers/2+1)
	}
}

func TestDocumentsWaitForTheDiskAndSessionsDoNot(t *testing.T) {
	s := open(t, t.TempDir())
	cleaned(t, s)
	for i := range 4 {
		if err := write(s, i); err != nil {
			t.Fatal(err)
		}
		if want := i%2 == 0; s.Full() != want {
			t.Errorf("write %d: full synchronisation %v, want %v", i, s.Full(), want)
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
			errs[i] = put(s, i)
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
	if got := documents(t, s); got != len(errs)-1 {
		t.Errorf("got %d documents, want %d", got, len(errs)-1)
	}
}

func TestRequestWhoseCallerIsGoneIsNotCarriedOut(t *testing.T) {
	s := open(t, t.TempDir())
	release := stall(t, s)
	ctx, cancel := context.WithCancel(t.Context())
	gone := make(chan error)
	go func() {
		_, err := s.Save(ctx, "S#gone", expired(time.Now().Add(time.Hour)))
		gone <- err
	}()
	s.AwaitQueue(1)
	cancel()
	if err := <-gone; !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want %v at once", err, context.Canceled)
	}
	release()
	if err := put(s, 1); err != nil {
		t.Error(err)
	}
	if got, err := s.Load(t.Context(), "S#gone"); err != nil || got.SessionID != "" {
		t.Errorf("got %+v and %v, want no state that nobody waited for", got, err)
	}
}

// Another process that keeps the file locked is waited for, but never longer
// than the caller wants to.
func TestALoneWriteWaitsForAnotherProcessUntilItsDeadline(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir)
	cleaned(t, s)
	other := raw(t, dir)
	for i := range 2 {
		if _, err := other.ExecContext(t.Context(), "BEGIN IMMEDIATE"); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
		_, err := s.Save(ctx, "S#late", expired(time.Now().Add(time.Hour)))
		if !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("got %v, want %v", err, context.DeadlineExceeded)
		}
		cancel()
		written := make(chan error)
		go func() { written <- put(s, i) }()
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
	for i := range 20 {
		wg.Go(func() {
			if err := put(s, i); err != nil {
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
	if got := documents(t, open(t, dir)); got != 20 {
		t.Errorf("got %d documents, want 20", got)
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
	for name, write := range map[string]func() error{
		"Intent":      func() error { return s.Intent(t.Context(), record("acme")) },
		"Final":       func() error { return s.Final(t.Context(), record("acme")) },
		"PutDocument": func() error { return put(s, 1) },
	} {
		if err := write(); !errors.Is(err, local.ErrClosed) {
			t.Errorf("%s: got %v, want %v", name, err, local.ErrClosed)
		}
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
	if err := s.Fold(); err != nil {
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
