package local_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"mcprelay/shared/audit"
	"mcprelay/shared/store/local"
)

// childEnv names the folder to the child of a test, which writes into it until
// it is killed.
const childEnv = "LOCAL_TEST_CHILD_FOLDER"

// child writes calls as fast as it can, folding all the time, and names each
// record once it was acknowledged: one write call a line.
func child(dir string) error {
	s, err := local.Open(dir)
	if err != nil {
		return err
	}
	s.Pause(time.Millisecond)
	for i := 0; ; i++ {
		r := record("acme")
		if i%4 == 0 {
			if err := s.Intent(context.Background(), r); err != nil {
				return err
			}
			if _, err := fmt.Println("intent", r.CallID); err != nil {
				return err
			}
		}
		if i%8 == 4 {
			continue // this call never ends
		}
		if err := s.Final(context.Background(), ended(r)); err != nil {
			return err
		}
		if _, err := fmt.Println("final", r.CallID); err != nil {
			return err
		}
	}
}

// writeAndKill runs a child and kills it after so many lines; it gives what was
// acknowledged, by call id.
func writeAndKill(t *testing.T, dir string, lines int) map[string]audit.State {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), childEnv+"="+dir)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	must(t, err)
	must(t, cmd.Start())
	acknowledged, n := map[string]audit.State{}, 0
	for said := bufio.NewScanner(out); said.Scan(); {
		state, id, ok := strings.Cut(said.Text(), " ")
		if !ok {
			t.Fatalf("the child said %q", said.Text())
		}
		acknowledged[id] = audit.State(state)
		if n++; n == lines {
			must(t, cmd.Process.Kill()) // SIGKILL; what it said before that is read on
		}
	}
	var exit *exec.ExitError
	if err := cmd.Wait(); !errors.As(err, &exit) || exit.Exited() {
		t.Fatalf("the child ended by itself: %v", err)
	}
	return acknowledged
}

// Whenever a process is killed, what it was told is written is there, once,
// for those who read beside it and for those who come after.
func TestAKilledProcessLosesNothingAndDoublesNothing(t *testing.T) {
	dir := t.TempDir()
	beside := open(t, dir)
	want := map[string]audit.State{}
	for round := range 16 {
		for id, state := range writeAndKill(t, dir, 1+round*round*2) {
			want[id] = state
		}
		if round%3 == 2 {
			next, err := local.Open(dir)
			must(t, err)
			accounted(t, next, want)
			must(t, next.Close())
		}
		accounted(t, beside, want)
	}
	beside.Tidy()
	if got := journals(t, dir); len(got) > 1 {
		t.Errorf("journals are left over: %v", got)
	}
}

// accounted wants every acknowledged record in the trail, and no call twice.
// There may be one call more for each kill: the record that nobody was told of.
func accounted(t *testing.T, s *local.Store, want map[string]audit.State) {
	t.Helper()
	got := map[string]audit.State{}
	for _, r := range records(t, s, audit.Filter{Limit: audit.MaxPage}) {
		if _, twice := got[r.CallID]; twice {
			t.Errorf("%s is there twice", r.CallID)
		}
		got[r.CallID] = r.State
	}
	for id, state := range want {
		if got[id] != state && (got[id] != audit.StateFinal || state != audit.StateIntent) {
			t.Errorf("the %s of %s was acknowledged; there is %q", state, id, got[id])
		}
	}
}
