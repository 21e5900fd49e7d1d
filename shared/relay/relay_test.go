package relay_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"mcprelay/shared/audit"
	"mcprelay/shared/call"
	"mcprelay/test/kit"
)

func TestACallThatMayWriteIsRecordedBeforeAndAfter(t *testing.T) {
	for _, test := range []struct {
		tool, more string
		intents    int
	}{
		{"look", "", 0}, {"change", "", 1}, {"unclassified", "", 1}, {"look", `,"audit_intent":"all"`, 1},
	} {
		f := kit.New(t, "", test.more)
		f.Warm(t)
		if _, refusal := f.Do(t.Context(), kit.Call(test.tool)); refusal != nil {
			t.Fatalf("%s: %v", test.tool, refusal)
		}
		intents, finals := f.Recorder.Written()
		if intents != test.intents || finals != 1 {
			t.Errorf("%s%s: %d intents and %d finals, want %d and 1", test.tool, test.more, intents, finals, test.intents)
		}
		if lines := strings.Count(f.Log.String(), `"state":"final"`); lines != 1 {
			t.Errorf("%s: %d canonical lines, want 1", test.tool, lines)
		}
		if onLog := strings.Count(f.Log.String(), `"state":"intent"`); onLog != 1-test.intents {
			t.Errorf("%s: %d intent lines on the log, want %d", test.tool, onLog, 1-test.intents)
		}
	}
}

func TestWithoutARecordedIntentNothingIsSent(t *testing.T) {
	f := kit.New(t, "", "")
	f.Recorder.FailIntent = true
	_, refusal := f.Do(t.Context(), kit.Call("change"))
	kit.WantReason(t, refusal, call.AuditUnavailable)
	if got := f.Requests.Load(); got != 0 {
		t.Errorf("the upstream saw %d requests, want 0", got)
	}
	if refusal.MayHaveRun() != call.ImpactNone {
		t.Errorf("effect %s, want none", refusal.MayHaveRun())
	}
}

func TestAFinalThatCannotBeWrittenWithholdsNothing(t *testing.T) {
	f := kit.New(t, "", "")
	f.Warm(t)
	f.Recorder.FailFinal = true
	answer, refusal := f.Do(t.Context(), kit.Call("look"))
	if refusal != nil || string(answer.Result) == "" {
		t.Fatalf("got %v, %s, want the answer", refusal, answer.Result)
	}
	if got := f.Counts().Unwritten; got != 1 {
		t.Errorf("counted %d unwritten finals, want 1", got)
	}
	if log := f.Log.String(); !strings.Contains(log, "final_unwritten") || !strings.Contains(log, `"outcome":"answered"`) {
		t.Errorf("the log does not carry the final: %s", log)
	}
}

func TestTheFinalWaitsForTheReplyWhereTheTenantSaysSo(t *testing.T) {
	f := kit.New(t, "", `,"audit_final":"after"`)
	answer, refusal := f.Run(t.Context(), kit.Call("look"))
	if refusal != nil {
		t.Fatal(refusal)
	}
	if _, finals := f.Recorder.Written(); finals != 0 {
		t.Errorf("%d finals before the reply, want 0", finals)
	}
	answer.Settle()
	answer.Settle()
	if _, finals := f.Recorder.Written(); finals != 1 {
		t.Errorf("%d finals after settling twice, want 1", finals)
	}
}

func TestACallerWhoIsGoneStillLeavesAFinal(t *testing.T) {
	f := kit.New(t, "", "")
	ctx, cancel := context.WithCancel(t.Context())
	f.Answer = func(_ http.ResponseWriter, r *http.Request, _ map[string]json.RawMessage) {
		cancel()
		<-r.Context().Done()
	}
	_, refusal := f.Do(ctx, kit.Call("change"))
	kit.WantReason(t, refusal, call.Cancelled)
	if record := f.Recorder.Only(t); record.Reason != call.Cancelled || record.Effect != call.ImpactUnknown {
		t.Errorf("record %+v", record)
	}
}

