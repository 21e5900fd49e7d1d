package main

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"text/tabwriter"
	"time"
)

// The starts of a case that count; one before them warms up the emulators.
const (
	coldStarts      = 40
	quickColdStarts = 3
)

func (o options) coldStarts() int {
	if o.quick {
		return quickColdStarts
	}
	return coldStarts
}

// colds is what a fresh process of a function costs, and how large the
// functions are.
type colds struct {
	Binaries []binary    `json:"binaries"`
	Starts   []coldStart `json:"starts"`
}

// binary is a function as it is deployed: stripped, without the Lambda RPC mode.
type binary struct {
	Function string `json:"function"`
	Bytes    int64  `json:"bytes"`
}

// coldStart is one function with one kind of request, over all starts.
type coldStart struct {
	Function string `json:"function"`
	Request  string `json:"request"`
	Starts   int    `json:"starts"`
	Ready    span   `json:"ready_ms"`  // from the start until it asks for its first event
	First    span   `json:"first_ms"`  // from the start until that is answered
	Second   span   `json:"second_ms"` // from the second event until that is answered
	CPU      span   `json:"cpu_ms"`    // processor time of all that, which a busy machine changes least
}

// span is in milliseconds.
type span struct {
	P50 float64 `json:"p50"`
	P99 float64 `json:"p99"`
}

// coldCase is what is measured of a function: an event, and the texts that its
// answer must hold. An answer without them is not worth a number: the edge
// check also lets pass whom it could not look up.
type coldCase struct {
	function, request    string
	event                []byte
	wants                []string
	ready, first, second []time.Duration
	cpu                  []time.Duration
}

// measureCold starts every case by turns, so that a busy moment hits them alike.
func measureCold(ctx context.Context, dir string, starts int) (c colds, err error) {
	folder := filepath.Join(dir, "functions")
	if c.Binaries, err = buildFunctions(ctx, folder); err != nil {
		return c, err
	}
	aws, err := startCloud(ctx)
	if err != nil {
		return c, err
	}
	defer aws.stop()
	cases, err := aws.cases(time.Now())
	if err != nil {
		return c, err
	}
	for i := range starts + 1 {
		for j := range cases {
			if err := cases[j].start(ctx, folder, aws.env, i > 0); err != nil {
				return c, fmt.Errorf("starting the function %s for %s: %w", cases[j].function, cases[j].request, err)
			}
		}
	}
	for _, done := range cases {
		c.Starts = append(c.Starts, done.result())
	}
	return c, nil
}

// buildFunctions builds all functions as the Makefile does, for this machine.
func buildFunctions(ctx context.Context, folder string) ([]binary, error) {
	build := exec.CommandContext(ctx, "go", "build", "-tags", "lambda.norpc", "-trimpath", "-ldflags=-s -w",
		"-o", folder+string(filepath.Separator), "mcprelay/functions/...")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if _, err := output(build); err != nil {
		return nil, fmt.Errorf("building the functions: %w", err)
	}
	entries, err := os.ReadDir(folder)
	if err != nil {
		return nil, fmt.Errorf("reading the built functions: %w", err)
	}
	var built []binary
	for _, entry := range entries {
		info, err := entry.Info()
		if err != nil {
			return nil, fmt.Errorf("reading the built functions: %w", err)
		}
		built = append(built, binary{entry.Name(), info.Size()})
	}
	return built, nil
}

// start runs one fresh process until its second answer.
func (c *coldCase) start(ctx context.Context, folder string, env []string, counts bool) error {
	api, err := serveRuntime(c.event)
	if err != nil {
		return err
	}
	defer api.stop()
	ctx, cancel := context.WithTimeout(ctx, startTime)
	defer cancel()
	said, ended := &bytes.Buffer{}, make(chan struct{})
	cmd := exec.CommandContext(ctx, filepath.Join(folder, c.function))
	cmd.Env = append(api.env(c.function), env...)
	cmd.Stdout, cmd.Stderr = said, said
	began := time.Now()
	if err := cmd.Start(); err != nil {
		return err
	}
	go func() { _ = cmd.Wait(); close(ended) }()
	first, err := api.exchange(ended, c.wants)
	var second exchange
	if err == nil {
		second, err = api.exchange(ended, c.wants)
	}
	cancel()
	<-ended
	if err != nil {
		return fmt.Errorf("%w\n%s", err, bytes.TrimSpace(said.Bytes()[max(0, said.Len()-tailBytes):]))
	}
	if counts {
		c.ready = append(c.ready, first.asked.Sub(began))
		c.first = append(c.first, first.answered.Sub(began))
		c.second = append(c.second, second.answered.Sub(second.asked))
		c.cpu = append(c.cpu, cmd.ProcessState.UserTime()+cmd.ProcessState.SystemTime())
	}
	return nil
}

func (c *coldCase) result() coldStart {
	in := func(d []time.Duration) span { return span{quantile(d, 0.50) / 1000, quantile(d, 0.99) / 1000} }
	return coldStart{
		Function: c.function, Request: c.request, Starts: len(c.first),
		Ready: in(c.ready), First: in(c.first), Second: in(c.second), CPU: in(c.cpu),
	}
}

// coldAlone is the part that measures this and nothing else.
func coldAlone(ctx context.Context, args []string, out io.Writer) (err error) {
	f := flag.NewFlagSet("cold", flag.ContinueOnError)
	starts := f.Int("starts", coldStarts, "starts of each function and request")
	if err := f.Parse(args); err != nil {
		return err
	}
	if f.NArg() > 0 || *starts < 1 {
		return errors.New("usage: bench cold [-starts n]")
	}
	dir, err := os.MkdirTemp("", "mcprelay-bench-")
	if err != nil {
		return fmt.Errorf("making a folder for the run: %w", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	c, err := measureCold(ctx, dir, *starts)
	if err != nil {
		return err
	}
	return c.writeText(out)
}

func (c colds) writeText(out io.Writer) error {
	fmt.Fprint(out, "\nfresh processes of functions, in ms: until one asks for work, until its first answer, its second answer by itself, and processor time\n"+
		"(on this machine's processors, with emulators of AWS on loopback, without what Lambda itself adds; p99 of up to 100 starts is the slowest)\n")
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprint(w, "function\trequest\tstarts\tready p50\tp99\tfirst p50\tp99\tsecond p50\tp99\tCPU p50\tp99\t\n")
	for _, s := range c.Starts {
		fmt.Fprintf(w, "%s\t%s\t%d\t%.1f\t%.1f\t%.1f\t%.1f\t%.2f\t%.2f\t%.1f\t%.1f\t\n", s.Function, s.Request, s.Starts,
			s.Ready.P50, s.Ready.P99, s.First.P50, s.First.P99, s.Second.P50, s.Second.P99, s.CPU.P50, s.CPU.P99)
	}
	if err := w.Flush(); err != nil {
		return err
	}
	fmt.Fprint(out, "\nhow large they are, stripped\n")
	fmt.Fprint(w, "function\tbytes\t\n")
	for _, b := range c.Binaries {
		fmt.Fprintf(w, "%s\t%d\t\n", b.Function, b.Bytes)
	}
	return w.Flush()
}
