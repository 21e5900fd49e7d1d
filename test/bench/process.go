package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"time"
)

const (
	// A part that listens on loopback does so in milliseconds; a loaded
	// machine gets more.
	startTime = 20 * time.Second
	stopTime  = 20 * time.Second
	tailBytes = 2 << 10
)

// process is a running part. Its standard error goes to a file: a pipe would
// cost the bench time for every line.
type process struct {
	name  string
	cmd   *exec.Cmd
	stdin io.Closer
	log   string
	ready string // the line of its standard output that said so
	done  chan error
	ended bool
}

// start runs a part and waits for the line of its standard output that holds
// the text ready.
func start(ctx context.Context, name, log, ready string, cmd *exec.Cmd) (*process, error) {
	stderr, err := os.Create(log)
	if err != nil {
		return nil, fmt.Errorf("starting the %s: %w", name, err)
	}
	defer stderr.Close()
	cmd.Stderr = stderr
	stdin, err := cmd.StdinPipe()
	if err != nil {
		return nil, fmt.Errorf("starting the %s: %w", name, err)
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		return nil, fmt.Errorf("starting the %s: %w", name, err)
	}
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("starting the %s: %w", name, err)
	}
	p := &process{name: name, cmd: cmd, stdin: stdin, log: log, done: make(chan error, 1)}
	line := make(chan string, 1)
	go func() {
		r := bufio.NewReader(stdout)
		line <- find(r, ready)
		_, _ = io.Copy(io.Discard, r)
		p.done <- cmd.Wait()
	}()
	ctx, cancel := context.WithTimeout(ctx, startTime)
	defer cancel()
	select {
	case p.ready = <-line:
	case <-ctx.Done():
	}
	if p.ready == "" {
		return nil, errors.Join(fmt.Errorf("the %s did not start\n%s", name, p.tail()), p.stop())
	}
	return p, nil
}

// find reads up to the line that holds text; "" when none does.
func find(r *bufio.Reader, text string) string {
	for {
		line, err := r.ReadString('\n')
		if err != nil {
			return ""
		}
		if strings.Contains(line, text) {
			return line
		}
	}
}

// addresses reads the line of a serving part.
func (p *process) addresses() (addresses, error) {
	var a addresses
	if err := json.Unmarshal([]byte(p.ready), &a); err != nil {
		return a, fmt.Errorf("reading where the %s listens: %w", p.name, err)
	}
	return a, nil
}

// stop ends the part by its signal and waits; one that does not end is killed.
// A second stop does nothing.
func (p *process) stop() error {
	if p == nil || p.ended {
		return nil
	}
	p.ended = true
	_ = p.stdin.Close()
	_ = p.cmd.Process.Signal(syscall.SIGTERM) // it may have ended by itself
	var err error
	select {
	case err = <-p.done:
	case <-time.After(stopTime):
		_ = p.cmd.Process.Kill()
		<-p.done
		return fmt.Errorf("the %s did not end and was killed", p.name)
	}
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		if status, ok := exit.Sys().(syscall.WaitStatus); ok && status.Signaled() && status.Signal() == syscall.SIGTERM {
			return nil
		}
		return fmt.Errorf("the %s failed: %w\n%s", p.name, err, p.tail())
	}
	return err
}

// tail is the end of what the part said on standard error.
func (p *process) tail() string {
	text, err := os.ReadFile(p.log)
	if err != nil {
		return err.Error()
	}
	return string(bytes.TrimSpace(text[max(0, len(text)-tailBytes):]))
}

// output runs a part to its end and gives what it printed.
func output(cmd *exec.Cmd) ([]byte, error) {
	var complaint bytes.Buffer
	cmd.Stderr = &complaint
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("%w: %s", err, strings.TrimSpace(complaint.String()))
	}
	return out, nil
}
