package stdio_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"mcprelay/shared/stdio"
)

// nobody is a user without rights: children of root can read anything.
const nobody = 65534

// bePeeped is a relay whose child looks for the relay's own environment. Its
// argument says whether it conceals itself first.
func bePeeped() {
	if len(os.Args) > 1 {
		for range 2 { // once more does no harm
			if err := stdio.Conceal(); err != nil {
				fmt.Println(err)
				os.Exit(1)
			}
		}
	}
	p := stdio.New(stdio.Config{})
	reply, err := p.Call(context.Background(), ask(scripted(script{}), "peek"))
	fmt.Println(string(reply.Result), err)
	dumpable, err := unix.PrctlRetInt(unix.PR_GET_DUMPABLE, 0, 0, 0, 0)
	fmt.Println("dumpable", dumpable, err)
	_ = p.Close(context.Background())
}

// TestARelayThatConcealsItselfIsNotReadByItsChildren runs relays as a user
// without rights, one of them in the open: else the test would prove nothing.
func TestARelayThatConcealsItselfIsNotReadByItsChildren(t *testing.T) {
	for name, tt := range map[string]struct {
		args []string
		seen bool
	}{"open": {nil, true}, "concealed": {[]string{"conceal"}, false}} {
		t.Run(name, func(t *testing.T) {
			relay := exec.Command(forAnybody(t), tt.args...)
			relay.Env = []string{envRole + "=peeped", "RELAY_DEV_TOKEN=sesame"}
			if os.Getuid() == 0 {
				relay.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
			}
			out, err := relay.CombinedOutput()
			if err != nil {
				t.Fatalf("%v: %s", err, out)
			}
			if got := strings.Contains(string(out), "dumpable 1 <nil>"); got != tt.seen {
				t.Errorf("the relay would leave a core dump: %v, want %v; it said %s", got, tt.seen, out)
			}
			if got := strings.Contains(string(out), "sesame"); got != tt.seen {
				t.Errorf("the child saw the relay's environment: %v, want %v; the relay said %s", got, tt.seen, out)
			}
		})
	}
}

// forAnybody copies the test binary to where every user can run it.
func forAnybody(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "relay-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	from, err := os.Open(exeOf(t))
	if err != nil {
		t.Fatal(err)
	}
	defer from.Close()
	name := filepath.Join(dir, "relay")
	to, err := os.OpenFile(name, os.O_CREATE|os.O_WRONLY, 0o755)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.Copy(to, from); err != nil {
		t.Fatal(err)
	}
	if err := to.Close(); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	return name
}

// peek is what a child can read of its parent.
func (p *player) peek(m *incoming) bool {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/environ", os.Getppid()))
	seen, _ := json.Marshal(fmt.Sprint(string(text), err))
	return p.result(m, `{"content":[],"seen":`+string(seen)+`}`)
}
