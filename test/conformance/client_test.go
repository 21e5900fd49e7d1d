package conformance_test

import (
	"bytes"
	"context"
	"fmt"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"
)

// leastClient is the number of scored scenarios of both revisions that are not
// under auth/.
const leastClient = 11

// extras are scenarios that are run and never scored by the suite; here they
// must pass as well.
var extras = []string{"json-schema-2020-12-preservation"}

func TestTheScoredClientScenariosPassThroughTheRelay(t *testing.T) {
	t.Parallel()
	shim := filepath.Join(t.TempDir(), "shim")
	if out, err := exec.Command("go", "build", "-o", shim, "mcprelay/test/conformance/shim").CombinedOutput(); err != nil {
		t.Fatalf("building the shim: %v: %s", err, out)
	}
	expected, seen, ran := failures(t, "client"), map[string]bool{}, 0
	for _, revision := range []string{"2025-11-25", "2026-07-28"} {
		names := scored(t, "client", revision)
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
	if ran < leastClient {
		t.Errorf("%d scored scenarios, want at least %d", ran, leastClient)
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
