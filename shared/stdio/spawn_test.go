package stdio_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"mcprelay/shared/call"
	"mcprelay/shared/stdio"
)

func TestAChildSeesTheEnvironmentOfItsSpecAndNothingElse(t *testing.T) {
	t.Setenv("RELAY_DEV_TOKEN", "sesame-of-the-relay")
	t.Setenv("LD_LIBRARY_PATH", "")
	p := newPool(t, nil)
	r := ask(scripted(script{}, "DOCS_TOKEN=a=b c\n", "EMPTY="), "facts")
	r.Spec.Args = []string{"--flag", "", "with space", "$HOME", "*"}
	got := factsOf(t, p, r)
	if diff := cmp.Diff(r.Spec.Env, got.Env); diff != "" {
		t.Errorf("environment (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(r.Spec.Args, got.Args); diff != "" {
		t.Errorf("arguments (-want +got):\n%s", diff)
	}
	argv, err := os.ReadFile("/proc/" + itoa(got.PID) + "/cmdline")
	if err != nil || strings.Contains(string(argv), "a=b c") {
		t.Errorf("the command line is %q, error %v", argv, err)
	}
}

func TestAChildWithoutAnEnvironmentHasNone(t *testing.T) {
	dir := t.TempDir()
	script := filepath.Join(dir, "server")
	// Builtins only: it has no PATH. Its first line on stdout is what it sees.
	write(t, script, "#!/bin/sh\nread line\nexport -p >\""+filepath.Join(dir, "seen")+"\"\n")
	p := newPool(t, nil)
	got, _ := refused(t, within(t), p, ask(stdio.Spec{Command: script, Attempts: -1}, "echo"))
	want(t, got, call.ProcessFailed, call.ImpactNone)
	seen, err := os.ReadFile(filepath.Join(dir, "seen"))
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(seen)) {
		name, _, _ := strings.Cut(strings.TrimPrefix(strings.TrimSpace(line), "export "), "=")
		if !slices.Contains([]string{"PWD", "OLDPWD", "SHLVL", "_"}, name) { // what the shell sets by itself
			t.Errorf("the child has %q", line)
		}
	}
}

func TestAChildHasAFolderAGroupAndThreeFilesOfItsOwn(t *testing.T) {
	// A file that the relay was started with, as a shell would leave it open.
	inherited, err := syscall.Open(os.Args[0], syscall.O_RDONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer syscall.Close(inherited)
	p := newPool(t, nil)
	a, b := ask(scripted(script{}), "facts"), ask(scripted(script{}), "facts")
	b.Key = "two"
	one, two := factsOf(t, p, a), factsOf(t, p, b)
	if one.Dir == two.Dir || one.Group != one.PID || two.Group != two.PID || one.Parent != os.Getpid() {
		t.Errorf("got %+v and %+v", one, two)
	}
	info, err := os.Stat(one.Dir)
	if err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("the folder has mode %v, error %v", info.Mode(), err)
	}
	pipes := 0
	for _, file := range one.Open {
		switch {
		case strings.HasPrefix(file, "pipe:"):
			pipes++
		case !strings.HasPrefix(file, "/sys/fs/cgroup/") && !strings.HasPrefix(file, "anon_inode:"): // the Go runtime's own
			t.Errorf("the child has %s open", file)
		}
	}
	if pipes != 3 {
		t.Errorf("the child has %d pipes open, want 3: %q", pipes, one.Open)
	}
	write(t, filepath.Join(one.Dir, "left"), "x")
	p.End(a.Key)
	if _, err := os.Stat(one.Dir); !os.IsNotExist(err) {
		t.Errorf("the folder is still there: %v", err)
	}
}

