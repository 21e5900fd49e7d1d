package stdio_test

import (
	"context"
	"encoding/json"
	"strings"
	"syscall"
	"testing"
	"time"

	"mcprelay/shared/call"
	"mcprelay/shared/stdio"
)

// started is the process of a request's child.
func started(t testing.TB, p *stdio.Pool, r stdio.Request) int {
	t.Helper()
	return factsOf(t, p, r).PID
}

func TestAnEndedKeyHasNoProcess(t *testing.T) {
	p := newPool(t, nil)
	one, two := ask(scripted(script{}), "echo"), ask(scripted(script{}), "echo")
	two.Key = "two"
	first, other := started(t, p, one), started(t, p, two)
	p.End(one.Key)
	p.End(one.Key)
	p.End("never seen")
	if alive(first) || !alive(other) {
		t.Errorf("running: the ended key's %v, the other's %v", alive(first), alive(other))
	}
	if again := result(t, p, one).Facts; again.PID == first || again.Session != stdio.SessionNew {
		t.Errorf("a key that was ended: %+v", again)
	}
}

func TestEndingAKeyEndsTheCallThatItIsDoing(t *testing.T) {
	p := newPool(t, nil)
	r := ask(scripted(script{}), "hold")
	r.Spec.Close = 100 * time.Millisecond
	leave := hold(t, p, r)
	p.End(r.Key)
	want(t, leave(), call.ProcessEnded, call.ImpactUnknown)
}

// TestAChildEndsHoweverStubbornItIs: by the end of its stdin, by SIGTERM, by
// SIGKILL.
func TestAChildEndsHoweverStubbornItIs(t *testing.T) {
	tests := map[string]struct {
		script script
		tool   string
		least  time.Duration
	}{
		"ends with its stdin":     {script{}, "echo", 0},
		"reads its stdin no more": {script{}, "deaf", 100 * time.Millisecond},
		"takes no signal":         {script{Stays: true}, "echo", 200 * time.Millisecond},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			p := newPool(t, nil)
			r := ask(scripted(tt.script), tt.tool)
			r.Spec.Close = 200 * time.Millisecond
			pid := result(t, p, r).Facts.PID
			began := time.Now()
			p.End(r.Key)
			took := time.Since(began)
			if alive(pid) || took < tt.least {
				t.Errorf("after %v it runs: %v; want at least %v", took, alive(pid), tt.least)
			}
		})
	}
}

// descended has the child start a process of its own.
func descended(t testing.TB, p *stdio.Pool, r stdio.Request) int {
	t.Helper()
	var content struct{ StructuredContent struct{ PID int } }
	if err := json.Unmarshal(result(t, p, r).Result, &content); err != nil {
		t.Fatal(err)
	}
	pid := content.StructuredContent.PID
	if !alive(pid) {
		t.Fatalf("the child's own process %d does not run", pid)
	}
	return pid
}

// TestADescendantThatLeftTheGroupKeepsNobodyWaiting: it holds the child's
// streams open, and is out of reach.
func TestADescendantThatLeftTheGroupKeepsNobodyWaiting(t *testing.T) {
	p := newPool(t, nil)
	r := ask(scripted(script{}), "descendant away")
	pid := descended(t, p, r)
	defer func() { _ = syscall.Kill(pid, syscall.SIGKILL) }()
	got, _ := refused(t, within(t), p, withTool(r, "crash 4"))
	want(t, got, call.ProcessEnded, call.ImpactUnknown)
	if !strings.Contains(got.Detail, "exit status 4") || !alive(pid) {
		t.Errorf("got %v; the descendant runs: %v", got, alive(pid))
	}
	result(t, p, withTool(r, "echo"))
}

func TestWhatAChildStartedEndsWithIt(t *testing.T) {
	p := newPool(t, nil)
	for _, end := range []string{"crash 1", "echo"} {
		r := ask(scripted(script{}), "descendant")
		pid := descended(t, p, r)
		_, _ = p.Call(within(t), withTool(r, end))
		p.End(r.Key)
		dies(t, pid)
	}
}

func TestCloseEndsEveryChildAndKillsThoseThatTakeTooLong(t *testing.T) {
	p := newPool(t, nil)
	var pids []int
	for i := range 4 {
		r := ask(scripted(script{Stays: i%2 == 0}), "echo")
		r.Key, r.Spec.Close = "key "+itoa(i), time.Hour
		pids = append(pids, started(t, p, r))
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if err := p.Close(ctx); err != nil {
		t.Error(err)
	}
	for _, pid := range pids {
		if alive(pid) {
			t.Errorf("process %d runs after Close", pid)
		}
	}
	got, _ := refused(t, within(t), p, ask(scripted(script{}), "echo"))
	want(t, got, call.ProcessFailed, call.ImpactNone)
}

// TestCloseKillsAChildWhoseKeyIsBeingEnded although End would give it time.
func TestCloseKillsAChildWhoseKeyIsBeingEnded(t *testing.T) {
	p := newPool(t, nil)
	r := ask(scripted(script{Stays: true}), "echo")
	r.Spec.Close = time.Hour
	pid := started(t, p, r)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		p.End(r.Key)
	}()
	until(t, "the key to be forgotten", func() bool { return p.Slots() == 0 })
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if err := p.Close(ctx); err != nil || alive(pid) {
		t.Errorf("error %v; the child runs: %v", err, alive(pid))
	}
	<-ended
}

func TestCloseEndsCallsThatWait(t *testing.T) {
	p := newPool(t, nil)
	spec := scripted(script{})
	spec.Close = 100 * time.Millisecond
	leave := hold(t, p, ask(spec, "hold"))
	waiting := make(chan error, 1)
	go func() {
		_, err := p.Call(within(t), ask(spec, "echo"))
		waiting <- err
	}()
	if err := p.Close(within(t)); err != nil {
		t.Error(err)
	}
	want(t, leave(), call.ProcessEnded, call.ImpactUnknown)
	if got := refusalOf(t, <-waiting); got.Reason != call.ProcessFailed || got.MayHaveRun() != call.ImpactNone {
		t.Errorf("the call that waited: %v", got)
	}
}
