package stdio_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"testing"

	"mcprelay/shared/stdio"
)

// beRelay is a process with a pool of children: it names them on stdout, and
// goes on until it is killed. Its pool is used from threads that end.
func beRelay() {
	p := stdio.New(stdio.Config{})
	for range 2 { // the second time around, the thread of the first call is no more
		done := make(chan bool)
		go func() {
			runtime.LockOSThread() // not unlocked: the thread ends with this function
			defer close(done)
			for _, key := range []string{"one", "two"} {
				r := ask(scripted(script{Stays: true}), "facts")
				r.Key = key
				reply, err := p.Call(context.Background(), r)
				if err != nil {
					fmt.Println(err)
					os.Exit(1)
				}
				fmt.Println(reply.Facts.Session, reply.Facts.PID)
			}
		}()
		<-done
	}
	fmt.Println("ready")
	select {}
}

// runRelay runs a relay with its folders in dir until it has used two children
// twice, and gives what it said.
func runRelay(t *testing.T, dir string) (*exec.Cmd, []string) {
	t.Helper()
	relay := exec.Command(exeOf(t))
	relay.Env = []string{envRole + "=relay", "TMPDIR=" + dir}
	out, err := relay.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := relay.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = relay.Process.Kill()
		_ = relay.Wait()
	})
	var lines []string
	for s := bufio.NewScanner(out); s.Scan() && s.Text() != "ready"; {
		lines = append(lines, s.Text())
	}
	return relay, lines
}

func TestNoChildOutlivesARelayThatIsKilled(t *testing.T) {
	relay, lines := runRelay(t, t.TempDir())
	_ = relay.Process.Kill()
	_ = relay.Wait()
	pids := map[string][]int{}
	for _, line := range lines {
		var how string
		var pid int
		if _, err := fmt.Sscan(line, &how, &pid); err != nil {
			t.Fatalf("the relay said %q", lines)
		}
		pids[how] = append(pids[how], pid)
	}
	if got, want := fmt.Sprint(pids["new"]), fmt.Sprint(pids["reused"]); got != want || len(pids["new"]) != 2 {
		t.Fatalf("started %s, then used %s: a child ended with the thread that asked for it", got, want)
	}
	for _, pid := range pids["new"] {
		dies(t, pid)
	}
}

// TestEveryGoroutineEndsWithThePool looks for frames of the package.
func TestEveryGoroutineEndsWithThePool(t *testing.T) {
	p := stdio.New(stdio.Config{})
	for _, s := range []script{{}, {Era: "legacy", Stays: true}} {
		r := ask(scripted(s), "echo")
		r.Key, r.Spec.Close = "key "+s.Era, 1 // no time: killed
		result(t, p, r)
		r.Tool = "hold"
		ctx, cancel := context.WithCancel(within(t))
		stopped := make(chan bool)
		go func() {
			defer close(stopped)
			_, _ = p.Call(ctx, r)
		}()
		cancel()
		<-stopped
	}
	if err := p.Close(within(t)); err != nil {
		t.Fatal(err)
	}
	until(t, "the goroutines to end", func() bool {
		stacks := make([]byte, 1<<20)
		stacks = stacks[:runtime.Stack(stacks, true)]
		for _, stack := range strings.Split(string(stacks), "\n\n") {
			if strings.Contains(stack, "mcprelay/shared/stdio.") {
				return false
			}
		}
		return true
	})
	r := ask(scripted(script{}), "echo")
	r.Arguments = json.RawMessage(`{}`)
	got, facts := refused(t, within(t), p, r)
	if got.Reason != "process" || facts.PID != 0 {
		t.Errorf("after Close: got %v, process %d", got, facts.PID)
	}
}