func TestTooLittleTimeRefusesBeforeAnythingIsSent(t *testing.T) {
	f := kit.New(t, "", "")
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	_, refusal := f.Do(ctx, kit.Call("change"))
	kit.WantReason(t, refusal, call.NoTime)
	if f.Requests.Load() != 0 {
		t.Error("the upstream was reached")
	}
	if record := f.Recorder.Only(t); record.Outcome != call.Rejected || record.Reason != call.NoTime {
		t.Errorf("record %+v", record)
	}
}

func TestTheRequestTimeoutEndsACall(t *testing.T) {
	stall := func(_ http.ResponseWriter, r *http.Request, _ map[string]json.RawMessage) { <-r.Context().Done() }
	begin := func(w http.ResponseWriter, r *http.Request, body map[string]json.RawMessage) {
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = io.WriteString(w, ": working\n\n")
		w.(http.Flusher).Flush()
		stall(w, r, body)
	}
	for _, test := range []struct {
		answer kit.Answer
		want   call.Reason
	}{{stall, call.HeadTimeout}, {begin, call.CallTimeout}} {
		f := kit.New(t, `,"request_timeout_ms":300`, "")
		f.Answer = test.answer
		_, refusal := f.Do(t.Context(), kit.Call("change"))
		kit.WantReason(t, refusal, test.want)
		if refusal.MayHaveRun() != call.ImpactUnknown || f.Posts.Load() != 1 {
			t.Errorf("effect %s after %d POSTs, want unknown after 1", refusal.MayHaveRun(), f.Posts.Load())
		}
	}
}

func TestARegistrationThatCannotBeReadRefuses(t *testing.T) {
	f := kit.New(t, "", "")
	f.Registry.Err = errors.New("the store is down")
	_, refusal := f.Do(t.Context(), kit.Call("look"))
	kit.WantReason(t, refusal, call.PolicyUnavailable)
	if f.Requests.Load() != 0 {
		t.Error("the upstream was reached")
	}
}

func TestRefusalsOfThePolicyAreRecordedWithTheirRule(t *testing.T) {
	f := kit.New(t, "", "")
	_, refusal := f.Do(t.Context(), kit.Call("never"))
	kit.WantReason(t, refusal, call.DeniedByRule)
	if record := f.Recorder.Only(t); record.Rule != "mcp.up.tool.never" || record.Decision != call.Deny || record.Policy != call.PolicyNotRun {
		t.Errorf("record %+v", record)
	}
	if !refusal.Explain {
		t.Error("a file's tenant explains its refusals by default")
	}
}