func TestACommandIsLookedAtBeforeItRuns(t *testing.T) {
	dir := t.TempDir()
	plain, folder, link, gone := filepath.Join(dir, "plain"), filepath.Join(dir, "folder"), filepath.Join(dir, "link"), filepath.Join(dir, "gone")
	write(t, plain, "#!/bin/sh\n")
	if err := os.Chmod(plain, 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(folder, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(gone, link); err != nil {
		t.Fatal(err)
	}
	fifo := filepath.Join(dir, "fifo")
	if err := syscall.Mkfifo(fifo, 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", dir+string(filepath.ListSeparator)+".")
	t.Chdir(dir)
	write(t, filepath.Join(dir, "sub"), "")
	tests := map[string]stdio.Spec{
		"nothing":             {},
		"a relative path":     {Command: "./plain"},
		"a path below":        {Command: "folder/x"},
		"a name not in PATH":  {Command: "gone"},
		"a file not there":    {Command: gone},
		"a link to nothing":   {Command: link},
		"a folder":            {Command: folder},
		"a pipe":              {Command: fifo},
		"not executable":      {Command: plain},
		"a name, same":        {Command: "plain"},
		"no format":           {Command: "/proc/self/cmdline"},
		"a zero byte":         {Command: "/bin/sh\x00"},
		"a zero byte in args": {Command: "/bin/sh", Args: []string{"a\x00b"}},
		"no name":             {Command: "/bin/sh", Env: []string{"=x"}},
		"no equals sign":      {Command: "/bin/sh", Env: []string{"TOKEN"}},
		"a zero byte in env":  {Command: "/bin/sh", Env: []string{"TOKEN=sesame\x00"}},
		"a name twice":        {Command: "/bin/sh", Env: []string{"TOKEN=sesame", "TOKEN=other"}},
	}
	for name, spec := range tests {
		t.Run(name, func(t *testing.T) {
			p := newPool(t, nil)
			spec.Attempts = -1
			got, facts := refused(t, within(t), p, ask(spec, "echo"))
			want(t, got, call.ProcessFailed, call.ImpactNone)
			if facts.PID != 0 || strings.Contains(got.Error(), "sesame") {
				t.Errorf("process %d, refusal %v", facts.PID, got)
			}
		})
	}
}

func TestACommandIsLookedAtAgainForEachStart(t *testing.T) {
	dir := t.TempDir()
	name := filepath.Join(dir, "server")
	spec := scripted(script{})
	if err := os.Symlink(spec.Command, name); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", dir)
	spec.Command, spec.Attempts = "server", -1
	p := newPool(t, nil)
	r := ask(spec, "facts")
	first := factsOf(t, p, r)
	if first.Name != spec.Command {
		t.Errorf("the child is called %s, want %s", first.Name, spec.Command)
	}
	if err := os.Remove(name); err != nil {
		t.Fatal(err)
	}
	if again := factsOf(t, p, r); again.PID != first.PID {
		t.Error("a running child was replaced")
	}
	p.End(r.Key)
	got, _ := refused(t, within(t), p, r)
	want(t, got, call.ProcessFailed, call.ImpactNone)
	if err := os.Symlink(exeOf(t), name); err != nil {
		t.Fatal(err)
	}
	if again := factsOf(t, p, r); again.PID == first.PID {
		t.Error("the old child is back")
	}
}

// exeOf is the file that scripted children run.
func exeOf(t testing.TB) string {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return exe
}

func TestAChangedSpecStartsAnotherChild(t *testing.T) {
	p := newPool(t, nil)
	base := ask(scripted(script{}, "TOKEN=1"), "facts")
	before := factsOf(t, p, base)
	for name, change := range map[string]func(*stdio.Spec){
		"environment": func(s *stdio.Spec) { s.Env = append(slices.Clone(s.Env[:3]), "TOKEN=2") },
		"arguments":   func(s *stdio.Spec) { s.Args = []string{"-v"} },
		"frame":       func(s *stdio.Spec) { s.Frame = 1 << 16 },
	} {
		r := base
		change(&r.Spec)
		reply := result(t, p, withTool(r, "echo"))
		if reply.Facts.PID == before.PID || reply.Facts.Session != stdio.SessionRenewed {
			t.Errorf("%s: got %+v, want another process", name, reply.Facts)
		}
		if alive(before.PID) {
			t.Errorf("%s: the process before still runs", name)
		}
		before.PID = reply.Facts.PID
		same := r
		same.Spec.Startup, same.Spec.Attempts = wait, 3
		if got := result(t, p, withTool(same, "echo")).Facts.PID; got != before.PID {
			t.Errorf("%s: a bound that is no part of the process replaced it", name)
		}
	}
}

// withTool is the same request for another tool.
func withTool(r stdio.Request, tool string) stdio.Request {
	r.Tool = tool
	return r
}

// write makes an executable file.
func write(t testing.TB, name, text string) {
	t.Helper()
	if err := os.WriteFile(name, []byte(text), 0o755); err != nil {
		t.Fatal(err)
	}
}

// TestAPlaceThatIsComingFreeIsWaitedFor: nobody else is ended for it.
func TestAPlaceThatIsComingFreeIsWaitedFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, starts := staged(script{})
		defer shut(t, p)
		r := ask(stdio.Spec{}, "echo")
		for i := range stdio.MaxChildren {
			r.Key = "key " + itoa(i)
			result(t, p, r)
		}
		result(t, p, withTool(r, "deaf")) // which does not end by itself
		go p.End(r.Key)
		synctest.Wait()
		began := time.Now()
		r.Key = "one more"
		result(t, p, r)
		if took := time.Since(began); took != stdio.DefaultClose/2 {
			t.Errorf("it took %v, want the %v until a signal ended the other", took, stdio.DefaultClose/2)
		}
		r.Key = "key 0"
		if got := result(t, p, r).Facts.Session; got != stdio.SessionReused || starts.Load() != stdio.MaxChildren+1 {
			t.Errorf("after %d starts the idlest child is %s", starts.Load(), got)
		}
	})
}

// itoa is n in digits.
func itoa(n int) string {
	text, _ := json.Marshal(n)
	return string(text)
}

func TestTheLeastRecentlyUsedIdleChildMakesRoom(t *testing.T) {
	p := newPool(t, nil)
	request := func(i int, tool string) stdio.Request {
		r := ask(scripted(script{}), tool)
		r.Key = "key " + itoa(i)
		return r
	}
	pids := make([]int, stdio.MaxChildren+1)
	for i := range stdio.MaxChildren {
		pids[i] = factsOf(t, p, request(i, "")).PID
	}
	// Child 0 is at work and child 1 was used last: child 2 has to go.
	leave := hold(t, p, request(0, "hold"))
	factsOf(t, p, request(1, ""))
	pids[stdio.MaxChildren] = factsOf(t, p, request(stdio.MaxChildren, "")).PID
	for i, pid := range pids {
		if got := alive(pid); got != (i != 2) {
			t.Errorf("child %d runs: %v", i, got)
		}
	}
	want(t, leave(), call.Cancelled, call.ImpactUnknown)
}
