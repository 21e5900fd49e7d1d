package conformance_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"mcprelay/test/conformance/agent"
	"mcprelay/test/peers"
)

// scoredServer are the scored scenarios of each revision. All of them pass
// against one of the Go SDK's servers without a relay.
var scoredServer = map[string]int{"2025-11-25": 30, "2026-07-28": 37}

// The Go SDK's servers. The sessionless one speaks both eras, so that the relay
// speaks the newer one to it; the other one the older era only.
const (
	sessionless = "sessionless"
	sessions    = "sessions"
)

// made is the server that is made for a revision, so that every scored scenario
// passes against it.
var made = map[string]string{"2025-11-25": sessions, "2026-07-28": sessionless}

// run is one run of the suite.
type run struct {
	revision, server string
	relayed          bool
}

// all are the runs: each server without the relay in the revision that it is
// made for, and through it in both. Those that wait for what never comes begin
// first.
func all() []run {
	var list []run
	for _, revision := range []string{"2026-07-28", "2025-11-25"} {
		list = append(list, run{revision, sessions, true})
	}
	for revision, server := range made {
		list = append(list, run{revision, sessionless, true}, run{revision, server, false})
	}
	return list
}

// TestWhatPassesWithoutTheRelayPassesThroughIt in both revisions, whichever era
// the server behind it speaks.
func TestWhatPassesWithoutTheRelayPassesThroughIt(t *testing.T) {
	t.Parallel()
	servers := map[string]string{sessionless: peers.GoStateless(t), sessions: peers.GoStateful(t)}
	var mu sync.Mutex
	results := map[run]outcomes{}
	t.Run("runs", func(t *testing.T) {
		for _, r := range all() {
			t.Run(fmt.Sprintf("%s %s relayed=%t", r.revision, r.server, r.relayed), func(t *testing.T) {
				t.Parallel()
				got := r.of(t, servers[r.server])
				mu.Lock()
				defer mu.Unlock()
				results[r] = got
			})
		}
	})
	for _, r := range all() {
		direct := results[run{r.revision, made[r.revision], false}]
		if r.relayed {
			compare(t, r, direct, results[r])
			continue
		}
		list := scored(t, "server", r.revision)
		if len(list) != scoredServer[r.revision] {
			t.Errorf("%s has %d scored scenarios, want %d", r.revision, len(list), scoredServer[r.revision])
		}
		for _, name := range list {
			if why, ran := direct[name]; !ran || why != "" {
				t.Errorf("%s %s does not pass without the relay: %s", r.revision, name, why)
			}
		}
	}
}

// compare holds what came of a run through the relay against what came of one
// without it. Failures that are expected must be there.
func compare(t *testing.T, r run, direct, relayed outcomes) {
	t.Helper()
	part := "server"
	if r.revision != "2025-11-25" {
		part = "server-over-" + r.server
	}
	excused := failures(t, part)
	for name, why := range direct {
		if why != "" {
			continue
		}
		got, ran := relayed[name]
		if fails := slices.Contains(excused, name); !ran || (got != "") != fails {
			t.Errorf("%s over %s, %s: ran %t, expected to fail %t, failed with %q", r.revision, r.server, name, ran, fails, got)
		}
	}
	for _, name := range excused {
		if why, ran := direct[name]; !ran || why != "" {
			t.Errorf("%s is expected to fail, and does so without the relay", name)
		}
	}
}

// outcomes say why scenarios failed; empty for one that passed.
type outcomes map[string]string

// of runs the suite against a server, through a relay of its own or not.
func (r run) of(t *testing.T, url string) outcomes {
	t.Helper()
	if r.relayed {
		url = relay(t, url)
	}
	ctx, cancel := context.WithTimeout(t.Context(), runBudget)
	defer cancel()
	dir := t.TempDir()
	// Its exit status says that something failed, which is looked at below.
	out, err := suite(ctx, t, "server", "--url", url, "--requirements", r.revision, "-o", dir).CombinedOutput()
	if ctx.Err() != nil {
		t.Fatalf("the suite did not end in %s: %v", runBudget, err)
	}
	got := readOutcomes(t, dir)
	if len(got) < scoredServer[r.revision] {
		t.Fatalf("%d scenarios ran: %s", len(got), out[max(0, len(out)-3000):])
	}
	return got
}

// relay serves one before the server at url, and gives its MCP endpoint.
func relay(t *testing.T, url string) string {
	t.Helper()
	r, err := agent.Open(url, io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(r.Handler())
	t.Cleanup(func() {
		server.Close()
		if err := r.Close(); err != nil {
			t.Error(err)
		}
	})
	return server.URL + agent.Path
}

// stampSize is the length of the time at the end of a folder's name.
const stampSize = len("-2026-07-28T00-00-00-000Z")

// readOutcomes reads what the suite wrote: a folder each scenario, which is
// called server-<scenario>-<time>.
func readOutcomes(t *testing.T, dir string) outcomes {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "server-*", "checks.json"))
	if err != nil {
		t.Fatal(err)
	}
	got := outcomes{}
	for _, file := range files {
		folder := filepath.Base(filepath.Dir(file))
		if len(folder) <= stampSize {
			t.Fatalf("a folder is called %s", folder)
		}
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		got[strings.TrimPrefix(folder[:len(folder)-stampSize], "server-")] = failed(text)
	}
	return got
}

// failed says which checks of a scenario failed, and why.
func failed(text []byte) string {
	var checks []struct {
		ID, Status, ErrorMessage string
	}
	if err := json.Unmarshal(text, &checks); err != nil || len(checks) == 0 {
		return "nothing was checked"
	}
	var list []string
	for _, c := range checks {
		if c.Status == "FAILURE" {
			list = append(list, c.ID+": "+c.ErrorMessage)
		}
	}
	return strings.Join(list, "; ")
}
