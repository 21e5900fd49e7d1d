package stdio_test

import (
	"fmt"
	"runtime"
	"strings"
	"testing"
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
