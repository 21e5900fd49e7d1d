package netns

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"
)

// The environment of the copy: the test it was started for, and the file that
// it writes when that test passed.
const (
	envTest   = "MCPRELAY_NETNS_TEST"
	envPassed = "MCPRELAY_NETNS_PASSED"
)

// grace is how much sooner the copy times out than the test binary that
// started it, so that its stacks are what the log shows.
const grace = 5 * time.Second

// Run runs body in a new network and mount namespace: it starts the test
// binary again for this one test, and the copy runs body. Make it the first
// statement of the test, because what stands before it runs twice; body sees
// the copy's own t. It works in subtests too. Root needs CAP_SYS_ADMIN; other
// users need user namespaces.
func Run(t *testing.T, o Options, body func(t *testing.T)) {
	t.Helper()
	switch os.Getenv(envTest) {
	case "":
		outside(t)
	case t.Name():
		inside(t, o, body)
	default:
		t.Fatalf("netns: %s runs inside the namespace of %s already", t.Name(), os.Getenv(envTest))
	}
}

// Inside reports whether the process runs in a namespace that [Run] made.
func Inside() bool { return os.Getenv(envTest) != "" }

// outside starts the copy and reports what became of it.
func outside(t *testing.T) {
	t.Helper()
	passed := filepath.Join(t.TempDir(), "passed")
	var output bytes.Buffer
	cmd, err := start(t, passed, &output)
	if err != nil {
		t.Fatalf("netns: the kernel gives this test no network namespace (%v): run it as root with CAP_SYS_ADMIN, or allow user namespaces", err)
	}
	err = cmd.Wait()
	if testing.Verbose() || err != nil {
		t.Logf("inside the namespace:\n%s", output.String())
	}
	if err != nil {
		t.Fatalf("netns: the test failed inside its namespace: %v", err)
	}
	// A copy that ran no test, or skipped it, ends with 0 as well.
	if _, err := os.Stat(passed); err != nil {
		t.Fatalf("netns: the test did not run to its end inside its namespace:\n%s", output.String())
	}
}

// start runs the copy. Root tries without a user namespace first, because
// there files keep their owners; a root without CAP_SYS_ADMIN (a container's)
// gets one.
func start(t *testing.T, passed string, output *bytes.Buffer) (*exec.Cmd, error) {
	if os.Geteuid() == 0 {
		cmd := command(t, passed, output)
		if err := cmd.Start(); !errors.Is(err, syscall.EPERM) {
			return cmd, err
		}
	}
	cmd := command(t, passed, output)
	cmd.SysProcAttr.Cloneflags |= syscall.CLONE_NEWUSER
	cmd.SysProcAttr.UidMappings = []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Geteuid(), Size: 1}}
	cmd.SysProcAttr.GidMappings = []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getegid(), Size: 1}}
	return cmd, cmd.Start()
}

func command(t *testing.T, passed string, output *bytes.Buffer) *exec.Cmd {
	args := []string{"-test.run=" + exactly(t.Name()), "-test.count=1"}
	if testing.Verbose() {
		args = append(args, "-test.v")
	}
	if deadline, ok := t.Deadline(); ok {
		left := max(time.Until(deadline)-grace, time.Second)
		args = append(args, "-test.timeout="+left.String())
	}
	cmd := exec.CommandContext(t.Context(), "/proc/self/exe", args...)
	cmd.Env = append(os.Environ(), envTest+"="+t.Name(), envPassed+"="+passed)
	cmd.Stdout, cmd.Stderr = output, output
	cmd.WaitDelay = grace // a child of the copy may still hold the pipe
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNET | syscall.CLONE_NEWNS}
	return cmd
}

// exactly is the -test.run pattern of one test: an anchored pattern a level.
func exactly(name string) string {
	levels := strings.Split(name, "/")
	for i, level := range levels {
		levels[i] = "^" + regexp.QuoteMeta(level) + "$"
	}
	return strings.Join(levels, "/")
}

// inside prepares the namespace and runs the test in it.
func inside(t *testing.T, o Options, body func(t *testing.T)) {
	t.Helper()
	if err := prepare(t.TempDir(), o); err != nil {
		t.Fatalf("netns: preparing the namespace: %v", err)
	}
	t.Cleanup(func() {
		if t.Failed() || t.Skipped() {
			return
		}
		if err := os.WriteFile(os.Getenv(envPassed), nil, 0o600); err != nil {
			t.Errorf("netns: %v", err)
		}
	})
	body(t)
}
