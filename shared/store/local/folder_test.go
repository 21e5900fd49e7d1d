package local_test

import (
	"context"
	"database/sql"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"mcprelay/shared/audit"
	"mcprelay/shared/store/local"
)

// open opens a folder for the length of a test.
func open(t testing.TB, dir string) *local.Store {
	t.Helper()
	s, err := local.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Errorf("closing: %v", err)
		}
	})
	return s
}

func TestFolderAndFilesAreOursAlone(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "a", "b")
	s := open(t, dir)
	if err := s.Intent(t.Context(), record("acme")); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]fs.FileMode{
		dir: 0o700, filepath.Join(dir, "relay.db"): 0o600, filepath.Join(dir, "relay.db-wal"): 0o600, filepath.Join(dir, "relay.db-shm"): 0o600,
	} {
		info, err := os.Lstat(path)
		if err != nil {
			t.Fatal(err)
		}
		if got := info.Mode().Perm(); got != want {
			t.Errorf("%s: got mode %o, want %o", path, got, want)
		}
	}
}

func TestFolderThatOthersMayReadIsClosedToThem(t *testing.T) {
	dir := t.TempDir()
	if err := open(t, dir).Close(); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(dir, local.FileName)
	for path, mode := range map[string]fs.FileMode{dir: 0o755, file: 0o644} {
		if err := os.Chmod(path, mode); err != nil {
			t.Fatal(err)
		}
	}
	open(t, dir)
	for path, want := range map[string]fs.FileMode{dir: 0o700, file: 0o600} {
		info, err := os.Stat(path)
		if err != nil {
			t.Fatal(err)
		}
		if got := info.Mode().Perm(); got != want {
			t.Errorf("%s: got mode %o, want %o", path, got, want)
		}
	}
}

func TestSymbolicLinksAndOtherThingsAreRefused(t *testing.T) {
	for _, tt := range []struct {
		name string
		make func(t *testing.T, dir, elsewhere string) error
		want string
	}{
		{"folder is a link", func(_ *testing.T, dir, elsewhere string) error { return os.Symlink(elsewhere, dir) }, "is a symbolic link"},
		{"folder is a link to nowhere", func(_ *testing.T, dir, elsewhere string) error {
			return os.Symlink(filepath.Join(elsewhere, "none"), dir)
		}, "data folder"},
		{"folder is a file", func(_ *testing.T, dir, _ string) error { return os.WriteFile(dir, nil, 0o600) }, "data folder"},
		{"file is a link", link("relay.db"), "is a symbolic link"},
		{"log is a link", link("relay.db-wal"), "is a symbolic link"},
		{"index is a link", link("relay.db-shm"), "is a symbolic link"},
		{"journal is a link", link("relay.db-journal"), "is a symbolic link"},
		{"file is a folder", func(_ *testing.T, dir, _ string) error { return os.MkdirAll(filepath.Join(dir, "relay.db"), 0o700) }, "is not a file"},
		{"file is no database", func(_ *testing.T, dir, _ string) error {
			if err := os.Mkdir(dir, 0o700); err != nil {
				return err
			}
			return os.WriteFile(filepath.Join(dir, "relay.db"), []byte(strings.Repeat("not a database ", 100)), 0o600)
		}, "file is not a database"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			dir, elsewhere := filepath.Join(t.TempDir(), "data"), t.TempDir()
			if err := tt.make(t, dir, elsewhere); err != nil {
				t.Fatal(err)
			}
			s, err := local.Open(dir)
			if err == nil {
				s.Close()
				t.Fatal("it was opened")
			}
			if !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got %q, want it to say %q", err, tt.want)
			}
			if entries, _ := os.ReadDir(elsewhere); len(entries) > 0 {
				t.Errorf("%d files were made behind the link", len(entries))
			}
		})
	}
}

// link makes a link of a name in the folder to a file elsewhere.
func link(name string) func(t *testing.T, dir, elsewhere string) error {
	return func(t *testing.T, dir, elsewhere string) error {
		if err := os.Mkdir(dir, 0o700); err != nil {
			return err
		}
		return os.Symlink(filepath.Join(elsewhere, "target"), filepath.Join(dir, name))
	}
}

func TestFolderNamesAreTakenAsTheyAre(t *testing.T) {
	for _, name := range []string{"with space", "ques?tion", "hash#tag", "per%20cent", "Zoë", "am&per=sand", "semi;colon", "q'uote"} {
		t.Run(name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), name)
			s := open(t, dir)
			if err := s.Final(t.Context(), record("acme")); err != nil {
				t.Fatal(err)
			}
			if _, err := os.Stat(filepath.Join(dir, "relay.db")); err != nil {
				t.Errorf("the file is not in the folder: %v", err)
			}
		})
	}
}

func TestRelativeFolderIsOfTheWorkingDirectory(t *testing.T) {
	t.Chdir(t.TempDir())
	open(t, "relay-data")
	if _, err := os.Stat(filepath.Join("relay-data", "relay.db")); err != nil {
		t.Error(err)
	}
}

// raw opens the file beside the store.
func raw(t *testing.T, dir string) *sql.Conn {
	t.Helper()
	db, err := sql.Open("sqlite", "file:"+filepath.Join(dir, local.FileName)+"?_pragma=busy_timeout(5000)")
	if err != nil {
		t.Fatal(err)
	}
	conn, err := db.Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = conn.Close()
		_ = db.Close()
	})
	return conn
}

func TestFileOfANewerRelayIsRefused(t *testing.T) {
	dir := t.TempDir()
	if err := open(t, dir).Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := raw(t, dir).ExecContext(t.Context(), "PRAGMA user_version = 99"); err != nil {
		t.Fatal(err)
	}
	s, err := local.Open(dir)
	if err == nil {
		s.Close()
	}
	if err == nil || !strings.Contains(err.Error(), "newer relay") {
		t.Errorf("got %v, want a sentence about a newer relay", err)
	}
}

func TestRecordsSurviveAReopening(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir)
	want := record("acme")
	if err := s.Intent(t.Context(), want); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	got, _, err := open(t, dir).Audit(context.Background(), audit.Filter{Tenant: "acme"})
	if err != nil || len(got) != 1 || got[0].CallID != want.CallID {
		t.Errorf("got %v and %v, want the record of %s", got, err, want.CallID)
	}
}

func TestFilterWithoutATenantReadsTheWholeFolder(t *testing.T) {
	s := open(t, t.TempDir())
	first, second := record("acme"), record("zenith")
	for _, r := range []audit.Record{first, second} {
		if err := s.Final(t.Context(), r); err != nil {
			t.Fatal(err)
		}
	}
	got, _, err := s.Audit(t.Context(), audit.Filter{})
	if err != nil || len(got) != 2 {
		t.Errorf("got %d records and %v, want both tenants'", len(got), err)
	}
}
