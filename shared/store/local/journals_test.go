package local_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"

	"mcprelay/shared/audit"
	"mcprelay/shared/store/local"
)

// killed leaves a folder as a process does that is killed after it wrote so
// many finals, and gives their ids, newest first.
func killed(t *testing.T, dir string, n int) []string {
	t.Helper()
	s := held(t, dir)
	var want []string
	for i := range n {
		r := record("acme")
		r.CallID = numbered(int64(i))
		must(t, s.Final(t.Context(), r))
		want = append([]string{r.CallID}, want...)
	}
	must(t, s.Abandon())
	return want
}

func TestTheJournalOfAKilledProcessIsFoldedByTheNext(t *testing.T) {
	for name, next := range map[string]func(string) (*local.Store, error){"Open": local.Open, "OpenExisting": local.OpenExisting} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			want := killed(t, dir, 5)
			if got := rows(t, dir); got != 0 || len(journals(t, dir)) != 1 {
				t.Fatalf("%d rows and journals %v, want none and one", got, journals(t, dir))
			}
			s, err := next(dir)
			must(t, err)
			defer s.Close()
			if got := rows(t, dir); got != 5 || len(journals(t, dir)) != 0 {
				t.Errorf("%d rows and journals %v, want 5 and none", got, journals(t, dir))
			}
			if got := ids(t, s, audit.Filter{}); fmt.Sprint(got) != fmt.Sprint(want) {
				t.Errorf("got %v, want %v", got, want)
			}
		})
	}
}

// A process that lives sees what one that was killed beside it has written, and
// folds it with its own.
func TestAJournalThatIsLeftOverIsFoldedByAProcessThatLives(t *testing.T) {
	dir := t.TempDir()
	s := held(t, dir)
	want := killed(t, dir, 3)
	if got := ids(t, s, audit.Filter{}); fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("got %v, want %v", got, want)
	}
	must(t, s.Final(t.Context(), record("acme")))
	s.Tidy()
	if got := rows(t, dir); got != 4 || len(journals(t, dir)) != 1 {
		t.Errorf("%d rows and journals %v, want 4 and the own one", got, journals(t, dir))
	}
}

func TestTheJournalOfAProcessThatLivesIsLeftToIt(t *testing.T) {
	dir := t.TempDir()
	s := held(t, dir)
	must(t, s.Final(t.Context(), record("acme")))
	other := held(t, dir)
	must(t, other.Final(t.Context(), record("acme")))
	other.Tidy()
	if got := rows(t, dir); got != 1 || len(journals(t, dir)) != 2 {
		t.Errorf("%d rows and journals %v, want 1 and two", got, journals(t, dir))
	}
	must(t, s.Final(t.Context(), record("acme")))
	if got := ids(t, other, audit.Filter{}); len(got) != 3 {
		t.Errorf("got %d records, want 3", len(got))
	}
}

// A process that is killed between the fold and the end of it leaves a journal
// of which all is in SQLite.
func TestWhatIsFoldedTwiceIsThereOnce(t *testing.T) {
	dir := t.TempDir()
	s := held(t, dir)
	begun, whole := record("acme"), record("acme")
	must(t, s.Intent(t.Context(), begun))
	must(t, s.Final(t.Context(), ended(whole)))
	copied, err := os.ReadFile(filepath.Join(dir, s.Journal()))
	must(t, err)
	must(t, s.Final(t.Context(), ended(begun)))
	must(t, s.Fold())
	must(t, os.WriteFile(filepath.Join(dir, "trail-COPY.log"), copied, 0o600))
	for name, s := range map[string]*local.Store{"while it is there": s, "after the next opening": open(t, dir)} {
		got := records(t, s, audit.Filter{})
		if len(got) != 2 || got[0].State != audit.StateFinal || got[1].State != audit.StateFinal {
			t.Errorf("%s: got %v, want two finals", name, got)
		}
		if s.Lost() != 0 {
			t.Errorf("%s: %d finals are counted as lost", name, s.Lost())
		}
	}
	if got := journals(t, dir); len(got) != 1 {
		t.Errorf("got %v, want the journal of the first alone", got)
	}
}

