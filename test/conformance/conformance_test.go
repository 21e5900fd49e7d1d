// Package conformance_test runs the official conformance suite in client mode:
// the suite's servers, and as their client a relay that an agent drives
// (shim). Scenarios under auth/ are not run: the relay has no OAuth.
package conformance_test

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"mcprelay/test/peers"
)

// expectedFailures is the number of lines that the file may have: a new one is
// a decision, not an accident.
const expectedFailures = 3

const (
	// runBudget bounds one scenario. The slowest, sse-retry, takes 10 s.
	runBudget = 60 * time.Second
	// leastScenarios are the scored scenarios of both revisions that are not
	// under auth/.
	leastScenarios = 11
)

// suite is the command that runs the suite.
func suite(ctx context.Context, t *testing.T, arguments ...string) *exec.Cmd {
	t.Helper()
	modules := filepath.Join(peers.CacheDir(), "conformance", "node_modules")
	arch := map[string]string{"amd64": "x64"}[runtime.GOARCH]
	if arch == "" {
		arch = runtime.GOARCH
	}
	node := filepath.Join(modules, "node-linux-"+arch, "bin", "node")
	index := filepath.Join(modules, "@modelcontextprotocol", "conformance", "dist", "index.js")
	for _, file := range []string{node, index} {
		if _, err := os.Stat(file); err != nil {
			t.Fatal("the conformance suite is not installed: run `make setup`")
		}
	}
	command := exec.CommandContext(ctx, node, append([]string{index}, arguments...)...)
	command.WaitDelay = time.Second
	return command
}

// extras are scenarios that are run and never scored by the suite; here they
// must pass as well.
var extras = []string{"json-schema-2020-12-preservation"}

var scenarioLine = regexp.MustCompile(`^  - ([a-z0-9_-]+)$`)

// scored lists the scored client scenarios of a revision that are not under auth/.
func scored(t *testing.T, revision string) []string {
	t.Helper()
	out, err := suite(t.Context(), t, "list", "--client", "--requirements", revision).Output()
	if err != nil {
		t.Fatalf("listing the scenarios of %s: %v", revision, err)
	}
	_, clients, found := strings.Cut(string(out), "Client scenarios")
	clients, _, ended := strings.Cut(clients, "\n\n")
	if !found || !ended {
		t.Fatalf("the suite lists no client scenarios: %s", out)
	}
	var names []string
	for line := range strings.Lines(clients) {
		if m := scenarioLine.FindStringSubmatch(strings.TrimRight(line, "\n")); m != nil {
			names = append(names, m[1])
		}
	}
	return names
}

var failureLine = regexp.MustCompile(`^  - ([a-z0-9_-]+) # \S.{10,}$`)

// failures reads the expected ones.
func failures(t *testing.T) []string {
	t.Helper()
	text, err := os.ReadFile("expected-failures.yml")
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for line := range strings.Lines(string(text)) {
		line = strings.TrimRight(line, "\n")
		if m := failureLine.FindStringSubmatch(line); m != nil {
			names = append(names, m[1])
		} else if strings.HasPrefix(line, "  - ") {
			t.Errorf("line %q gives no reason", line)
		}
	}
	if len(names) != expectedFailures {
		t.Errorf("%d expected failures, want %d", len(names), expectedFailures)
	}
	return names
}

func TestTheScoredClientScenariosPassThroughTheRelay(t *testing.T) {
	shim := filepath.Join(t.TempDir(), "shim")
	if out, err := exec.Command("go", "build", "-o", shim, "mcprelay/test/conformance/shim").CombinedOutput(); err != nil {
		t.Fatalf("building the shim: %v: %s", err, out)
	}
	expected, seen, ran := failures(t), map[string]bool{}, 0
	for _, revision := range []string{"2025-11-25", "2026-07-28"} {
		names := scored(t, revision)
		ran += len(names)
		for _, name := range append(names, extras...) {
			seen[name] = true
			t.Run(revision+"/"+name, func(t *testing.T) {
				t.Parallel()
				out, passed := scenario(t, shim, name, revision)
				if fails := slices.Contains(expected, name); passed == fails {
					t.Errorf("passed: %v, expected to fail: %v\n%s", passed, fails, out)
				}
			})
		}
	}
	if ran < leastScenarios {
		t.Errorf("%d scored scenarios, want at least %d", ran, leastScenarios)
	}
	for _, name := range expected {
		if !seen[name] {
			t.Errorf("%s is expected to fail and is no scored scenario", name)
		}
	}
}

// scenario runs one, and gives the end of what it printed.
func scenario(t *testing.T, shim, name, revision string) (string, bool) {
	ctx, cancel := context.WithTimeout(t.Context(), runBudget)
	defer cancel()
	command := suite(ctx, t, "client", "--command", shim, "--scenario", name, "--spec-version", revision, "-o", t.TempDir())
	var out bytes.Buffer
	command.Stdout, command.Stderr = &out, &out
	err := command.Run()
	if ctx.Err() != nil {
		return fmt.Sprintf("%s did not end in %s", name, runBudget), false
	}
	text := out.String()
	return text[max(0, len(text)-3000):], err == nil
}
