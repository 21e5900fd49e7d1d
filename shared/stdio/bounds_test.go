package stdio_test

import (
	"fmt"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"mcprelay/shared/call"
	"mcprelay/shared/stdio"
)

// TestWhatAServerMaySayIsBounded: over a bound the call fails, and a child
// that could not be read on is replaced.
func TestWhatAServerMaySayIsBounded(t *testing.T) {
	envelope := len(`{"content":[],"text":""}`)
	tests := map[string]struct {
		tool   string
		reason call.Reason
		lives  bool
	}{
		"a result as large as may be": {fmt.Sprint("large ", 1<<16-envelope), "", true},
		"a result larger by a byte":   {fmt.Sprint("large ", 1<<16-envelope+1), call.ReplyTooLarge, true},
		"a line longer than a frame":  {fmt.Sprint("large ", 1<<17), call.ReplyTooLarge, false},
		"a line without an end":       {"endless", call.ReplyTooLarge, false},
		"as much noise as may be":     {fmt.Sprint("noise ", stdio.MaxNoise), "", true},
		"a line of noise more":        {fmt.Sprint("noise ", stdio.MaxNoise+1), call.Protocol, false},
		"as many messages as may be":  {fmt.Sprint("notify ", stdio.MaxMessages-1), "", true},
		"a message more":              {fmt.Sprint("notify ", stdio.MaxMessages), call.TooManyEvents, false},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			p := newPool(t, nil)
			r := ask(scripted(script{}), "echo")
			r.Spec.Frame, r.Spec.Result, r.Spec.Close = 1<<17, 1<<16, 100*time.Millisecond
			pid := result(t, p, r).Facts.PID
			_, err := p.Call(within(t), withTool(r, tt.tool))
			if tt.reason == "" && err != nil {
				t.Error(err)
			}
			if tt.reason != "" {
				want(t, refusalOf(t, err), tt.reason, call.ImpactUnknown)
			}
			if again := result(t, p, r).Facts.PID; (again == pid) != tt.lives {
				t.Errorf("the process was %d and is %d", pid, again)
			}
		})
	}
}

func TestALineThatBreaksTheProtocolIsQuotedAndEndsTheChild(t *testing.T) {
	for name, line := range map[string]string{
		"result is no object":   `{"jsonrpc":"2.0","id":$ID,"result":7}`,
		"both":                  `{"jsonrpc":"2.0","id":$ID,"result":{},"error":{"code":1,"message":"m"}}`,
		"a batch":               `[{"jsonrpc":"2.0","id":$ID,"result":{}}]`,
		"a name twice":          `{"jsonrpc":"2.0","id":$ID,"result":{"a":1,"a":2}}`,
		"an unknown resultType": `{"jsonrpc":"2.0","id":$ID,"result":{"resultType":"zzz"}}`,
		"cut":                   `{"jsonrpc":"2.0","id":$ID,"result":{`,
		"invalid UTF-8":         "{\"jsonrpc\":\"2.0\",\"id\":$ID,\"result\":{\"a\":\"\\ud800\",\"jsonrpc\":1,\"Result\":\"}",
		"two values":            `{"jsonrpc":"2.0","id":$ID,"result":{}} {}`,
	} {
		p := newPool(t, nil)
		r := ask(scripted(script{}), "raw")
		r.Arguments = []byte(`{"Lines":[` + quoted(line) + `]}`)
		got, facts := refused(t, within(t), p, r)
		want(t, got, call.Protocol, call.ImpactUnknown)
		if len(got.Quote) == 0 || strings.Contains(got.Error(), "zzz") {
			t.Errorf("%s: refusal %v quotes %q", name, got, got.Quote)
		}
		dies(t, facts.PID)
	}
}

func TestAnErrorWithoutAnIDIsNoAnswer(t *testing.T) {
	p := newPool(t, nil)
	r := ask(scripted(script{NoID: "tools/call"}), "echo")
	got, _ := refused(t, within(t), p, r)
	want(t, got, call.Protocol, call.ImpactUnknown)
}

// TestEndlessLinesCostNoMemory asks again and again for a line without an end.
func TestEndlessLinesCostNoMemory(t *testing.T) {
	p := newPool(t, nil)
	r := ask(scripted(script{}), "endless")
	r.Spec.Close, r.Spec.Attempts = time.Millisecond, -1
	var before, after runtime.MemStats
	for i := range 10 {
		got, _ := refused(t, within(t), p, r)
		if got.Reason != call.ReplyTooLarge {
			t.Fatalf("got %v", got)
		}
		runtime.GC()
		if runtime.ReadMemStats(&after); i == 0 {
			before = after
		}
		result(t, p, withTool(r, "echo")) // or the next one would have to wait
	}
	if grown := int64(after.HeapAlloc) - int64(before.HeapAlloc); grown > 4<<20 {
		t.Errorf("the heap grew by %d bytes", grown)
	}
}