func TestARejectedCredentialIsReadOnceMore(t *testing.T) {
	f := kit.New(t, "", "")
	reads := 0
	f.Secrets = func() (string, string) {
		if reads++; reads == 1 {
			return "token-one-12345678", "v1"
		}
		return "token-two-12345678", "v2"
	}
	f.Answer = func(w http.ResponseWriter, r *http.Request, body map[string]json.RawMessage) {
		if r.Header.Get("Authorization") != "Bearer token-two-12345678" {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		kit.Result(w, body, `{"content":["token-one-12345678 token-two-12345678"]}`)
	}
	answer, refusal := f.Do(t.Context(), kit.Call("look"))
	if refusal != nil {
		t.Fatal(refusal)
	}
	if text := string(answer.Result); strings.Contains(text, "token-") || strings.Count(text, "[redacted]") != 2 {
		t.Errorf("result %s, want both versions masked", text)
	}
	record := f.Recorder.Only(t)
	if f.Posts.Load() != 2 || record.Posts != 2 || !record.SecretRenewed || len(record.Secrets) != 2 || record.Secrets[1].Version != "v2" || record.Masked != 2 {
		t.Errorf("%d POSTs, record %+v", f.Posts.Load(), record)
	}
}

func TestTheSameCredentialIsNotTriedTwice(t *testing.T) {
	f := kit.New(t, "", "")
	f.Answer = func(w http.ResponseWriter, _ *http.Request, _ map[string]json.RawMessage) {
		w.WriteHeader(http.StatusUnauthorized)
	}
	_, refusal := f.Do(t.Context(), kit.Call("look"))
	kit.WantReason(t, refusal, call.UpstreamUnauthorized)
	if got := f.Posts.Load(); got != 1 {
		t.Errorf("%d POSTs, want 1", got)
	}
	if record := f.Recorder.Only(t); record.Status != 401 || record.SecretRenewed {
		t.Errorf("record %+v", record)
	}
}

func TestAResultThatAsksForInputIsRefused(t *testing.T) {
	f := kit.New(t, "", "")
	f.Answer = func(w http.ResponseWriter, _ *http.Request, body map[string]json.RawMessage) {
		kit.Result(w, body, `{"resultType":"input_required","inputRequests":{}}`)
	}
	_, refusal := f.Do(t.Context(), kit.Call("look"))
	kit.WantReason(t, refusal, call.InputRequired)
}

func TestAnswersAreToldApart(t *testing.T) {
	for reply, want := range map[string]call.Reason{
		`"result":{"content":[]}`:                         call.OK,
		`"result":{"content":[],"isError":true}`:          call.ToolError,
		`"error":{"code":-32602,"message":"no","data":1}`: call.RPCError,
	} {
		f := kit.New(t, "", "")
		f.Answer = func(w http.ResponseWriter, _ *http.Request, body map[string]json.RawMessage) {
			w.Header().Set("Content-Type", "application/json")
			_, _ = io.WriteString(w, `{"jsonrpc":"2.0","id":`+string(body["id"])+`,`+reply+`}`)
		}
		answer, refusal := f.Do(t.Context(), kit.Call("look"))
		if refusal != nil {
			t.Fatalf("%s: %v", reply, refusal)
		}
		record := f.Recorder.Only(t)
		if record.Reason != want || record.Outcome != call.Answered || record.Effect != call.ImpactDone {
			t.Errorf("%s: record %+v, want %s", reply, record, want)
		}
		if want == call.RPCError && (string(answer.Error) != `{"code":-32602,"message":"no","data":1}` || record.RPCCode != -32602) {
			t.Errorf("error %s, record %+v", answer.Error, record)
		}
	}
}

func TestArgumentsAreRecordedMaskedOrNotAtAll(t *testing.T) {
	c := kit.Call("look")
	c.Arguments = json.RawMessage(`{"leak":"token-one-12345678"}`)
	for mode, check := range map[string]func(audit.Record) bool{
		"preview": func(r audit.Record) bool { return r.ArgumentsPreview == `{"leak":"[redacted]"}` },
		"digest":  func(r audit.Record) bool { return r.ArgumentsPreview == "" && len(r.ArgumentsDigest) == 64 },
		"none":    func(r audit.Record) bool { return r.ArgumentsPreview == "" && r.ArgumentsDigest == "" },
	} {
		f := kit.New(t, "", `,"audit_arguments":"`+mode+`"`)
		if _, refusal := f.Do(t.Context(), c); refusal != nil {
			t.Fatal(refusal)
		}
		if record := f.Recorder.Only(t); !check(record) || record.ArgumentsBytes != len(c.Arguments) {
			t.Errorf("%s: record %+v", mode, record)
		}
	}
	f := kit.New(t, "", "")
	f.Secrets = func() (string, string) { return "", "" }
	_, refusal := f.Do(t.Context(), c)
	kit.WantReason(t, refusal, call.SecretMissing)
	if record := f.Recorder.Only(t); record.ArgumentsPreview != "" || record.ArgumentsDigest == "" {
		t.Errorf("what could not be masked is previewed: %+v", record)
	}
}

func TestAPanicIsAFinalAndKeepsItsValue(t *testing.T) {
	f := kit.New(t, "", "")
	f.Recorder.PanicIntent = "a secret value"
	_, refusal := f.Do(t.Context(), kit.Call("change"))
	kit.WantReason(t, refusal, call.Internal)
	record := f.Recorder.Only(t)
	if record.Reason != call.Internal || strings.Contains(record.Detail+f.Log.String(), "a secret value") {
		t.Errorf("record %+v, log %s", record, f.Log)
	}
}

func TestWhatARefusalSaysIsMaskedEverywhere(t *testing.T) {
	f := kit.New(t, "", "")
	f.Answer = func(w http.ResponseWriter, _ *http.Request, _ map[string]json.RawMessage) {
		http.Error(w, "bad token: token-one-12345678", http.StatusInternalServerError)
	}
	_, refusal := f.Do(t.Context(), kit.Call("look"))
	kit.WantReason(t, refusal, call.UpstreamStatus)
	if said := refusal.Error() + f.Recorder.Only(t).Detail + f.Log.String(); strings.Contains(said, "token-one") {
		t.Errorf("the credential is quoted: %s", said)
	}
}

func TestACredentialThatIsCutIsMaskedFirst(t *testing.T) {
	f := kit.New(t, "", "")
	f.Secrets = func() (string, string) { return strings.Repeat("0123456789", 5), "v1" }
	f.Answer = func(w http.ResponseWriter, _ *http.Request, _ map[string]json.RawMessage) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, "junk junk junk "+strings.Repeat("0123456789", 5)+" more")
	}
	_, refusal := f.Do(t.Context(), kit.Call("look"))
	if refusal == nil || !strings.Contains(refusal.Detail, `"junk junk junk [redacted]`) || strings.Contains(refusal.Detail, "0123") {
		t.Errorf("got %v", refusal)
	}
	if record := f.Recorder.Only(t); record.Detail != refusal.Detail {
		t.Errorf("recorded %q", record.Detail)
	}
}