// Of a journal whose end is torn, all that was acknowledged is kept.
func TestATornEndIsDropped(t *testing.T) {
	dir := t.TempDir()
	want := killed(t, dir, 3)
	name := journals(t, dir)[0]
	whole, err := os.ReadFile(name)
	must(t, err)
	end := len(strings.TrimRight(string(whole), "\x00"))
	last := end - bytes.LastIndex(whole[:end], []byte(want[0][:26]+"\x04acme"))
	for cut := 1; cut < last; cut += 31 {
		torn := append(slices.Clone(whole[:end-cut]), make([]byte, cut)...)
		again := t.TempDir()
		must(t, os.WriteFile(filepath.Join(again, filepath.Base(name)), torn, 0o600))
		if got := ids(t, open(t, again), audit.Filter{}); fmt.Sprint(got) != fmt.Sprint(want[1:]) {
			t.Errorf("cut by %d bytes: got %v, want %v", cut, got, want[1:])
		}
	}
}

func TestAJournalThatIsNotUnderstoodIsLeftAlone(t *testing.T) {
	dir := t.TempDir()
	must(t, open(t, dir).Close())
	frame, err := local.Frame(record("acme"), true, 1)
	must(t, err)
	frame[local.HeadSize] = 9 // a state that does not exist yet
	local.Seal(frame, 1)
	path := filepath.Join(dir, "trail-NEWER.log")
	must(t, os.WriteFile(path, frame, 0o600))
	if s, err := local.Open(dir); err == nil || !strings.Contains(err.Error(), "newer relay") || !strings.Contains(err.Error(), path) {
		t.Errorf("got %v and %v, want a sentence about a newer relay", s, err)
	}
	if got, err := os.ReadFile(path); err != nil || len(got) != len(frame) {
		t.Errorf("the journal was touched: %d bytes, %v", len(got), err)
	}
}

func TestJournalsThatOthersCouldHaveWrittenAreRefused(t *testing.T) {
	for _, tt := range []struct {
		name string
		make func(path string) error
		want string
	}{
		{"link", func(path string) error { return os.Symlink("/dev/null", path) }, "is a symbolic link"},
		{"folder", func(path string) error { return os.Mkdir(path, 0o700) }, "is not a file"},
		{"pipe", func(path string) error { return syscall.Mkfifo(path, 0o600) }, "is not a file"},
		{"writable", func(path string) error {
			return os.WriteFile(path, nil, 0o600)
		}, "lets group or others write it"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			dir := t.TempDir()
			s := held(t, dir)
			path := filepath.Join(dir, "trail-STRANGE.log")
			must(t, tt.make(path))
			if tt.name == "writable" {
				chmod(t, path, 0o622)
			}
			if _, err := local.Open(dir); err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("Open: got %v, want it to say %q", err, tt.want)
			}
			if _, _, err := s.Audit(t.Context(), audit.Filter{}); err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("Audit: got %v, want it to say %q", err, tt.want)
			}
			must(t, os.RemoveAll(path))
		})
	}
}

func TestAJournalThatOthersCouldReadIsTakenFromThem(t *testing.T) {
	dir := t.TempDir()
	s := held(t, dir)
	must(t, s.Final(t.Context(), record("acme")))
	path := filepath.Join(dir, s.Journal())
	chmod(t, path, 0o644)
	open(t, dir)
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != fs.FileMode(0o600) {
		t.Errorf("got %v and %v, want mode 600", info.Mode(), err)
	}
}

// Processes that begin and end beside each other take no journal of one that
// lives for one that was left over, and lose nothing.
func TestManyProcessesComeAndGo(t *testing.T) {
	const processes, lives = 8, 4
	dir := t.TempDir()
	reader := open(t, dir)
	var wg sync.WaitGroup
	for range processes {
		wg.Go(func() {
			for range lives {
				s, err := local.Open(dir)
				if err != nil {
					t.Error(err)
					return
				}
				err = errors.Join(s.Final(context.Background(), record("acme")), s.Intent(context.Background(), record("acme")), s.Close())
				if err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	if got := len(ids(t, reader, audit.Filter{Limit: audit.MaxPage})); got != 2*processes*lives {
		t.Errorf("got %d records, want %d", got, 2*processes*lives)
	}
	if got := journals(t, dir); len(got) != 0 {
		t.Errorf("journals are left over: %v", got)
	}
}