// TestAChildThatIsNotReadAnyMoreIsNotWaitedFor: it could not end by itself
// while it writes.
func TestAChildThatIsNotReadAnyMoreIsNotWaitedFor(t *testing.T) {
	p := newPool(t, nil)
	r := ask(scripted(script{}), "endless")
	r.Spec.Close = 10 * wait
	refused(t, within(t), p, r)
	result(t, p, withTool(r, "echo"))
}

func TestAChildThatTalksWhileNobodyAsksIsEnded(t *testing.T) {
	p := newPool(t, nil)
	r := ask(scripted(script{}), "chatter")
	pid := result(t, p, r).Facts.PID
	dies(t, pid)
	if got := result(t, p, withTool(r, "echo")).Facts; got.Session != stdio.SessionRenewed {
		t.Errorf("got %+v", got)
	}
}

// quoted is s as a JSON string.
func quoted(s string) string { return fmt.Sprintf("%q", s) }

// TestStderrReachesTheLogMaskedCutAndQuoted line by line.
func TestStderrReachesTheLogMaskedCutAndQuoted(t *testing.T) {
	var log journal
	p := newPool(t, &log)
	long := strings.Repeat("x", stdio.MaxShown-1) + "é" + "tail"
	edge := strings.Repeat("y", stdio.MaxShown-4) + "sesame"
	r := ask(scripted(script{Says: []string{"plain words", "token=sesame", "\x1b[31mred\a\u202e", "a\rb", long, edge, "", strings.Repeat("z", stdio.MaxMasked+1) + "sesame", "after"}}), "echo")
	r.Mask = func(line string) string { return strings.ReplaceAll(line, "sesame", "[masked]") }
	pid := result(t, p, r).Facts.PID
	p.End(r.Key)
	got := log.String()
	for _, want := range []string{
		`level=INFO msg="server stderr" server=docs pid=` + itoa(pid) + ` line="\"plain words\""`,
		`line="\"token=[masked]\""`,
		`line="\"\\x1b[31mred\\a\\u202e\""`,
		`line="\"a\\rb\""`,
		`xx\"..."`,
		`yy[mas\"..."`,
		`line="\"after\""`,
		`level=WARN msg="server stderr not shown" server=docs pid=` + itoa(pid) + ` lines=1`,
		`msg="server process started" server=docs pid=` + itoa(pid),
		`msg="server process ended" server=docs pid=` + itoa(pid) + ` status="exit status 0"`,
	} {
		if !strings.Contains(got, want) {
			t.Errorf("the log lacks %s", want)
		}
	}
	for _, not := range []string{"sesame", "tail", "zz", "\x1b", "\a", "\u202e", "\r"} {
		if strings.Contains(got, not) {
			t.Errorf("the log has %q", not)
		}
	}
	if t.Failed() {
		t.Logf("%.4000s", got)
	}
}

func TestStderrIsNeverShownWhereNobodyMasksIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log journal
		p := stagedWith(&log, script{Says: []string{"token=sesame", "more"}})
		result(t, p, ask(stdio.Spec{}, "echo"))
		shut(t, p)
		if got := log.String(); strings.Contains(got, "sesame") || !strings.Contains(got, "lines=2") {
			t.Errorf("the log: %s", got)
		}
	})
}

// TestStderrIsBoundedInEachWindow counts what it leaves out.
func TestStderrIsBoundedInEachWindow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log journal
		p := stagedWith(&log, script{})
		r := ask(stdio.Spec{}, fmt.Sprint("stderr ", stdio.StderrLines+25))
		r.Mask = func(line string) string { return line }
		result(t, p, r)
		synctest.Wait()
		shown := func() int { return strings.Count(log.String(), `msg="server stderr" `) }
		if got := shown(); got != stdio.StderrLines {
			t.Errorf("%d lines are shown, want %d", got, stdio.StderrLines)
		}
		time.Sleep(stdio.StderrWindow)
		result(t, p, withTool(r, "stderr 10"))
		synctest.Wait()
		if got := shown(); got != stdio.StderrLines+10 || !strings.Contains(log.String(), "lines=25") {
			t.Errorf("%d lines are shown in all: %s", got, log.String())
		}
		shut(t, p)
		if got := strings.Count(log.String(), "not shown"); got != 1 {
			t.Errorf("it is said %d times that lines are not shown, want once", got)
		}
	})
}

// TestAFloodOnStderrDoesNotHinderAnswers: the pipe is emptied whatever is logged.
func TestAFloodOnStderrDoesNotHinderAnswers(t *testing.T) {
	var log journal
	p := newPool(t, &log)
	r := ask(scripted(script{}), "stderr 100000")
	r.Mask = func(line string) string { return line }
	result(t, p, r)
	if got := len(log.String()); got > 64<<10 {
		t.Errorf("the log has %d bytes", got)
	}
}
