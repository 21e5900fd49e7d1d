package stdio_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"mcprelay/shared/call"
	"mcprelay/shared/stdio"
	"mcprelay/shared/wire"
)

// The environment by which the test binary becomes something else.
const (
	envRole   = "STDIO_TEST_ROLE"   // see TestMain
	envScript = "STDIO_TEST_SCRIPT" // of a server
)

// TestMain runs the tests, or what a child of theirs is to be.
func TestMain(m *testing.M) {
	switch os.Getenv(envRole) {
	case "server":
		p := player{in: bufio.NewReader(os.Stdin), out: os.Stdout, err: os.Stderr, exit: os.Exit}
		if err := json.Unmarshal([]byte(os.Getenv(envScript)), &p.script); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(98)
		}
		p.play()
	case "sdk":
		serveSDK()
	case "sleeper":
		select {}
	case "relay":
		beRelay()
	case "peeped":
		bePeeped()
	default:
		os.Exit(m.Run())
	}
}

// wait bounds what a test waits for; nothing takes that long.
const wait = 20 * time.Second

// within is a context that ends a test that hangs.
func within(t testing.TB) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), wait)
	t.Cleanup(cancel)
	return ctx
}

// newPool makes a pool that is closed with the test.
func newPool(t testing.TB, log *journal) *stdio.Pool {
	t.Helper()
	c := stdio.Config{Name: "mcprelay", Version: "1.2.3"}
	if log != nil {
		c.Log = slog.New(slog.NewTextHandler(log, nil))
	}
	p := stdio.New(c)
	t.Cleanup(func() {
		if err := p.Close(within(t)); err != nil {
			t.Errorf("closing the pool: %v", err)
		}
	})
	return p
}

// scripted is the Spec of a server of the tests.
func scripted(s script, env ...string) stdio.Spec {
	text, err := json.Marshal(s)
	if err != nil {
		panic(err)
	}
	exe, err := os.Executable()
	if err != nil {
		panic(err)
	}
	// The race detector would have each child sleep for a second when it ends.
	env = append([]string{envRole + "=server", envScript + "=" + string(text), "GORACE=atexit_sleep_ms=0"}, env...)
	return stdio.Spec{Command: exe, Env: env, Backoff: time.Millisecond}
}

// ask is a request for a tool.
func ask(spec stdio.Spec, tool string) stdio.Request {
	return stdio.Request{Key: "one", Server: "docs", Spec: spec, Asked: wire.Asked{Operation: call.OperationToolsCall, Tool: tool, Arguments: json.RawMessage(`{}`)}}
}

// result makes the call and gives its result.
func result(t testing.TB, p *stdio.Pool, r stdio.Request) stdio.Reply {
	t.Helper()
	reply, err := p.Call(within(t), r)
	if err != nil {
		t.Fatalf("%s: %v", r.Tool, err)
	}
	if reply.Error != nil {
		t.Fatalf("%s: error %d %s", r.Tool, reply.Error.Code, reply.Error.Message)
	}
	return reply
}

// refused makes the call and gives its refusal.
func refused(t testing.TB, ctx context.Context, p *stdio.Pool, r stdio.Request) (*call.Refusal, stdio.Facts) {
	t.Helper()
	reply, err := p.Call(ctx, r)
	return refusalOf(t, err), reply.Facts
}

// refusalOf gives err as what every error of a pool is.
func refusalOf(t testing.TB, err error) *call.Refusal {
	t.Helper()
	var refusal *call.Refusal
	if !errors.As(err, &refusal) {
		t.Fatalf("got error %v, want a refusal", err)
	}
	return refusal
}

// want fails unless the refusal has the reason and the impact.
func want(t testing.TB, got *call.Refusal, reason call.Reason, impact call.Impact) {
	t.Helper()
	if got.Reason != reason || got.MayHaveRun() != impact {
		t.Errorf("got %v with effect %s, want %s with effect %s", got, got.MayHaveRun(), reason, impact)
	}
}

// hold makes a call that the server has and does not answer. What it gives back
// ends it on the caller's side and gives its refusal.
func hold(t testing.TB, p *stdio.Pool, r stdio.Request) (leave func() *call.Refusal) {
	t.Helper()
	ctx, cancel := context.WithCancel(within(t))
	has := make(chan struct{})
	r.Meta = json.RawMessage(`{"progressToken":"held"}`)
	r.Notify = func(string, json.RawMessage) { close(has) }
	done := make(chan error, 1)
	go func() {
		_, err := p.Call(ctx, r)
		done <- err
	}()
	select {
	case <-has:
	case err := <-done:
		t.Fatalf("%s: %v", r.Tool, err)
	}
	return func() *call.Refusal {
		cancel()
		return refusalOf(t, <-done)
	}
}

// factsOf asks the child what it sees.
func factsOf(t testing.TB, p *stdio.Pool, r stdio.Request) world {
	t.Helper()
	r.Tool = "facts"
	var content struct{ StructuredContent world }
	if err := json.Unmarshal(result(t, p, r).Result, &content); err != nil {
		t.Fatal(err)
	}
	return content.StructuredContent
}

// logOf is what the child has been sent, oldest first, this request included.
func logOf(t testing.TB, p *stdio.Pool, r stdio.Request) []string {
	t.Helper()
	r.Tool, r.Arguments, r.Meta = "log", nil, nil
	var content struct{ Log []json.RawMessage }
	if err := json.Unmarshal(result(t, p, r).Result, &content); err != nil {
		t.Fatal(err)
	}
	lines := make([]string, len(content.Log))
	for i, line := range content.Log {
		lines[i] = string(line)
	}
	return lines
}

// methodsOf are the methods of what the child has been sent.
func methodsOf(t testing.TB, p *stdio.Pool, r stdio.Request) string {
	t.Helper()
	var methods []string
	for _, line := range logOf(t, p, r) {
		var m incoming
		if err := json.Unmarshal([]byte(line), &m); err != nil {
			t.Fatal(err)
		}
		methods = append(methods, m.Method)
	}
	return strings.Join(methods, " ")
}

// alive reports whether a process runs: one that has ended and was not waited
// for does not.
func alive(pid int) bool {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return false
	}
	_, after, _ := strings.Cut(string(stat), ") ")
	return !strings.HasPrefix(after, "Z") && !strings.HasPrefix(after, "X")
}

// dies fails unless the process ends.
func dies(t testing.TB, pid int) {
	t.Helper()
	until(t, fmt.Sprintf("process %d to end", pid), func() bool { return !alive(pid) })
}

// reaped waits until a child has ended with all its threads: the files of one
// that is ending are still open.
func reaped(t testing.TB, pid int) {
	t.Helper()
	until(t, fmt.Sprintf("process %d to be waited for", pid), func() bool {
		_, err := os.Stat(fmt.Sprintf("/proc/%d", pid))
		return err != nil
	})
}

// until waits for something that nothing tells of.
func until(t testing.TB, what string, done func() bool) {
	t.Helper()
	ctx := within(t)
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for !done() {
		select {
		case <-ctx.Done():
			t.Fatalf("waited in vain for %s", what)
		case <-tick.C:
		}
	}
}

// journal is a log that tests read.
type journal struct {
	mu   sync.Mutex
	text strings.Builder
}

// Write appends to the journal.
func (j *journal) Write(b []byte) (int, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.text.Write(b)
}

// String is all of it.
func (j *journal) String() string {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.text.String()
}

var _ io.Writer = (*journal)(nil)