func TestAnOldServersWishForInputIsRefusedToo(t *testing.T) {
	f := kit.New(t, "", "")
	f.Answer = func(w http.ResponseWriter, _ *http.Request, body map[string]json.RawMessage) {
		if string(body["method"]) == `"initialize"` {
			kit.Result(w, body, `{"protocolVersion":"2025-11-25","capabilities":{},"serverInfo":{"name":"s","version":"1"}}`)
			return
		}
		kit.Result(w, body, `{"resultType":"input_required","inputRequests":{}}`)
	}
	f.Legacy = true
	_, refusal := f.Do(t.Context(), kit.Call("look"))
	kit.WantReason(t, refusal, call.InputRequired)
}

func TestARedirectsHostIsMasked(t *testing.T) {
	f := kit.New(t, "", "")
	f.Answer = func(w http.ResponseWriter, _ *http.Request, _ map[string]json.RawMessage) {
		w.Header().Set("Location", "https://token-one-12345678.evil.example.com/")
		w.WriteHeader(http.StatusSeeOther)
	}
	_, refusal := f.Do(t.Context(), kit.Call("change"))
	kit.WantReason(t, refusal, call.Redirect)
	if record := f.Recorder.Only(t); record.Location != "[redacted].evil.example.com" || record.Effect != call.ImpactUnknown {
		t.Errorf("record %+v", record)
	}
}

func TestNamesThatNoToolMayHaveAreRefused(t *testing.T) {
	f := kit.New(t, "", "")
	for _, name := range []string{"look\x00", "look\xff", "\x1b]0;x\a", " look", "look ", strings.Repeat("a", 129)} {
		_, refusal := f.Do(t.Context(), kit.Call(name))
		kit.WantReason(t, refusal, call.UnknownTool)
	}
	if f.Requests.Load() != 0 {
		t.Error("the upstream was reached")
	}
}

func TestWhatTheRegistrationSaysOfAToolIsRecorded(t *testing.T) {
	f := kit.New(t, `,"budget_classes":{"look":"data.read"},"policy_metadata":{"look":{"owner":"docs"}}`, "")
	if _, refusal := f.Do(t.Context(), kit.Call("look")); refusal != nil {
		t.Fatal(refusal)
	}
	if record := f.Recorder.Only(t); record.BudgetClass != "data.read" || string(record.PolicyMetadata) != `{"owner":"docs"}` {
		t.Errorf("record %+v", record)
	}
}

func TestWhyAStoreFailedIsLogged(t *testing.T) {
	f := kit.New(t, "", "")
	f.Registry.Err = errors.New("AccessDenied on the registry")
	_, refusal := f.Do(t.Context(), kit.Call("look"))
	kit.WantReason(t, refusal, call.PolicyUnavailable)
	if !strings.Contains(f.Log.String(), "AccessDenied on the registry") {
		t.Errorf("the log does not say why: %s", f.Log)
	}
	if strings.Contains(refusal.Detail, "AccessDenied") {
		t.Errorf("the refusal shows it: %s", refusal.Detail)
	}
}
