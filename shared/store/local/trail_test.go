package local_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"mcprelay/shared/audit"
	"mcprelay/shared/call"
	"mcprelay/shared/store/local"
)

// ended is the final of a record.
func ended(r audit.Record) audit.Record {
	r.State, r.Outcome, r.Reason, r.DurationMS = audit.StateFinal, call.Answered, call.OK, 12.5
	return r
}

// must stops a test at an error.
func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// ids reads every page of a filter and gives the call ids.
func ids(t testing.TB, s *local.Store, f audit.Filter) []string {
	t.Helper()
	var all []string
	for _, r := range records(t, s, f) {
		all = append(all, r.CallID)
	}
	return all
}

func records(t testing.TB, s *local.Store, f audit.Filter) []audit.Record {
	t.Helper()
	var all []audit.Record
	for {
		page, cursor, err := s.Audit(t.Context(), f)
		must(t, err)
		all = append(all, page...)
		if f.Cursor = cursor; cursor == "" {
			return all
		}
	}
}

// rows counts the records that are in SQLite.
func rows(t *testing.T, dir string) (n int) {
	t.Helper()
	must(t, raw(t, dir).QueryRowContext(t.Context(), "SELECT count(*) FROM audit").Scan(&n))
	return n
}

// journals lists the journals in a folder.
func journals(t *testing.T, dir string) []string {
	t.Helper()
	names, err := filepath.Glob(filepath.Join(dir, "trail-*.log"))
	must(t, err)
	return names
}

// held opens a store whose records wait until Fold.
func held(t testing.TB, dir string) *local.Store {
	t.Helper()
	s := open(t, dir)
	s.Hold()
	return s
}

func TestARecordIsSeenByEveryProcessBeforeItIsFolded(t *testing.T) {
	dir := t.TempDir()
	s := held(t, dir)
	reader, err := local.OpenExisting(dir)
	must(t, err)
	defer reader.Close()
	r := record("acme")
	must(t, s.Intent(t.Context(), r))
	for name, s := range map[string]*local.Store{"own": s, "other": reader} {
		if got := records(t, s, audit.Filter{}); len(got) != 1 || got[0].State != audit.StateIntent {
			t.Errorf("%s: got %v, want the intent", name, got)
		}
	}
	must(t, s.Final(t.Context(), ended(r)))
	for name, s := range map[string]*local.Store{"own": s, "other": reader} {
		if got := records(t, s, audit.Filter{}); len(got) != 1 || got[0].State != audit.StateFinal {
			t.Errorf("%s: got %v, want the final alone", name, got)
		}
	}
	if got := rows(t, dir); got != 0 {
		t.Errorf("%d rows are in SQLite, want none yet", got)
	}
	must(t, s.Fold())
	if got, in := records(t, reader, audit.Filter{}), rows(t, dir); len(got) != 1 || in != 1 {
		t.Errorf("after the fold: %d records, %d rows, want 1 and 1", len(got), in)
	}
}

// A reader of the trail leaves the folder as it is.
func TestAStoreThatWritesNoRecordHasNoJournal(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir)
	records(t, s, audit.Filter{})
	if got := journals(t, dir); len(got) != 0 {
		t.Errorf("got %v, want none", got)
	}
	must(t, s.Final(t.Context(), record("acme")))
	if got := journals(t, dir); len(got) != 1 {
		t.Errorf("got %v, want one", got)
	}
	info, err := os.Stat(journals(t, dir)[0])
	must(t, err)
	if got := info.Mode().Perm(); got != 0o600 {
		t.Errorf("got mode %o, want 600", got)
	}
	must(t, s.Close())
	if got := journals(t, dir); len(got) != 0 {
		t.Errorf("after Close: got %v, want none", got)
	}
	if got := rows(t, dir); got != 1 {
		t.Errorf("after Close: got %d rows, want 1", got)
	}
}

func TestRecordsAreFoldedAfterAPauseTogether(t *testing.T) {
	dir := t.TempDir()
	s := held(t, dir)
	must(t, s.Final(t.Context(), record("acme")))
	must(t, s.Fold())
	before := commits(t, dir)
	s.Pause(500 * time.Millisecond)
	folds := s.Folds()
	for range 20 {
		must(t, s.Final(t.Context(), record("acme")))
	}
	if got := commits(t, dir) - before; got != 0 {
		t.Errorf("%d transactions before the pause is over, want none", got)
	}
	<-folds
	if got := commits(t, dir) - before; got != 1 {
		t.Errorf("20 records took %d transactions, want 1", got)
	}
	if got := s.Unfolded(); got != 0 {
		t.Errorf("%d records are left, want none", got)
	}
}

