package stdio_test

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"mcprelay/shared/stdio"
)

// namesIn are the names in a folder, in order.
func namesIn(t testing.TB, dir string) []string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	names := []string{}
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}

// TestTheFoldersOfRelaysThatWereKilledAreRemoved, and nothing else: not those of
// a relay that lives, which is this process too.
func TestTheFoldersOfRelaysThatWereKilledAreRemoved(t *testing.T) {
	dir := t.TempDir()
	lives, _ := runRelay(t, dir)
	kept := namesIn(t, dir)
	dead, _ := runRelay(t, dir)
	_ = dead.Process.Kill()
	_ = dead.Wait()
	folders := slices.DeleteFunc(namesIn(t, dir), func(name string) bool { return slices.Contains(kept, name) })
	if len(kept) != 2 || len(folders) != 2 || !strings.HasPrefix(folders[0], "mcprelay-"+itoa(dead.Process.Pid)+"-") || !strings.HasPrefix(kept[0], "mcprelay-"+itoa(lives.Process.Pid)+"-") {
		t.Fatalf("the relays made %q and %q", kept, folders)
	}
	write(t, filepath.Join(dir, folders[0], "left"), "x")
	// What has the name of a folder that this process's number had before.
	mkdir(t, filepath.Join(dir, "mcprelay-"+itoa(os.Getpid())+"-1", "deep", "er"))
	others := []string{"mcprelay-e2e-1", "mcprelay-new-1", "mcprelay-1", "mcprelay-1-x", "mcprelay--1", "1-1", "mcprelay-1-1-1"}
	for _, name := range others {
		mkdir(t, filepath.Join(dir, name))
	}
	write(t, filepath.Join(dir, "mcprelay-1-2"), "a file")
	mkdir(t, filepath.Join(dir, "behind"))
	if err := os.Symlink(filepath.Join(dir, "behind"), filepath.Join(dir, "mcprelay-1-3")); err != nil {
		t.Fatal(err)
	}
	kept = append(append(kept, others...), "mcprelay-1-2", "mcprelay-1-3", "behind")
	if os.Getuid() == 0 { // nobody else can give a folder away
		mkdir(t, filepath.Join(dir, "mcprelay-1-4"))
		if err := os.Chown(filepath.Join(dir, "mcprelay-1-4"), nobody, nobody); err != nil {
			t.Fatal(err)
		}
		kept = append(kept, "mcprelay-1-4")
	}
	t.Setenv("TMPDIR", dir)
	var log journal
	first, second := newPool(t, &log), newPool(t, &log)
	for _, p := range []*stdio.Pool{first, second} {
		kept = append(kept, filepath.Base(factsOf(t, p, ask(scripted(script{}), "")).Dir))
	}
	slices.Sort(kept)
	until(t, "the folders to be removed", func() bool { return len(namesIn(t, dir)) <= len(kept) })
	if diff := cmp.Diff(kept, namesIn(t, dir)); diff != "" {
		t.Errorf("what is left (-want +got):\n%s", diff)
	}
	for _, p := range []*stdio.Pool{first, second} {
		if err := p.Close(within(t)); err != nil {
			t.Error(err)
		}
	}
	if got := strings.Count(log.String(), "folders of dead relays removed"); got == 0 || strings.Contains(log.String(), dir) {
		t.Errorf("the log: %s", log.String())
	}
	if got := len(namesIn(t, dir)); got != len(kept)-2 {
		t.Errorf("%d names are left, want those of the children gone: %q", got, namesIn(t, dir))
	}
}

// TestSweepingIsBounded: what is left over waits for the next relay.
func TestSweepingIsBounded(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("TMPDIR", dir)
	for i := range stdio.MaxSwept + 5 {
		mkdir(t, filepath.Join(dir, "mcprelay-1-"+itoa(i)))
	}
	for _, left := range []int{5, 0} {
		var log journal
		p := newPool(t, &log)
		result(t, p, ask(scripted(script{}), "echo"))
		until(t, "the sweep to end", func() bool { return strings.Contains(log.String(), "folders of dead relays removed") })
		if err := p.Close(within(t)); err != nil {
			t.Error(err)
		}
		if got := len(namesIn(t, dir)); got != left {
			t.Errorf("%d folders are left, want %d", got, left)
		}
	}
}

func mkdir(t testing.TB, path string) {
	t.Helper()
	if err := os.MkdirAll(path, 0o700); err != nil {
		t.Fatal(err)
	}
}

// TestAFailedStartLeavesNoFolder, be it the command or the system that fails.
func TestAFailedStartLeavesNoFolder(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("TMPDIR", dir)
	p := newPool(t, nil)
	for _, spec := range []stdio.Spec{{Command: "/nowhere"}, {Command: program(t, "not a program")}} {
		spec.Attempts = -1
		refused(t, within(t), p, ask(spec, "echo"))
	}
	if got := namesIn(t, dir); len(got) != 0 {
		t.Errorf("left: %q", got)
	}
	t.Setenv("TMPDIR", filepath.Join(dir, "nowhere"))
	got, _ := refused(t, within(t), p, ask(scripted(script{}), "echo"))
	if strings.Contains(got.Detail, dir) {
		t.Errorf("the refusal names the relay's folder: %v", got)
	}
}

// program makes an executable file of a folder of its own.
func program(t testing.TB, text string) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "server")
	write(t, name, text)
	return name
}

// FuzzLeft holds the names of what is swept to their rule.
func FuzzLeft(f *testing.F) {
	for _, name := range []string{"mcprelay-12-345", "mcprelay-new-345", "mcprelay-e2e-1", "mcprelay-1-", "mcprelay--1", "mcprelay-1", "x-mcprelay-1-1", "1-1", "mcprelay-1-1\n", "mcprelay-1-1/.."} {
		f.Add(name)
	}
	rule := regexp.MustCompile(`\Amcprelay-[0-9]+-[0-9]+\z`)
	f.Fuzz(func(t *testing.T, name string) {
		if got, want := stdio.Left(name), rule.MatchString(name); got != want {
			t.Errorf("%q: got %v, want %v", name, got, want)
		}
	})
}
