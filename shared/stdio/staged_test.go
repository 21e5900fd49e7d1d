package stdio_test

import (
	"bufio"
	"context"
	"io"
	"log/slog"
	"strconv"
	"sync/atomic"
	"testing"

	"mcprelay/shared/stdio"
)

// act plays a script in this process.
func act(s script) stdio.Actor {
	return func(stdin io.Reader, stdout, stderr io.Writer) string {
		status := "exit status 0"
		p := player{script: s, in: bufio.NewReader(stdin), out: stdout, err: stderr}
		p.exit = func(code int) { status = "exit status " + strconv.Itoa(code) }
		p.play()
		return status
	}
}

// staged makes a pool whose nth child plays the nth script, and the last one
// from there on; it counts the starts. The pool must be closed by the test.
func staged(scripts ...script) (*stdio.Pool, *atomic.Int64) {
	var starts atomic.Int64
	return stdio.NewStaged(stdio.Config{}, func(*stdio.Spec) stdio.Actor {
		n := int(starts.Add(1))
		return act(scripts[min(n, len(scripts))-1])
	}), &starts
}

// stagedWith makes a pool whose children all play s, with a log.
func stagedWith(log *journal, s script) *stdio.Pool {
	return stdio.NewStaged(stdio.Config{Log: slog.New(slog.NewTextHandler(log, nil))}, func(*stdio.Spec) stdio.Actor { return act(s) })
}

// shut ends a staged pool inside its bubble.
func shut(t testing.TB, p *stdio.Pool) {
	t.Helper()
	if err := p.Close(context.Background()); err != nil {
		t.Errorf("closing the pool: %v", err)
	}
}
