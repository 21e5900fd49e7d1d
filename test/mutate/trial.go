package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"
)

const (
	mutantEnv = "MCPRELAY_MUTANT" // the id of the mutant that is on
	reachEnv  = "MCPRELAY_REACH"  // a file for the ids that are reached

	// The tests of a mutant may take this many times what all tests of the
	// package take one by one without a change, and some time more, since other
	// work may share the machine.
	slower = 3
	spare  = 2 * time.Second

	// bounded runs a program with 4 GiB of addresses at most, in KiB, where the
	// system can: a mutant may loop and allocate without end.
	bounded = `ulimit -v 4194304 2>/dev/null; exec "$0" "$@"`
)

// trial is a package with all its mutants in one test binary.
type trial struct {
	dir     string
	binary  string
	mutants []mutant
	tests   map[int][]string // that reach a mutant, by its id
	limit   time.Duration    // of the tests of one mutant
}

// build weaves the mutants of a folder's package into its tests, under an
// overlay, and finds out which test reaches which.
func build(ctx context.Context, dir, work string) (*trial, error) {
	t := &trial{dir: dir, binary: filepath.Join(work, "package.test"), tests: map[int][]string{}}
	if err := os.Mkdir(work, 0o700); err != nil {
		return nil, err
	}
	overlay, err := t.overlay(work)
	if err != nil {
		return nil, fmt.Errorf("changing %s: %w", dir, err)
	}
	compile := exec.CommandContext(ctx, "go", "test", "-c", "-vet=off", "-overlay", overlay, "-o", t.binary, ".")
	compile.Dir = dir
	if out, err := compile.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("building %s with its mutants: %w\n%s", dir, err, out)
	}
	return t, t.reach(ctx, work)
}

// overlay writes the changed files beside the tree. It gives the file that tells
// the go command of them.
func (t *trial) overlay(work string) (string, error) {
	abs, err := filepath.Abs(t.dir)
	if err != nil {
		return "", err
	}
	names, err := filepath.Glob(filepath.Join(abs, "*.go"))
	if err != nil {
		return "", err
	}
	replace, next := map[string]string{}, 0
	for _, name := range names {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		f, file, err := t.mutate(name, &next)
		if err != nil {
			return "", err
		}
		replace[name] = filepath.Join(work, filepath.Base(name))
		if err := os.WriteFile(replace[name], []byte(weave(f.source, f.edits)), 0o600); err != nil {
			return "", err
		}
		added := filepath.Join(abs, "mutated__.go")
		replace[added] = filepath.Join(work, "mutated__.go")
		if err := os.WriteFile(replace[added], []byte(strings.Replace(switches, "PACKAGE", file.Name.Name, 1)), 0o600); err != nil {
			return "", err
		}
	}
	text, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		return "", err
	}
	return filepath.Join(work, "overlay.json"), os.WriteFile(filepath.Join(work, "overlay.json"), text, 0o600)
}

func (t *trial) mutate(name string, next *int) (*finder, *ast.File, error) {
	source, err := os.ReadFile(name)
	if err != nil {
		return nil, nil, err
	}
	f := &finder{fset: token.NewFileSet(), source: source, name: filepath.Join(t.dir, filepath.Base(name)), next: next}
	file, err := parser.ParseFile(f.fset, name, source, 0)
	if err != nil {
		return nil, nil, err
	}
	f.find(file)
	t.mutants = append(t.mutants, f.mutants...)
	return f, file, nil
}

// reach runs every test by itself, without a change.
func (t *trial) reach(ctx context.Context, work string) error {
	out, err := t.command(ctx, "-test.list", ".").Output()
	if err != nil {
		return fmt.Errorf("listing the tests of %s: %w", t.dir, err)
	}
	start := time.Now()
	defer func() { t.limit = slower*time.Since(start) + spare }()
	for i, name := range strings.Fields(string(out)) {
		if strings.HasPrefix(name, "Benchmark") {
			continue
		}
		file := filepath.Join(work, fmt.Sprint("reached", i))
		cmd := t.command(ctx, "-test.run", "^"+name+"$")
		cmd.Env = append(os.Environ(), reachEnv+"="+file)
		if out, err := cmd.CombinedOutput(); err != nil {
			return fmt.Errorf("%s of %s fails without a change: %w\n%s", name, t.dir, err, out)
		}
		ids, err := os.ReadFile(file)
		if err != nil && !errors.Is(err, os.ErrNotExist) {
			return err
		}
		for id := range bytes.FieldsSeq(ids) {
			var n int
			if _, err := fmt.Sscan(string(id), &n); err != nil {
				return err
			}
			if !slices.Contains(t.tests[n], name) { // a test may have processes of its own
				t.tests[n] = append(t.tests[n], name)
			}
		}
	}
	return nil
}

// command runs the test binary where its package is.
func (t *trial) command(ctx context.Context, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, "sh", append([]string{"-c", bounded, t.binary}, args...)...)
	cmd.Dir = t.dir
	cmd.WaitDelay = time.Second
	return cmd
}

// judge runs the tests that reach a mutant.
func (t *trial) judge(ctx context.Context, id int) outcome {
	if ctx.Err() != nil {
		return untried
	}
	tests := t.tests[id]
	if len(tests) == 0 {
		return unreached
	}
	within, cancel := context.WithTimeout(ctx, t.limit)
	defer cancel()
	cmd := t.command(within, "-test.failfast", "-test.run", "^("+strings.Join(tests, "|")+")$")
	cmd.Env = append(os.Environ(), fmt.Sprintf("%s=%d", mutantEnv, id))
	err := cmd.Run()
	switch {
	case ctx.Err() != nil:
		return untried
	case within.Err() != nil:
		return endless
	case err != nil:
		return killed
	}
	return survived
}

// each calls do for every number below n, workers at a time.
func each(workers, n int, do func(i int)) {
	numbers := make(chan int)
	var wg sync.WaitGroup
	for range workers {
		wg.Go(func() {
			for i := range numbers {
				do(i)
			}
		})
	}
	for i := range n {
		numbers <- i
	}
	close(numbers)
	wg.Wait()
}
