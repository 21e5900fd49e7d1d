package contract_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"

	"mcprelay/shared/session"
	"mcprelay/shared/store/local"
)

// The environment by which this binary is told to be a child.
const (
	childEnv    = "CONTRACT_CHILD"
	childDir    = "CONTRACT_CHILD_DIR"
	childTenant = "CONTRACT_CHILD_TENANT"
)

// The modes of a child.
const (
	modeIntents = "intents" // writes intents until it is killed, naming each that was acknowledged
	modeCount   = "count"   // counts a shared session up by compare-and-swap
)

// rounds is how often each process counts up.
const rounds = 25

// child is another process on the same file.
func child(mode string) int {
	s, err := local.Open(os.Getenv(childDir))
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	switch mode {
	case modeIntents:
		err = writeIntents(s, os.Getenv(childTenant))
	case modeCount:
		err = errors.Join(countUp(s, session.Key(os.Getenv(childTenant))), s.Close())
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

func writeIntents(s *local.Store, tenant string) error {
	for {
		r := intent(tenant, now())
		if err := s.Intent(context.Background(), r); err != nil {
			return err
		}
		// One write call a line: what is read is what was acknowledged.
		if _, err := fmt.Println(r.CallID); err != nil {
			return err
		}
	}
}

// countUp adds to the number in a session, again after each lost race.
func countUp(s *local.Store, key session.Key) error {
	ctx := context.Background()
	for done := 0; done < rounds; {
		state, err := s.Load(ctx, key)
		if err != nil {
			return err
		}
		n, _ := strconv.Atoi(state.SessionID)
		next := opened()
		next.Ver, next.SessionID = state.Ver, strconv.Itoa(n+1)
		switch _, err := s.Save(ctx, key, next); {
		case err == nil:
			done++
		case !errors.Is(err, session.ErrConflict):
			return err
		}
	}
	return nil
}

func startChild(t *testing.T, mode, dir, tenant string) *exec.Cmd {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), childEnv+"="+mode, childDir+"="+dir, childTenant+"="+tenant)
	cmd.Stderr = os.Stderr
	return cmd
}

// Four processes make the file together, then count one number up: a lost
// update, or a lock that is not waited for, shows in the sum.
func TestProcessesShareOneSQLiteFile(t *testing.T) {
	const processes = 4
	dir, key := t.TempDir(), string(newKey())
	var running []*exec.Cmd
	for range processes {
		cmd := startChild(t, modeCount, dir, key)
		must(t, cmd.Start())
		running = append(running, cmd)
	}
	for _, cmd := range running {
		if err := cmd.Wait(); err != nil {
			t.Errorf("a process failed: %v", err)
		}
	}
	got := load(t, openLocal(t, dir), session.Key(key)).SessionID
	if want := strconv.Itoa(processes * rounds); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestKilledProcessLosesNoAcknowledgedIntent(t *testing.T) {
	for _, acknowledged := range []int{1, 7, 40, 200} {
		t.Run(fmt.Sprint("after ", acknowledged), func(t *testing.T) {
			dir, tenant := t.TempDir(), newTenant()
			cmd := startChild(t, modeIntents, dir, tenant)
			out, err := cmd.StdoutPipe()
			must(t, err)
			must(t, cmd.Start())
			var want []string
			lines := bufio.NewScanner(out)
			for lines.Scan() {
				if want = append(want, strings.TrimSpace(lines.Text())); len(want) == acknowledged {
					must(t, cmd.Process.Kill()) // SIGKILL; what it said before that is read on
				}
			}
			if err := cmd.Wait(); err == nil {
				t.Fatal("the child ended by itself")
			}
			if len(want) < acknowledged {
				t.Fatalf("the child acknowledged %d intents, want at least %d", len(want), acknowledged)
			}
			f := lately(tenant)
			f.Limit = 1000
			stored := map[string]bool{}
			for _, id := range ids(read(t, openLocal(t, dir), f)) {
				stored[id] = true
			}
			for _, id := range want {
				if !stored[id] {
					t.Errorf("intent %s was acknowledged and is lost", id)
				}
			}
		})
	}
}
