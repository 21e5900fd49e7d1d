package local_test

import (
	"database/sql"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"mcprelay/shared/audit"
	"mcprelay/shared/catalog"
	"mcprelay/shared/idempotency"
	"mcprelay/shared/session"
	"mcprelay/shared/store/local"
	"mcprelay/shared/turn"
)

// folderOf is a data folder whose file holds what a script makes of it.
func folderOf(t *testing.T, scripts ...string) string {
	t.Helper()
	dir := t.TempDir()
	path := filepath.Join(dir, local.FileName)
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	db, err := sql.Open("sqlite", "file:"+path)
	if err != nil {
		t.Fatal(err)
	}
	for _, script := range scripts {
		if _, err := db.ExecContext(t.Context(), script); err != nil {
			t.Fatal(err)
		}
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	return dir
}

// version1 is the dump of a file that a relay of version 1 of the tables wrote.
func version1(t *testing.T) string { return dump(t, "testdata/version-1.sql") }

func dump(t *testing.T, name string) string {
	t.Helper()
	script, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return string(script)
}

// The session that version 1 stored.
const oldKey = session.Key("S#_yXjKm4h5maKARvlIEvjVCCUYCGWdIEjlK2HoTaKtfo")

func TestFileOfVersion1KeepsWhatItHeld(t *testing.T) {
	s := open(t, folderOf(t, version1(t)))
	records, _, err := s.Audit(t.Context(), audit.Filter{Tenant: "acme", Run: "run-1"})
	if err != nil || len(records) != 2 || records[0].State != audit.StateFinal || records[1].State != audit.StateIntent {
		t.Errorf("got records %+v and %v, want the final and the intent", records, err)
	}
	state, err := s.Load(t.Context(), oldKey)
	if err != nil || state.SessionID != "kept" || state.Ver == 0 {
		t.Errorf("got session %+v and %v, want the one that was kept", state, err)
	}
	if got, err := s.Documents(t.Context(), "acme"); err != nil || len(got) != 1 || got[0].Rev != 1 {
		t.Errorf("got documents %+v and %v, want the one", got, err)
	}
	if got, err := s.Token(t.Context(), "LMNOPQRS"); err != nil || got.Subject != "ci" {
		t.Errorf("got token %+v and %v, want ci's", got, err)
	}
	if t.Failed() {
		return
	}
	if err := s.Final(t.Context(), records[1]); err != nil {
		t.Errorf("the old intent cannot be completed: %v", err)
	}
}

func TestFileOfVersion1CanDoWhatIsNew(t *testing.T) {
	s := open(t, folderOf(t, version1(t)))
	// Nobody knows who opened the old session, so nobody could close it.
	year2100 := time.Date(2100, 1, 1, 0, 0, 0, 0, time.UTC)
	if got, err := s.SessionsExpired(t.Context(), year2100, 10); err != nil || len(got) != 0 {
		t.Errorf("got sessions to close %+v and %v, want none", got, err)
	}
	state, err := s.Load(t.Context(), oldKey)
	if err != nil {
		t.Fatal(err)
	}
	state.Owner = session.Owner{Tenant: "acme", Server: "docs", Subject: "ci", Kind: "user", Run: "run-1"}
	if state, err = s.Save(t.Context(), oldKey, state); err != nil {
		t.Fatal(err)
	}
	want := []session.Entry{{Key: oldKey, State: state}}
	if got, err := s.SessionsExpired(t.Context(), year2100, 10); err != nil || !cmp.Equal(want, got) {
		t.Errorf("got %+v and %v, want the session that was saved anew", got, err)
	}
	if got, err := s.SessionsOfRun(t.Context(), state.RunKey()); err != nil || !cmp.Equal(want, got) {
		t.Errorf("got %+v and %v, want the session that was saved anew", got, err)
	}
	if _, err := s.PutCatalog(t.Context(), "acme", "docs", catalog.Catalog{Origin: "o"}); err != nil {
		t.Error(err)
	}
}

func TestFileOfVersion2KeepsWhatItHeld(t *testing.T) {
	s := open(t, folderOf(t, dump(t, "testdata/version-2.sql")))
	entries, err := s.SessionsOfRun(t.Context(), session.RunKey("acme", "user", "ci", "run-1"))
	if err != nil || len(entries) != 1 || entries[0].Key != oldKey || entries[0].State.SessionID != "kept" {
		t.Errorf("got sessions %+v and %v, want the one that was kept", entries, err)
	}
	if records, _, err := s.Audit(t.Context(), audit.Filter{Tenant: "acme", Run: "run-1"}); err != nil || len(records) != 2 {
		t.Errorf("got records %+v and %v, want two", records, err)
	}
	record := idempotency.Record{Digest: "d", CallID: "one", Until: time.Now(), Expires: time.Now().Add(time.Hour)}
	if _, mine, err := s.BeginKey(t.Context(), "I#x", record); err != nil || !mine {
		t.Errorf("a key began %v, %v", mine, err)
	}
}

func TestFileOfVersion3KeepsWhatItHeld(t *testing.T) {
	s := open(t, folderOf(t, dump(t, "testdata/version-3.sql")))
	key := idempotency.KeyOf("acme", "user", "ci", "key-1")
	again := idempotency.Record{Digest: "d", CallID: "two", Until: time.Now(), Expires: time.Now().Add(time.Hour)}
	if got, mine, err := s.BeginKey(t.Context(), key, again); err != nil || mine || string(got.Reply) != `{"kept":true}` {
		t.Errorf("a key that was used began %v, %v: %+v", mine, err, got)
	}
	if entries, err := s.SessionsOfRun(t.Context(), session.RunKey("acme", "user", "ci", "run-1")); err != nil || len(entries) != 1 {
		t.Errorf("got sessions %+v and %v, want the one that was kept", entries, err)
	}
	if got, err := s.PutTurn(t.Context(), "N#x", turn.Turn{ID: "t", Expires: time.Now()}); err != nil || got.Ver == 0 {
		t.Errorf("a turn was stored as %+v, %v", got, err)
	}
	if added, err := s.Add(t.Context(), "B#x", 1, time.Now().Add(time.Hour)); err != nil || !added {
		t.Errorf("a call was counted %v, %v", added, err)
	}
}

// Its tools have no digests, so nobody could tell what was approved: the next
// reading counts as the first one.
func TestCatalogOfVersion2IsReplacedByItsVersion(t *testing.T) {
	s := open(t, folderOf(t, dump(t, "testdata/version-2.sql")))
	got, err := s.Catalog(t.Context(), "acme", "docs")
	if diff := cmp.Diff(catalog.Catalog{Version: 7}, got); err != nil || diff != "" {
		t.Fatalf("got %v, catalog (-want +got):\n%s", err, diff)
	}
	now := catalog.Catalog{Place: "here", Acquired: time.Now().UTC(), Version: 7, Tools: []catalog.Tool{{Name: "search", Raw: []byte(`{}`), Digest: "d"}}}
	want, err := s.PutCatalog(t.Context(), "acme", "docs", now.Pinned(false, got))
	if err != nil {
		t.Fatal(err)
	}
	if got, err = s.Catalog(t.Context(), "acme", "docs"); err != nil || !cmp.Equal(want, got) || got.Pins["search"] != "d" {
		t.Errorf("got %+v and %v, want %+v", got, err, want)
	}
}

func TestProcessesUpgradeOneFileTogether(t *testing.T) {
	dir := folderOf(t, version1(t))
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			s, err := local.Open(dir)
			if err != nil {
				t.Error(err)
				return
			}
			if state, err := s.Load(t.Context(), oldKey); err != nil || state.SessionID != "kept" {
				t.Errorf("got %+v and %v, want the session", state, err)
			}
			if err := s.Close(); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
}

func TestUpgradeThatFailsChangesNothing(t *testing.T) {
	// The table that is in the way is made last, after the columns.
	dir := folderOf(t, version1(t), "CREATE TABLE counters (mine TEXT)")
	s, err := local.Open(dir)
	if err == nil {
		s.Close()
		t.Fatal("a file with a table in the way was opened")
	}
	var version, columns int
	conn := raw(t, dir)
	for query, into := range map[string]*int{
		"PRAGMA user_version":                             &version,
		"SELECT count(*) FROM pragma_table_info('state')": &columns,
	} {
		if err := conn.QueryRowContext(t.Context(), query).Scan(into); err != nil {
			t.Fatal(err)
		}
	}
	if version != 1 || columns != 4 {
		t.Errorf("got version %d and %d columns of state, want 1 and 4", version, columns)
	}
}