func TestAFoldIsOnTheDiskBeforeItsPlaceIsUsedAgain(t *testing.T) {
	s := held(t, t.TempDir())
	cleaned(t, s)        // which does not wait for the disk, and may come late
	must(t, write(s, 1)) // a session: what comes next is not durable by itself
	must(t, s.Final(t.Context(), record("acme")))
	if s.Full() {
		t.Fatal("full synchronisation is set already")
	}
	must(t, s.Fold())
	if !s.Full() {
		t.Error("the fold did not wait for the disk")
	}
}

func TestManyBytesAreFoldedAtOnce(t *testing.T) {
	s := held(t, t.TempDir())
	folds := s.Folds()
	r := record("acme")
	r.Detail = strings.Repeat("x", 64<<10)
	for written := 0; written < local.Ripe; written += 64 << 10 {
		r.CallID = record("acme").CallID
		must(t, s.Final(t.Context(), r))
	}
	<-folds
}

func TestAJournalHoldsRecordsOfAnySize(t *testing.T) {
	dir := t.TempDir()
	s := held(t, dir)
	var want []string
	for i := range 40 {
		r := record("acme")
		r.Detail = strings.Repeat("é", i*4000)
		must(t, s.Final(t.Context(), r))
		want = append([]string{r.CallID}, want...)
		if i == 13 || i == 30 {
			must(t, s.Fold())
		}
	}
	got := ids(t, s, audit.Filter{Tenant: "acme"})
	if len(got) != len(want) {
		t.Errorf("got %d records, want %d", len(got), len(want))
	}
	r := record("acme")
	r.Detail = strings.Repeat("x", local.MaxItem)
	if err := s.Final(t.Context(), r); !errors.Is(err, local.ErrTooLarge) {
		t.Errorf("got %v, want %v", err, local.ErrTooLarge)
	}
}

// lockedStore is a store that cannot fold, since somebody holds the file, with
// a journal that is full. Nobody waits long for the lock.
func lockedStore(t *testing.T) (s *local.Store, written int, unlock func()) {
	t.Helper()
	dir := t.TempDir()
	s = held(t, dir)
	cleaned(t, s)
	must(t, impatient(t, s))
	other := raw(t, dir)
	_, err := other.ExecContext(t.Context(), "BEGIN IMMEDIATE")
	must(t, err)
	r := record("acme")
	r.Detail = strings.Repeat("x", 340<<10)
	for err == nil {
		r.CallID = record("acme").CallID
		ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
		if err = s.Final(ctx, r); err == nil {
			written++
		}
		cancel()
	}
	return s, written, func() {
		_, err := other.ExecContext(t.Context(), "ROLLBACK")
		must(t, err)
	}
}

// impatient lets folds wait for other processes 20 ms instead of 2 s.
func impatient(t *testing.T, s *local.Store) error {
	t.Helper()
	return s.Do(t.Context(), true, func(ctx context.Context, c *sql.Conn) error {
		_, err := c.ExecContext(ctx, "PRAGMA busy_timeout = 20")
		return err
	})
}

func TestRecordsAreTakenWhileSQLiteIsLockedAsLongAsThereIsRoom(t *testing.T) {
	s, written, unlock := lockedStore(t)
	if limit := 2 * local.HalfSize / (340 << 10); written < limit/2 || written > limit {
		t.Errorf("%d records of 340 KiB were taken, want at most %d and at least half", written, limit)
	}
	r := record("acme")
	r.Detail = strings.Repeat("x", 340<<10)
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Millisecond)
	defer cancel()
	if err := s.Final(ctx, r); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got %v, want %v", err, context.DeadlineExceeded)
	}
	s.Pause(time.Millisecond)
	if err := s.Fold(); err == nil {
		t.Error("the fold of a locked file succeeded")
	}
	// Nobody waits without end, whatever his context.
	if err := s.Intent(context.Background(), r); err == nil || !strings.Contains(err.Error(), "no room") {
		t.Errorf("got %v, want an error of the fold", err)
	}
	if got := len(ids(t, s, audit.Filter{Tenant: "acme"})); got != written {
		t.Errorf("%d records are read while it is locked, want the %d that were taken", got, written)
	}
	unlock()
	for err := errors.New("not yet"); err != nil; {
		if err = s.Final(t.Context(), r); err != nil && !strings.Contains(err.Error(), "no room") {
			t.Fatal(err)
		}
	}
	if got := len(ids(t, s, audit.Filter{Tenant: "acme"})); got != written+1 {
		t.Errorf("got %d records, want %d", got, written+1)
	}
}

