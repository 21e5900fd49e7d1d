package local_test

import (
	"context"
	"database/sql"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"mcprelay/shared/audit"
	"mcprelay/shared/store/local"
)

// The folders of tests are of this process's user alone, whatever mask it has.
func TestMain(m *testing.M) {
	syscall.Umask(0o022)
	if dir := os.Getenv(childEnv); dir != "" {
		fmt.Fprintln(os.Stderr, child(dir))
		os.Exit(1)
	}
	os.Exit(m.Run())
}

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

// The operator decides who may read a folder that was there; the files in it
// are ours alone.
func TestFolderThatWasThereKeepsItsMode(t *testing.T) {
	for _, mode := range []fs.FileMode{0o755, 0o750, 0o700} {
		dir := t.TempDir()
		if err := open(t, dir).Close(); err != nil {
			t.Fatal(err)
		}
		file := filepath.Join(dir, local.FileName)
		wantModes := map[string]fs.FileMode{dir: mode, file: 0o600}
		chmod(t, dir, mode)
		chmod(t, file, mode&0o666)
		open(t, dir)
		for path, want := range wantModes {
			info, err := os.Stat(path)
			if err != nil {
				t.Fatal(err)
			}
			if got := info.Mode().Perm(); got != want {
				t.Errorf("%s: got mode %o, want %o", path, got, want)
			}
		}
	}
}

func chmod(t *testing.T, path string, mode fs.FileMode) {
	t.Helper()
	if err := os.Chmod(path, mode); err != nil {
		t.Fatal(err)
	}
}

func TestWhatOthersCanWriteIsRefused(t *testing.T) {
	for _, name := range []string{"", "relay.db", "relay.db-wal", "relay.db-shm", "relay.db-journal"} {
		for _, others := range []fs.FileMode{0o020, 0o002, 0o022} {
			dir := t.TempDir()
			path := filepath.Join(dir, name)
			if name != "" {
				if err := os.WriteFile(path, nil, 0o600); err != nil {
					t.Fatal(err)
				}
			}
			mode := 0o600 | others
			if name == "" {
				mode |= 0o100
			}
			chmod(t, path, mode)
			for function, open := range map[string]func(string) (*local.Store, error){"Open": local.Open, "OpenExisting": existing(t)} {
				s, err := open(dir)
				if err == nil {
					s.Close()
				}
				if err == nil || !strings.Contains(err.Error(), "lets group or others write it") || !strings.Contains(err.Error(), path) {
					t.Errorf("%s with mode %o of %q: got %v", function, mode, name, err)
				}
			}
			if info, err := os.Stat(path); err != nil || info.Mode().Perm() != mode {
				t.Errorf("the mode of %q was changed: %v, %v", name, info, err)
			}
		}
	}
}

// existing is OpenExisting of a folder that has a file.
func existing(t *testing.T) func(string) (*local.Store, error) {
	return func(dir string) (*local.Store, error) {
		file, err := os.OpenFile(filepath.Join(dir, local.FileName), os.O_CREATE, 0o600)
		if err != nil {
			t.Fatal(err)
		}
		file.Close()
		return local.OpenExisting(dir)
	}
}

// Only the superuser can give a file away, so the process is somebody else
// where the test is not run by one.
func TestWhatBelongsToSomebodyElseIsRefused(t *testing.T) {
	for _, name := range []string{"", "relay.db", "relay.db-wal"} {
		dir, owner := t.TempDir(), os.Geteuid()
		if err := open(t, dir).Close(); err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(dir, name)
		if err := os.WriteFile(filepath.Join(dir, "relay.db-wal"), nil, 0o600); err != nil {
			t.Fatal(err)
		}
		if owner == 0 {
			if err := local.Find(dir, 4242); err != nil {
				t.Errorf("%q of the superuser: %v", name, err)
			}
			owner = 4243
			if err := os.Chown(path, owner, -1); err != nil {
				t.Fatal(err)
			}
			if s, err := local.Open(dir); err == nil {
				s.Close()
				t.Errorf("%q of somebody else was opened", name)
			}
		}
		for uid, want := range map[int]bool{owner: true, owner + 1: false} {
			for function, check := range map[string]func(string, int) error{"Prepare": local.Prepare, "Find": local.Find} {
				if err := check(dir, uid); (err == nil) != want || !want && !strings.Contains(err.Error(), "belongs to another user") {
					t.Errorf("%s with %q of user %d as user %d: got %v", function, name, owner, uid, err)
				}
			}
		}
	}
}

func TestOpenExistingMakesNothing(t *testing.T) {
	root := t.TempDir()
	empty, bare := filepath.Join(root, "empty"), filepath.Join(root, "bare")
	for _, dir := range []string{empty, bare} {
		if err := os.Mkdir(dir, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	// As a process that was killed at once leaves it.
	if err := os.WriteFile(filepath.Join(bare, local.FileName), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{filepath.Join(root, "none"), filepath.Join(root, "none", "either"), empty, bare} {
		s, err := local.OpenExisting(dir)
		if err == nil {
			s.Close()
		}
		if err == nil || err.Error() != "there is no store in "+dir {
			t.Errorf("got %v, want one sentence about %s", err, dir)
		}
	}
	var left []string
	err := filepath.WalkDir(root, func(path string, _ fs.DirEntry, err error) error {
		left = append(left, strings.TrimPrefix(path, root))
		return err
	})
	if diff := cmp.Diff([]string{"", "/bare", "/bare/relay.db", "/empty"}, left); err != nil || diff != "" {
		t.Errorf("%v, what is there (-want +got):\n%s", err, diff)
	}
}

func TestOpenExistingReadsWhatIsThere(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir)
	want := record("acme")
	if err := s.Final(t.Context(), want); err != nil {
		t.Fatal(err)
	}
	again, err := local.OpenExisting(dir) // beside the relay that writes
	if err != nil {
		t.Fatal(err)
	}
	got, _, err := again.Audit(t.Context(), audit.Filter{})
	if err != nil || len(got) != 1 || got[0].CallID != want.CallID {
		t.Errorf("got %v and %v, want the record of %s", got, err, want.CallID)
	}
	if err := again.Close(); err != nil {
		t.Error(err)
	}
}

func TestOpenExistingRefusesWhatIsNoDatabase(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, local.FileName), []byte(strings.Repeat("not a database ", 100)), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := local.OpenExisting(dir); err == nil || !strings.Contains(err.Error(), "file is not a database") {
		t.Errorf("got %v, want a sentence about the file", err)
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
