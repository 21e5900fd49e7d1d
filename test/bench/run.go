package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"mcprelay/test/bench/authority"
)

// options are the flags of a whole run.
type options struct {
	calls      int
	rounds     int
	quick      bool
	json       bool
	legacy     bool
	credential bool
}

// The sizes of a quick run: enough to go every way once, too few to judge by.
const (
	quickCalls  = 20
	quickRounds = 1
)

// run is the command: one of the parts where the first word names it, else
// the bench that starts the parts.
func run(ctx context.Context, args []string, out io.Writer) error {
	if len(args) > 0 {
		switch args[0] {
		case "upstream":
			return serveUpstream(args[1:], out)
		case "forwarder":
			return serveForwarder(args[1:], out)
		case "load":
			return makeLoad(ctx, args[1:], out)
		case "allocs":
			return countAllocs(ctx, args[1:], out)
		case "cold":
			return coldAlone(ctx, args[1:], out)
		}
	}
	var o options
	f := flag.NewFlagSet("bench", flag.ContinueOnError)
	f.IntVar(&o.calls, "n", 2000, "small calls a round and target with one client (8 clients make a quarter each, large payloads a tenth)")
	f.IntVar(&o.rounds, "rounds", 5, "rounds, each going through all targets")
	f.BoolVar(&o.quick, "quick", false, "one short round: proves that the bench works, measures nothing")
	f.BoolVar(&o.json, "json", false, "print one JSON object instead of tables")
	f.BoolVar(&o.legacy, "legacy", false, "let the upstream know 2025-11-25 only, with a session")
	f.BoolVar(&o.credential, "credential", true, "let the relay send a bearer token and mask it in replies")
	if err := f.Parse(args); err != nil {
		return err
	}
	if o.quick {
		o.calls, o.rounds = quickCalls, quickRounds
	}
	if f.NArg() > 0 || o.calls < 1 || o.rounds < 1 {
		return errors.New("usage: bench [-n calls] [-rounds n] [-quick] [-json] [-legacy] [-credential=false]")
	}
	report, err := measure(ctx, o)
	if err != nil {
		return err
	}
	if o.json {
		return report.writeJSON(out)
	}
	return report.writeText(out)
}

// measure starts the parts, runs the plan and ends the parts.
func measure(ctx context.Context, o options) (r report, err error) {
	dir, err := os.MkdirTemp("", "mcprelay-bench-")
	if err != nil {
		return r, fmt.Errorf("making a folder for the run: %w", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	cold, err := measureCold(ctx, dir, o.coldStarts()) // while nothing else of the bench runs
	if err != nil {
		return r, err
	}
	files, err := authority.Make(dir, time.Now())
	if err != nil {
		return r, err
	}
	s, err := startStage(ctx, dir, files, o)
	if err != nil {
		return r, err
	}
	defer func() { err = errors.Join(err, s.stop()) }()
	rows, err := s.rounds(ctx, o)
	if err != nil {
		return r, fmt.Errorf("%w\n%s", err, s.relay.tail())
	}
	allocs, err := s.allocs(ctx, o)
	if err != nil {
		return r, err
	}
	lists, err := s.lists(ctx, dir, o)
	if err != nil {
		return r, err
	}
	if err := s.relay.stop(); err != nil {
		return r, err
	}
	records, err := s.records(ctx, filepath.Join(dir, "data"))
	if err != nil {
		return r, err
	}
	r = newReport(o, rows, allocs, s.counted, records)
	r.Lists, r.Cold = lists, cold
	r.Decisions, err = decisions(ctx, o)
	return r, err
}
