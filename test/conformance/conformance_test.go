// Package conformance_test runs the official conformance suite in both of its
// modes. In client mode the suite's servers, and as their client a relay that
// an agent drives (shim); scenarios under auth/ are not run: the relay has no
// OAuth. In server mode the Go SDK's server, the suite directly before it and
// with a relay in between: what passes without the relay passes through it.
package conformance_test

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"testing"
	"time"

	"mcprelay/test/peers"
)

// expected is the number of failures that each part of the file may have: a new
// one is a decision, not an accident.
var expected = map[string]int{"client": 2, "server": 6, "server-over-sessions": 10}

// runBudget bounds one run of the suite. The slowest takes 15 s by itself.
const runBudget = 120 * time.Second

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

var (
	partLine     = regexp.MustCompile(`^([a-z-]+):$`)
	failureLine  = regexp.MustCompile(`^  - ([a-z0-9_-]+) # \S.{10,}$`)
	scenarioLine = regexp.MustCompile(`^  - ([a-z0-9_-]+)$`)
)

// scored lists the scored scenarios of a revision that are not under auth/; the
// mode is client or server.
func scored(t *testing.T, mode, revision string) []string {
	t.Helper()
	out, err := suite(t.Context(), t, "list", "--"+mode, "--requirements", revision).Output()
	if err != nil {
		t.Fatalf("listing the scenarios of %s: %v", revision, err)
	}
	title := map[string]string{"client": "Client scenarios", "server": "Server scenarios"}[mode]
	_, list, found := strings.Cut(string(out), title)
	list, _, ended := strings.Cut(list, "\n\n")
	if !found || !ended {
		t.Fatalf("the suite lists no %s scenarios: %s", mode, out)
	}
	var names []string
	for line := range strings.Lines(list) {
		if m := scenarioLine.FindStringSubmatch(strings.TrimRight(line, "\n")); m != nil {
			names = append(names, m[1])
		}
	}
	return names
}

// failures reads one part of the expected ones.
func failures(t *testing.T, part string) []string {
	t.Helper()
	text, err := os.ReadFile("expected-failures.yml")
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	within := ""
	for line := range strings.Lines(string(text)) {
		line = strings.TrimRight(line, "\n")
		if m := partLine.FindStringSubmatch(line); m != nil {
			within = m[1]
		} else if m := failureLine.FindStringSubmatch(line); m != nil && within == part {
			names = append(names, m[1])
		} else if m == nil && !strings.HasPrefix(line, "#") {
			t.Errorf("line %q names no failure with its reason", line)
		}
	}
	if len(names) != expected[part] {
		t.Errorf("%d expected failures of %s, want %d", len(names), part, expected[part])
	}
	return names
}
