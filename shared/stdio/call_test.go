package stdio_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"mcprelay/shared/call"
	"mcprelay/shared/stdio"
	"mcprelay/shared/wire"
)

func TestArgumentsAndResultsTravelAsTheBytesTheyCameAs(t *testing.T) {
	for _, arguments := range []string{
		`{"n":9007199254740993,"f":1.0,"e":1e2,"z":-0}`,
		`{"b":1,"a":"<&>\u00e9\/","deep":{"x":[[],{}]}}`,
		`{ "spaces" :  true }`,
	} {
		p := newPool(t, nil)
		for _, era := range []string{"modern", "legacy"} {
			r := ask(scripted(script{Era: era}), "echo")
			r.Key, r.Arguments = era, json.RawMessage(arguments)
			want := `{"content":[],"structuredContent":` + arguments + `}`
			if got := string(result(t, p, r).Result); got != want {
				t.Errorf("%s: got %s, want %s", era, got, want)
			}
		}
	}
}

func TestLineEndsBetweenTokensBecomeBlanks(t *testing.T) {
	p := newPool(t, nil)
	r := ask(scripted(script{}), "echo")
	r.Arguments = json.RawMessage("{\n\t\"a\": \"x\\ny\",\r\n\"b\": 1\n}")
	want := "{\"content\":[],\"structuredContent\":{ \t\"a\": \"x\\ny\",  \"b\": 1 }}"
	if got := string(result(t, p, r).Result); got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestAChildIsStartedOnceAndReused(t *testing.T) {
	p := newPool(t, nil)
	r := ask(scripted(script{Era: "legacy"}), "echo")
	first, second := result(t, p, r), result(t, p, r)
	want := stdio.Facts{Era: stdio.Legacy, Version: "2025-11-25", Offers: call.Announced | call.OffersTools, Session: stdio.SessionNew, Requests: 1, PID: first.Facts.PID}
	if diff := cmp.Diff(want, first.Facts, cmpopts.IgnoreFields(stdio.Facts{}, "BytesIn", "BytesOut")); diff != "" {
		t.Errorf("the first call's facts (-want +got):\n%s", diff)
	}
	want.Session = stdio.SessionReused
	if diff := cmp.Diff(want, second.Facts, cmpopts.IgnoreFields(stdio.Facts{}, "BytesIn", "BytesOut")); diff != "" {
		t.Errorf("the second call's facts (-want +got):\n%s", diff)
	}
	if got, want := methodsOf(t, p, r), "server/discover initialize notifications/initialized tools/call tools/call tools/call"; got != want {
		t.Errorf("the child was sent %s, want %s", got, want)
	}
	if second.Facts.BytesOut >= first.Facts.BytesOut || second.Facts.BytesIn == 0 || second.Facts.BytesIn >= first.Facts.BytesIn {
		t.Errorf("bytes: first %+v, second %+v", first.Facts, second.Facts)
	}
}

// TestAResponseIsTheOneWithOurID has the server say things around its answer.
func TestAResponseIsTheOneWithOurID(t *testing.T) {
	answer := `{"jsonrpc":"2.0","id":$ID,"result":{"content":[],"mine":true}}`
	tests := map[string]struct {
		lines []string
		facts stdio.Facts
	}{
		"alone":                   {lines: []string{answer}},
		"as a string":             {lines: []string{strings.ReplaceAll(answer, "$ID", `"$ID"`)}},
		"as a float":              {lines: []string{strings.ReplaceAll(answer, "$ID", `$ID.0`)}},
		"after another's":         {lines: []string{`{"jsonrpc":"2.0","id":4711,"result":{"content":[]}}`, `{"jsonrpc":"2.0","id":"x","error":{"code":1,"message":"m"}}`, answer}},
		"after requests":          {lines: []string{`{"jsonrpc":"2.0","id":1,"method":"sampling/createMessage","params":{}}`, `{"jsonrpc":"2.0","id":$ID,"method":"ping"}`, answer}, facts: stdio.Facts{ServerRequests: 2}},
		"after notifications":     {lines: []string{`{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}`, answer}, facts: stdio.Facts{Notifications: 1}},
		"after blank lines":       {lines: []string{"", "  \r", answer + "\r"}},
		"after words":             {lines: []string{"ready!", "[1] \x1b[31mred\x1b[0m", "\xff\xfe", `{"level":"info"}`, answer}, facts: stdio.Facts{Skipped: 4}},
		"with a byte order mark":  {lines: []string{"\ufeff" + answer}},
		"with blanks around":      {lines: []string{"  " + answer + "\t"}},
		"before another's answer": {lines: []string{answer, `{"jsonrpc":"2.0","id":4711,"result":{}}`}},
	}
	p := newPool(t, nil)
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			r := ask(scripted(script{}), "raw")
			r.Arguments, _ = json.Marshal(map[string][]string{"Lines": tt.lines})
			reply := result(t, p, r)
			if !strings.Contains(string(reply.Result), `"mine":true`) {
				t.Errorf("got the result %s, want the one with our id", reply.Result)
			}
			got := stdio.Facts{ServerRequests: reply.Facts.ServerRequests, Notifications: reply.Facts.Notifications, Skipped: reply.Facts.Skipped}
			if diff := cmp.Diff(tt.facts, got); diff != "" {
				t.Errorf("facts (-want +got):\n%s", diff)
			}
		})
	}
	if got := methodsOf(t, p, ask(scripted(script{}), "")); strings.Contains(got, "sampling") || strings.Count(got, " ") != len(tests)+1 {
		t.Errorf("the child was sent %s: something was answered", got)
	}
}

