package relay_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"mcprelay/shared/audit"
	"mcprelay/shared/call"
	"mcprelay/shared/idempotency"
	"mcprelay/test/kit"
)

// keyed is a call with a key; n gives it an id of its own.
func keyed(n int) call.Call {
	c := kit.Call("change")
	c.ID, c.IdempotencyKey = fmt.Sprintf("01JDXAMPLE%016d", n), "key-1"
	c.Arguments = json.RawMessage(`{"n":1,"m":[2]}`)
	return c
}

// replies makes the server answer with the members of a response after its id.
func replies(f *kit.Relay, members string) {
	f.Answer = func(w http.ResponseWriter, _ *http.Request, body map[string]json.RawMessage) {
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,%s}`, body["id"], members)
	}
}

// finals are the records of agents' calls, in their order.
func finals(t *testing.T, f *kit.Relay) []audit.Record {
	t.Helper()
	var all []audit.Record
	for line := range strings.Lines(f.Log.String()) {
		var r audit.Record
		if err := json.Unmarshal([]byte(line), &r); err == nil && r.State == audit.StateFinal && r.Face != call.FaceInternal {
			all = append(all, r)
		}
	}
	return all
}

func TestARepeatGetsTheFirstOutcomeByteForByte(t *testing.T) {
	for name, test := range map[string]struct {
		members string
		reason  call.Reason
		code    int64
	}{
		"a result":     {`"result":{ "content" :[{"type":"text","text":"\u0041<&> \ud83d\ude00"}],"n":1.50,"big":9007199254740993 }`, call.OK, 0},
		"a tool error": {`"result":{"isError":true,"content":[]}`, call.ToolError, 0},
		"an RPC error": {`"error":{ "code":-32602,"message":"no\u0020such <thing>","data":{"z":1,"a":2.0} }`, call.RPCError, -32602},
	} {
		t.Run(name, func(t *testing.T) {
			f, _ := keeping(t, "", "")
			replies(f, test.members)
			first, refusal := f.Do(t.Context(), keyed(1))
			if refusal != nil {
				t.Fatal(refusal)
			}
			replies(f, `"result":{"content":[],"another":true}`)
			again := keyed(2)
			again.Arguments = json.RawMessage(`{ "m":[2], "n":1 }`)
			second, refusal := f.Do(t.Context(), again)
			if refusal != nil {
				t.Fatal(refusal)
			}
			if string(second.Result) != string(first.Result) || string(second.Error) != string(first.Error) {
				t.Errorf("got %s%s, want %s%s", second.Result, second.Error, first.Result, first.Error)
			}
			if _, raw, _ := strings.Cut(test.members, ":"); string(second.Result)+string(second.Error) != raw {
				t.Errorf("got %s%s, want %s", second.Result, second.Error, raw)
			}
			if got := f.Posts.Load(); got != 1 {
				t.Errorf("the server saw %d calls, want 1", got)
			}
			records := finals(t, f)
			if len(records) != 2 {
				t.Fatalf("got %d records, want 2", len(records))
			}
			r := records[1]
			if r.CallID != again.ID || r.RepeatOf != keyed(1).ID || records[0].RepeatOf != "" || second.CallID != again.ID {
				t.Errorf("records %s of %q and %s of %q", records[0].CallID, records[0].RepeatOf, r.CallID, r.RepeatOf)
			}
			if r.Outcome != call.Answered || r.Reason != test.reason || r.RPCCode != test.code || r.Posts != 0 || r.Decision != call.Allow {
				t.Errorf("record %+v, want an answer like the first one and no POST", r)
			}
		})
	}
}

func TestARepeatOfARefusalThatMayHaveRunIsRefusedAlike(t *testing.T) {
	f, _ := keeping(t, "", "")
	f.Answer = func(w http.ResponseWriter, _ *http.Request, _ map[string]json.RawMessage) {
		w.Header().Set("Retry-After", "7")
		w.WriteHeader(http.StatusServiceUnavailable)
	}
	_, first := f.Do(t.Context(), keyed(1))
	kit.WantReason(t, first, call.UpstreamStatus)
	replies(f, `"result":{"content":[]}`)
	_, second := f.Do(t.Context(), keyed(2))
	kit.WantReason(t, second, call.UpstreamStatus)
	if second.MayHaveRun() != first.MayHaveRun() || second.Status != first.Status || second.RetryAfter != first.RetryAfter || second.Detail != first.Detail {
		t.Errorf("got %+v, want %+v", second, first)
	}
	if records := finals(t, f); f.Posts.Load() != 1 || len(records) != 2 || records[1].RepeatOf != keyed(1).ID {
		t.Errorf("%d calls, records %+v, want one call and its repeat", f.Posts.Load(), records)
	}
}

func TestACallThatDidNotRunGivesItsKeyBack(t *testing.T) {
	f, k := keeping(t, "", "")
	f.Recorder.FailIntent = true
	_, refusal := f.Do(t.Context(), keyed(1))
	kit.WantReason(t, refusal, call.AuditUnavailable)
	if left := k.all(); len(left) != 0 {
		t.Fatalf("%+v is left", left)
	}
	f.Recorder.FailIntent = false
	if _, refusal := f.Do(t.Context(), keyed(2)); refusal != nil || f.Posts.Load() != 1 {
		t.Errorf("got %v after %d calls, want it to run now", refusal, f.Posts.Load())
	}
}

func TestAKeyIsOfOneCallerAndOneRequest(t *testing.T) {
	for name, test := range map[string]struct {
		change func(*call.Call)
		reason call.Reason // of the refusal; empty where it runs
	}{
		"another argument": {func(c *call.Call) { c.Arguments = json.RawMessage(`{"n":1,"m":[3]}`) }, call.KeyReused},
		"another tool":     {func(c *call.Call) { c.Tool = "look" }, call.KeyReused},
		"no arguments":     {func(c *call.Call) { c.Arguments = nil }, call.KeyReused},
		"another subject":  {func(c *call.Call) { c.Principal.Subject = "other" }, ""},
		"another kind":     {func(c *call.Call) { c.Principal.Kind = call.KindServiceToken }, ""},
		"another issuer":   {func(c *call.Call) { c.Principal.Issuer = "https://login.example.com" }, ""},
		"another key":      {func(c *call.Call) { c.IdempotencyKey = "key-2" }, ""},
	} {
		t.Run(name, func(t *testing.T) {
			f, _ := keeping(t, "", "")
			if _, refusal := f.Do(t.Context(), keyed(1)); refusal != nil {
				t.Fatal(refusal)
			}
			c, posts := keyed(2), int64(1)
			test.change(&c)
			_, refusal := f.Do(t.Context(), c)
			if test.reason == "" {
				if posts = 2; refusal != nil {
					t.Errorf("got %v, want it to run", refusal)
				}
			} else {
				kit.WantReason(t, refusal, test.reason)
				if r := finals(t, f)[1]; r.Reason != test.reason || r.RepeatOf != "" || refusal.MayHaveRun() != call.ImpactNone {
					t.Errorf("record %+v, want %s of no call", r, test.reason)
				}
			}
			if got := f.Posts.Load(); got != posts {
				t.Errorf("the server saw %d calls, want %d", got, posts)
			}
		})
	}
}

func TestWithoutAKeyEveryCallRuns(t *testing.T) {
	f, k := keeping(t, "", "")
	rule(t, f, "mcp.up.prompt.*", "allow")
	for n := range 2 {
		c := keyed(n)
		c.IdempotencyKey = ""
		if _, refusal := f.Do(t.Context(), c); refusal != nil {
			t.Fatal(refusal)
		}
		c.Operation, c.Tool, c.Prompt, c.IdempotencyKey = call.OperationPromptsGet, "", "hello", "key-1"
		if _, refusal := f.Do(t.Context(), c); refusal != nil {
			t.Fatal(refusal) // a prompt is no call of a tool: its key says nothing
		}
	}
	if f.Requests.Load() != 4 || len(k.all()) != 0 {
		t.Errorf("%d requests, records %+v, want 4 and none", f.Requests.Load(), k.all())
	}
}

func TestARepeatOfACallThatRunsWaitsItsTurn(t *testing.T) {
	f, k := keeping(t, "", "")
	under, end := make(chan struct{}), make(chan struct{})
	f.Answer = func(w http.ResponseWriter, _ *http.Request, body map[string]json.RawMessage) {
		close(under)
		<-end
		kit.Result(w, body, `{"content":[]}`)
	}
	var first *call.Refusal
	var done sync.WaitGroup
	done.Go(func() { _, first = f.Do(t.Context(), keyed(1)) })
	<-under
	_, refusal := f.Do(t.Context(), keyed(2))
	kit.WantReason(t, refusal, call.KeyInUse)
	if refusal.RetryAfter < 1 || refusal.MayHaveRun() != call.ImpactNone {
		t.Errorf("got %+v, want it to say when to try again", refusal)
	}
	k.change(func(r *idempotency.Record) { r.Until = time.Now().Add(-time.Second) })
	_, refusal = f.Do(t.Context(), keyed(3))
	kit.WantReason(t, refusal, call.OutcomeUnknown)
	if refusal.MayHaveRun() != call.ImpactUnknown {
		t.Errorf("effect %s, want unknown", refusal.MayHaveRun())
	}
	close(end)
	done.Wait()
	if _, refusal = f.Do(t.Context(), keyed(4)); first != nil || refusal != nil || f.Posts.Load() != 1 {
		t.Errorf("got %v, then %v after %d calls, want one outcome of one call", first, refusal, f.Posts.Load())
	}
}

func TestOfManyAtOnceOneRuns(t *testing.T) {
	f, _ := keeping(t, "", "")
	var done sync.WaitGroup
	for n := range 16 {
		done.Go(func() {
			if _, refusal := f.Do(t.Context(), keyed(n)); refusal != nil && refusal.Reason != call.KeyInUse {
				t.Errorf("got %v, want the outcome or %s", refusal, call.KeyInUse)
			}
		})
	}
	done.Wait()
	if got := f.Posts.Load(); got != 1 {
		t.Errorf("the server saw %d calls, want 1", got)
	}
}

func TestAnOutcomeThatWasNotKeptIsUnknown(t *testing.T) {
	large := func(f *kit.Relay, _ *keys) {
		replies(f, `"result":{"content":[],"x":"`+strings.Repeat("x", idempotency.MaxReply)+`"}`)
	}
	for name, test := range map[string]struct {
		before func(*kit.Relay, *keys)
		after  func(*keys)
		detail string
	}{
		"too large": {large, func(*keys) {}, "too large"},
		"not written": {func(_ *kit.Relay, k *keys) { k.failEnd = true }, func(k *keys) {
			k.change(func(r *idempotency.Record) { r.Until = time.Now().Add(-time.Second) })
		}, "did not end"},
		"not readable": {func(*kit.Relay, *keys) {}, func(k *keys) {
			k.change(func(r *idempotency.Record) { r.Reply = r.Reply[2:] })
		}, "cannot be read"},
		"cut": {func(*kit.Relay, *keys) {}, func(k *keys) {
			k.change(func(r *idempotency.Record) { r.Reply = []byte("{}\n") })
		}, "cannot be read"},
	} {
		t.Run(name, func(t *testing.T) {
			f, k := keeping(t, "", "")
			test.before(f, k)
			if answer, refusal := f.Do(t.Context(), keyed(1)); refusal != nil || len(answer.Result) == 0 {
				t.Fatalf("got %v, want the answer all the same", refusal)
			}
			test.after(k)
			answer, refusal := f.Do(t.Context(), keyed(2))
			kit.WantReason(t, refusal, call.OutcomeUnknown)
			if r := finals(t, f)[1]; !strings.Contains(r.Detail, test.detail) || r.RepeatOf != keyed(1).ID || answer.Result != nil {
				t.Errorf("record %+v, want a repeat whose detail says %q", r, test.detail)
			}
			if got := f.Posts.Load(); got != 1 {
				t.Errorf("the server saw %d calls, want 1", got)
			}
		})
	}
}

func TestAKeyThatCannotBeCheckedRefusesBeforeAnythingIsSent(t *testing.T) {
	for name, setup := range map[string]func(*kit.Relay, *keys){
		"the store is down":          func(_ *kit.Relay, k *keys) { k.failBegin = true },
		"the store was slow to fail": func(_ *kit.Relay, k *keys) { k.failBegin, k.late = true, true },
		"there is no store":          func(f *kit.Relay, _ *keys) { f.Keys = nil },
	} {
		t.Run(name, func(t *testing.T) {
			f, k := keeping(t, "", "")
			setup(f, k)
			_, refusal := f.Do(t.Context(), keyed(1))
			kit.WantReason(t, refusal, call.IdempotencyUnavailable)
			if f.Requests.Load() != 0 || refusal.MayHaveRun() != call.ImpactNone || len(k.all()) != 0 {
				t.Errorf("%d requests, effect %s, records %+v, want nothing of it", f.Requests.Load(), refusal.MayHaveRun(), k.all())
			}
			if r := f.Recorder.Only(t); r.Reason != call.IdempotencyUnavailable {
				t.Errorf("record %+v", r)
			}
			if down := strings.Contains(f.Log.String(), errDown.Error()); down != (f.Keys != nil) {
				t.Errorf("the log tells of the store: %v", down)
			}
		})
	}
}

func TestWhoMayNotCallAnyMoreIsNotToldWhatACallCameTo(t *testing.T) {
	f, _ := keeping(t, "", "")
	if _, refusal := f.Do(t.Context(), keyed(1)); refusal != nil {
		t.Fatal(refusal)
	}
	rule(t, f, "mcp.up.tool.change", "deny")
	answer, refusal := f.Do(t.Context(), keyed(2))
	kit.WantReason(t, refusal, call.DeniedByRule)
	if answer.Result != nil {
		t.Errorf("got %s, want nothing", answer.Result)
	}
}

func TestSecretsStayOutOfWhatIsKept(t *testing.T) {
	f, k := keeping(t, "", "")
	replies(f, `"result":{"content":[{"type":"text","text":"token-one-12345678"}]}`)
	if _, refusal := f.Do(t.Context(), keyed(1)); refusal != nil {
		t.Fatal(refusal)
	}
	if kept := k.all(); len(kept) != 1 || strings.Contains(string(kept[0].Reply), "token-one") || !strings.Contains(string(kept[0].Reply), "[redacted]") {
		t.Errorf("kept %+v, want the masked answer", kept)
	}
}

func TestEachRoundOfAQuestionRunsOnce(t *testing.T) {
	f, seen := asking(t, pass)
	f.Keys = &keys{kept: map[idempotency.Key]idempotency.Record{}}
	round := func(n int, state string) (string, string) {
		c := asked()
		if state != "" {
			c = answering(state)
		}
		c.ID, c.IdempotencyKey = keyed(n).ID, "key-1"
		answer, refusal := f.Do(t.Context(), c)
		if refusal != nil {
			t.Fatal(refusal)
		}
		return answer.State, answer.ResultType + string(answer.Result)
	}
	state, question := round(1, "")
	again, same := round(2, "")
	if again != state || same != question {
		t.Errorf("the repeat was asked %s, want %s", same, question)
	}
	_, result := round(3, state)
	if _, same := round(4, state); same != result || len(*seen) != 2 {
		t.Errorf("the server saw %d calls, the repeat got %s, want 2 and %s", len(*seen), same, result)
	}
}

func TestARunningKeyCountsAsLostWhenTheCallMustHaveEnded(t *testing.T) {
	for _, test := range []struct {
		keys    string
		caller  time.Duration // the caller's deadline, 0 for none
		atLeast time.Duration
		atMost  time.Duration
	}{
		{"", 0, 60 * time.Second, 70 * time.Second},
		{`,"request_timeout_ms":300000`, 0, 300 * time.Second, 310 * time.Second},
		{"", 30 * time.Second, 29 * time.Second, 40 * time.Second},
	} {
		f, k := keeping(t, test.keys, "")
		var lost time.Duration
		f.Answer = func(w http.ResponseWriter, _ *http.Request, body map[string]json.RawMessage) {
			lost = time.Until(k.all()[0].Until)
			kit.Result(w, body, `{"content":[]}`)
		}
		ctx := t.Context()
		if test.caller > 0 {
			var cancel context.CancelFunc
			ctx, cancel = context.WithTimeout(ctx, test.caller)
			defer cancel()
		}
		began := time.Now()
		if _, refusal := f.Do(ctx, keyed(1)); refusal != nil {
			t.Fatal(refusal)
		}
		if lost < test.atLeast-time.Since(began) || lost > test.atMost {
			t.Errorf("%s: counts as lost after %v, want %v to %v", test.keys, lost, test.atLeast, test.atMost)
		}
		if r := k.all()[0]; r.Expires.Sub(began) < idempotency.Lifetime || r.Expires.Sub(began) > idempotency.Lifetime+time.Minute {
			t.Errorf("the key is forgotten after %v, want a day", r.Expires.Sub(began))
		}
	}
}
