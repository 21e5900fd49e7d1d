// Package runtimeapi stands where API Gateway and the Lambda service stand: it
// runs real bootstrap programs, hands them invocations through the Lambda
// Runtime API, and passes their streamed replies on byte by byte.
//
// It promises what the function relies on: one invocation at a time in each
// process, a deadline header, a reply that streams while it is written, a
// process killed at its timeout, and a fresh one after a death. It refuses to
// imitate what cannot be proven away from AWS: quotas, throttling, freezing
// between invocations, and statements of roles.
package runtimeapi

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/events"
)

// The ways a reply can fail to come, or to come whole.
var (
	// ErrDied says that the process ended before its reply did.
	ErrDied = errors.New("the bootstrap died")
	// ErrAborted says that the function reported an error inside its stream.
	ErrAborted = errors.New("the function aborted its reply")
	// ErrInit says that the process ended before it asked for an invocation.
	ErrInit = errors.New("the bootstrap ended during its start")
)

// FunctionError is what a function reports instead of a reply.
type FunctionError struct {
	Type    string `json:"errorType"`
	Message string `json:"errorMessage"`
}

// Error is the report's type and message.
func (e *FunctionError) Error() string { return e.Type + ": " + e.Message }

// Options of a simulator.
type Options struct {
	Bootstrap string        // the program
	Env       []string      // what it finds, besides the platform's own variables
	Processes int           // 0: 1; each serves one invocation at a time
	Timeout   time.Duration // of an invocation; 0: 75 s, as in template.yaml
	// Sever breaks the connection over which a reply comes when its reader has
	// gone. Otherwise the rest is read and dropped, as API Gateway does.
	Sever bool
	// Log takes what the processes print.
	Log io.Writer
}

// Simulator is a running function behind a gateway.
type Simulator struct {
	options Options
	queue   chan *invocation
	broken  chan struct{} // closed when a process cannot start
	breakIt sync.Once
	stopped chan struct{}
	wait    sync.WaitGroup

	mu       sync.Mutex
	machines []*machine
	starts   int
}

// Start runs the function until the test ends.
func Start(t testing.TB, o Options) *Simulator {
	t.Helper()
	if o.Processes == 0 {
		o.Processes = 1
	}
	if o.Timeout == 0 {
		o.Timeout = 75 * time.Second
	}
	if o.Log == nil {
		o.Log = io.Discard
	}
	o.Log = &serial{w: o.Log}
	s := &Simulator{options: o, queue: make(chan *invocation), broken: make(chan struct{}), stopped: make(chan struct{})}
	for range o.Processes {
		m, err := newMachine(s)
		if err != nil {
			t.Fatal(err)
		}
		s.machines = append(s.machines, m)
		s.wait.Go(m.run)
	}
	t.Cleanup(s.stop)
	return s
}

func (s *Simulator) stop() {
	close(s.stopped)
	s.Kill()
	s.wait.Wait()
}

// Kill ends every process at once with SIGKILL and returns when they are gone;
// fresh ones follow.
func (s *Simulator) Kill() {
	var all []<-chan struct{}
	for _, m := range s.machines {
		all = append(all, m.kill())
	}
	for _, gone := range all {
		<-gone
	}
}

// again gives an invocation to another process than the one that took it.
func (s *Simulator) again(i *invocation) {
	select {
	case s.queue <- i:
	case <-s.stopped:
		i.fail(ErrDied)
	}
}

// Starts is how many processes were started so far.
func (s *Simulator) Starts() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.starts
}

// Reply is a reply whose head has come. Body fails with [ErrDied] or
// [ErrAborted] where it ended early. Close it.
type Reply struct {
	Status int
	Header http.Header
	Body   io.ReadCloser
}

// Invoke gives one event to the next idle process, and returns once the head
// of the reply has come. The error is [ErrDied], [ErrInit], a *[FunctionError],
// or ctx's.
func (s *Simulator) Invoke(ctx context.Context, event []byte) (*Reply, error) {
	return s.InvokeUntil(ctx, event, s.options.Timeout)
}

// InvokeUntil is Invoke with a timeout of its own, which the function learns of
// as its deadline.
func (s *Simulator) InvokeUntil(ctx context.Context, event []byte, timeout time.Duration) (*Reply, error) {
	i := newInvocation(event, timeout)
	select {
	case s.queue <- i:
	case <-s.broken:
		return nil, ErrInit
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	select {
	case <-i.begun:
		return i.reply, i.err
	case <-ctx.Done():
		_ = i.reader.Close()
		return nil, ctx.Err()
	}
}

// InvokeEvent is Invoke for an event that is not yet JSON.
func (s *Simulator) InvokeEvent(ctx context.Context, e events.APIGatewayProxyRequest) (*Reply, error) {
	text, err := json.Marshal(e)
	if err != nil {
		return nil, fmt.Errorf("encoding the event: %w", err)
	}
	return s.Invoke(ctx, text)
}

// serial lets processes share one writer.
type serial struct {
	mu sync.Mutex
	w  io.Writer
}

func (s *serial) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.w.Write(p)
}
