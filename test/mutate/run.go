package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"slices"
	"time"
)

// options are the flags of a run.
type options struct {
	n       int           // mutants that are tried, picked by the seed; 0 for all
	seed    uint64        // of the pick
	least   int           // percent that have to be noticed
	workers int           // tests that run at a time
	limit   time.Duration // of the whole run; what is left then is not tried
}

// verdict is what came of one mutant.
type verdict struct {
	mutant
	outcome outcome
}

// outcome is one of those below.
type outcome string

const (
	killed    outcome = "killed"    // a test failed
	endless   outcome = "endless"   // a test took too long, which counts as noticed
	survived  outcome = "survived"  // the tests that reach it pass
	unreached outcome = "unreached" // no test gets there
	untried   outcome = "untried"   // the time was over
)

func run(ctx context.Context, args []string, out io.Writer) error {
	var o options
	f := flag.NewFlagSet("mutate", flag.ContinueOnError)
	f.IntVar(&o.n, "n", 0, "mutants to try, picked by the seed; 0 for all")
	f.Uint64Var(&o.seed, "seed", 1, "the seed of the pick")
	f.IntVar(&o.least, "least", 90, "percent of the mutants that the tests have to notice")
	f.IntVar(&o.workers, "workers", 2, "tests that run at a time")
	f.DurationVar(&o.limit, "limit", 15*time.Minute, "time after which no more mutants are tried")
	if err := f.Parse(args); err != nil {
		return err
	}
	if f.NArg() == 0 || o.n < 0 || o.workers < 1 {
		return errors.New("usage: mutate [-n mutants] [-seed n] [-least percent] [-workers n] [-limit time] folder [folder]")
	}
	verdicts, err := try(ctx, o, f.Args())
	if err != nil {
		return err
	}
	return report(out, verdicts, o.least)
}

// try weaves the mutants of every folder, picks, and runs the tests.
func try(ctx context.Context, o options, dirs []string) (verdicts []verdict, err error) {
	work, err := os.MkdirTemp("", "mcprelay-mutate-")
	if err != nil {
		return nil, fmt.Errorf("making a folder for the run: %w", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(work)) }()
	ctx, cancel := context.WithTimeout(ctx, o.limit)
	defer cancel()
	var trials []*trial
	var picked []mutant
	for i, dir := range dirs {
		t, err := build(ctx, dir, fmt.Sprintf("%s/%d", work, i))
		if err != nil {
			return nil, err
		}
		trials = append(trials, t)
		for _, m := range t.mutants {
			m.trial = i
			picked = append(picked, m)
		}
	}
	for _, m := range pick(picked, o) {
		verdicts = append(verdicts, verdict{mutant: m, outcome: untried})
	}
	each(o.workers, len(verdicts), func(i int) {
		verdicts[i].outcome = trials[verdicts[i].trial].judge(ctx, verdicts[i].id)
	})
	return verdicts, nil
}

// pick chooses n mutants, in their order.
func pick(all []mutant, o options) []mutant {
	if o.n == 0 || o.n >= len(all) {
		return all
	}
	chosen := rand.New(rand.NewPCG(o.seed, 0)).Perm(len(all))[:o.n]
	slices.Sort(chosen)
	picked := make([]mutant, o.n)
	for i, at := range chosen {
		picked[i] = all[at]
	}
	return picked
}

// report lists what was not noticed. It fails where that is too much.
func report(out io.Writer, verdicts []verdict, least int) error {
	count := map[outcome]int{}
	for _, v := range verdicts {
		if count[v.outcome]++; v.outcome == survived || v.outcome == unreached {
			if _, err := fmt.Fprintf(out, "%s:%d: %s: %s: %s\n", v.file, v.line, v.outcome, v.change, v.text); err != nil {
				return err
			}
		}
	}
	noticed, tried := count[killed]+count[endless], len(verdicts)-count[untried]
	percent := 0.0
	if tried > 0 {
		percent = 100 * float64(noticed) / float64(tried)
	}
	if _, err := fmt.Fprintf(out, "%d of %d mutants noticed, %.1f %% (%d by the clock), %d not tried\n", noticed, tried, percent, count[endless], count[untried]); err != nil {
		return err
	}
	if percent < float64(least) {
		return fmt.Errorf("the tests noticed %.1f %% of the mutants, want at least %d", percent, least)
	}
	return nil
}