func TestWhatTheServerSaysOfItsResultIsPassedOn(t *testing.T) {
	p := newPool(t, nil)
	r := ask(scripted(script{}), "raw")
	r.Arguments = json.RawMessage(`{"Lines":["{\"jsonrpc\":\"2.0\",\"id\":$ID,\"result\":{\"content\":[{\"type\":\"zzz\"}],\"isError\":true,\"resultType\":\"input_required\"}}"]}`)
	reply := result(t, p, r)
	if !reply.IsError || reply.ResultType != "input_required" || !strings.Contains(string(reply.Result), `"type":"zzz"`) {
		t.Errorf("got %+v", reply)
	}
	failed, err := p.Call(within(t), ask(scripted(script{}), "nothing"))
	if err != nil || failed.Error == nil || failed.Result != nil {
		t.Fatalf("got %+v, error %v, want the server's own error", failed, err)
	}
	if failed.Error.Code != -32602 || string(failed.Error.Data) != `{"tool":9007199254740993}` {
		t.Errorf("got code %d and data %s", failed.Error.Code, failed.Error.Data)
	}
}

func TestNotificationsAboutThisRequestReachTheSink(t *testing.T) {
	p := newPool(t, nil)
	r := ask(scripted(script{}), "raw")
	r.Meta = json.RawMessage(`{"progressToken":"7"}`)
	progress := `{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":%s,"progress":%d}}`
	r.Arguments, _ = json.Marshal(map[string][]string{"Lines": {
		fmt.Sprintf(progress, `"7"`, 1), fmt.Sprintf(progress, `8`, 2), fmt.Sprintf(progress, `7`, 3),
		`{"jsonrpc":"2.0","method":"notifications/message","params":{"progressToken":"7"}}`,
		`{"jsonrpc":"2.0","id":$ID,"result":{}}`,
	}})
	var got, methods []string
	r.Notify = func(method string, params json.RawMessage) {
		got, methods = append(got, string(params)), append(methods, method)
	}
	reply := result(t, p, r)
	want := []string{`{"progressToken":"7","progress":1}`, `{"progressToken":"7","progress":3}`, `{"progressToken":"7"}`}
	if diff := cmp.Diff(want, got); diff != "" || reply.Facts.Notifications != 4 {
		t.Errorf("%d notifications, handed on (-want +got):\n%s", reply.Facts.Notifications, diff)
	}
	if diff := cmp.Diff([]string{wire.NoticeProgress, wire.NoticeProgress, wire.NoticeLog}, methods); diff != "" {
		t.Errorf("methods (-want +got):\n%s", diff)
	}
	r.Meta = nil
	r.Notify = func(method string, _ json.RawMessage) {
		if method != wire.NoticeLog {
			t.Error("progress that nobody asked for")
		}
	}
	result(t, p, r)
}

func TestCallsOfOneKeyAreServedOneAtATime(t *testing.T) {
	p := newPool(t, nil)
	pids := make([]int, 100)
	var wg sync.WaitGroup
	for i := range pids {
		wg.Go(func() {
			r := ask(scripted(script{}), "echo")
			r.Arguments = json.RawMessage(fmt.Sprintf(`{"i":%d,"pad":%q}`, i, strings.Repeat("x", i*50)))
			reply, err := p.Call(within(t), r)
			if err != nil || !strings.Contains(string(reply.Result), fmt.Sprintf(`{"i":%d,`, i)) {
				t.Errorf("call %d: got %.60s, error %v", i, reply.Result, err)
			}
			pids[i] = reply.Facts.PID
		})
	}
	wg.Wait()
	for i, pid := range pids {
		if pid != pids[0] {
			t.Errorf("call %d went to process %d, call 0 to %d", i, pid, pids[0])
		}
	}
}

func TestTwoKeysNeverShareAChild(t *testing.T) {
	p := newPool(t, nil)
	owners := map[int]string{}
	for range 3 {
		for _, key := range []string{"R#a", "R#b", "R#c"} {
			r := ask(scripted(script{}), "facts")
			r.Key = key
			pid := factsOf(t, p, r).PID
			if owner, ok := owners[pid]; ok && owner != key {
				t.Errorf("%s and %s share process %d", owner, key, pid)
			}
			owners[pid] = key
		}
	}
	if len(owners) != 3 {
		t.Errorf("3 keys had %d processes", len(owners))
	}
}

func TestARequestThatIsNoneIsRefused(t *testing.T) {
	p := newPool(t, nil)
	good := ask(scripted(script{}), "echo")
	for name, change := range map[string]func(*stdio.Request){
		"no key":            func(r *stdio.Request) { r.Key = "" },
		"no tool":           func(r *stdio.Request) { r.Tool = "" },
		"another operation": func(r *stdio.Request) { r.Operation = call.OperationDiscover },
	} {
		r := good
		change(&r)
		got, facts := refused(t, within(t), p, r)
		if got.Reason != call.Internal || facts.PID != 0 {
			t.Errorf("%s: got %v, process %d", name, got, facts.PID)
		}
	}
	r := good
	r.Meta = json.RawMessage(`[]`)
	got, _ := refused(t, within(t), p, r)
	want(t, got, call.BadParams, call.ImpactNone)
}