func TestAWaitForRoomEndsWithAFold(t *testing.T) {
	s, written, unlock := lockedStore(t)
	r := record("acme")
	r.Detail = strings.Repeat("x", 340<<10)
	done := make(chan error)
	unlock()
	go func() { done <- s.Final(context.Background(), r) }()
	must(t, s.Fold())
	must(t, <-done)
	if got := len(ids(t, s, audit.Filter{Tenant: "acme"})); got != written+1 {
		t.Errorf("got %d records, want %d", got, written+1)
	}
}

func TestAWaitForRoomEndsWithClose(t *testing.T) {
	s, _, unlock := lockedStore(t)
	r := record("acme")
	r.Detail = strings.Repeat("x", 340<<10)
	done := make(chan error)
	go func() { done <- s.Final(context.Background(), r) }()
	unlock()
	must(t, s.Close())
	if err := <-done; err != nil && !errors.Is(err, local.ErrClosed) {
		t.Errorf("got %v, want %v or success", err, local.ErrClosed)
	}
}

// What Close cannot fold stays in the journal, for the next process.
func TestCloseKeepsWhatItCannotFold(t *testing.T) {
	dir := t.TempDir()
	s, err := local.Open(dir)
	must(t, err)
	s.Hold()
	cleaned(t, s)
	must(t, impatient(t, s))
	r := record("acme")
	must(t, s.Final(t.Context(), r))
	other := raw(t, dir)
	_, err = other.ExecContext(t.Context(), "BEGIN IMMEDIATE")
	must(t, err)
	if err := s.Close(); err == nil {
		t.Error("Close folded into a locked file")
	}
	_, err = other.ExecContext(t.Context(), "ROLLBACK")
	must(t, err)
	if got := len(journals(t, dir)); got != 1 {
		t.Errorf("%d journals are left, want 1", got)
	}
	again := open(t, dir)
	if got := fmt.Sprint(ids(t, again, audit.Filter{})); got != fmt.Sprint([]string{r.CallID}) {
		t.Errorf("got %s, want %s", got, r.CallID)
	}
	if got := len(journals(t, dir)); got != 0 {
		t.Errorf("%d journals are left by the next process, want none", got)
	}
}

// What one final costs beside its fold is the place in what is known.
func TestAFinalHardlyAllocates(t *testing.T) {
	s := held(t, t.TempDir())
	must(t, s.Final(t.Context(), record("acme")))
	for made := time.Now(); time.Since(made) < 2*local.Settled; {
		runtime.Gosched() // until the folder need not be listed again
	}
	r, n := ended(record("acme")), int64(0)
	got := testing.AllocsPerRun(500, func() {
		n++
		r.CallID = numbered(n) // one
		if err := s.Final(context.Background(), r); err != nil {
			t.Fatal(err)
		}
	})
	// The race detector makes pools forget some of what they hold.
	if got > 4 {
		t.Errorf("got %v allocations, want at most 4", got)
	}
}

// A fold is work that calls would have to share the processor with, so it
// waits for them to pause; not for ever.
func TestAFoldWaitsForCallsToPause(t *testing.T) {
	s := held(t, t.TempDir())
	must(t, s.Final(t.Context(), record("acme")))
	for i := range local.MostPauses {
		if s.Resting() {
			t.Fatalf("folded after %d pauses in which records came", i)
		}
		must(t, s.Final(t.Context(), record("acme")))
	}
	if !s.Resting() {
		t.Errorf("put off more than %d times", local.MostPauses)
	}
	must(t, s.Fold())
	must(t, s.Final(t.Context(), record("acme")))
	if s.Resting() || !s.Resting() {
		t.Error("want one pause without a record, and then the fold")
	}
}
