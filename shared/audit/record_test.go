package audit_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"io"
	"log/slog"
	"reflect"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"mcprelay/shared/audit"
	"mcprelay/shared/call"
)

// full is a record with every field set, made by reflection so that a field
// added later is covered.
func full(t *testing.T) audit.Record {
	t.Helper()
	var r audit.Record
	v := reflect.ValueOf(&r).Elem()
	for i := range v.NumField() {
		switch field := v.Field(i); field.Kind() {
		case reflect.String:
			field.SetString("x" + v.Type().Field(i).Name)
		case reflect.Int, reflect.Int64:
			field.SetInt(int64(i + 1))
		case reflect.Float64:
			field.SetFloat(1.5)
		case reflect.Bool:
			field.SetBool(true)
		case reflect.Slice:
			switch field.Type().Elem().Kind() {
			case reflect.String:
				field.Set(reflect.ValueOf([]string{"because"}))
			case reflect.Uint8:
				field.Set(reflect.ValueOf(json.RawMessage(`{"owner":"docs"}`)))
			default:
				field.Set(reflect.MakeSlice(field.Type(), 1, 1))
				item := field.Index(0)
				item.Field(0).SetString("docs")
				item.Field(1).SetString("7")
			}
		case reflect.Struct:
			field.Set(reflect.ValueOf(time.Date(2026, 11, 30, 1, 2, 3, 0, time.UTC)))
		default:
			t.Fatalf("field %s has a kind the log line does not know", v.Type().Field(i).Name)
		}
	}
	return r
}

func TestTheLogLineHasTheNamesOfTheRecord(t *testing.T) {
	r := full(t)
	var out bytes.Buffer
	mustLog(t, &out, r)
	var line, record map[string]any
	if err := json.Unmarshal(out.Bytes(), &line); err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(text, &record); err != nil {
		t.Fatal(err)
	}
	for name, value := range record {
		if !reflect.DeepEqual(line[name], value) {
			t.Errorf("line has %s = %v, want %v", name, line[name], value)
		}
	}
	if got := strings.Count(out.String(), `"time":`); got != 1 {
		t.Errorf("the line has %d keys named time, want 1: %s", got, out.String())
	}
	if line["msg"] != audit.Message || strings.Count(out.String(), "\n") != 1 {
		t.Errorf("got %q, want one line with msg %q", out.String(), audit.Message)
	}
}

func TestTheLogLineAlwaysHasItsFixedKeys(t *testing.T) {
	var out bytes.Buffer
	mustLog(t, &out, audit.Record{})
	for _, key := range []string{"call_id", "time", "agent", "server", "tool", "about", "policy", "rule", "decision", "outcome", "reason", "duration_ms"} {
		if !strings.Contains(out.String(), `"`+key+`":`) {
			t.Errorf("line %s lacks %s", out.String(), key)
		}
	}
}

func TestALineAllocatesNothing(t *testing.T) {
	r := full(t)
	for name, w := range map[string]io.Writer{"discarded": nil, "written": new(forgetful)} {
		log := audit.NewLog(w, 0)
		if got := testing.AllocsPerRun(100, func() { _ = log.Record(&r) }); got != 0 {
			t.Errorf("%s: got %v allocations, want 0", name, got)
		}
	}
}

// forgetful is a log that nobody keeps.
type forgetful struct{}

func (*forgetful) Write(p []byte) (int, error) { return len(p), nil }

func mustLog(t *testing.T, w io.Writer, r audit.Record) {
	t.Helper()
	if err := audit.NewLog(w, 0).Record(&r); err != nil {
		t.Fatal(err)
	}
}

// torn notices writes that are not whole lines.
type torn struct{ lines atomic.Int64 }

func (l *torn) Write(p []byte) (int, error) {
	if bytes.Count(p, []byte("\n")) == 1 && p[len(p)-1] == '\n' {
		l.lines.Add(1)
	}
	return len(p), nil
}

func TestLinesOfEveryKindAreWholeWrites(t *testing.T) {
	var out torn
	log := audit.NewLog(&out, 0)
	other := slog.New(slog.NewJSONHandler(log, nil))
	var writers sync.WaitGroup
	for range 8 {
		writers.Go(func() {
			for range 50 {
				_ = log.Record(&audit.Record{CallID: "1", Detail: "a\nb"})
				other.Info("failed", "error", "a\nb")
			}
		})
	}
	writers.Wait()
	if got := out.lines.Load(); got != 800 {
		t.Errorf("got %d whole lines, want 800", got)
	}
}

func TestTextsOfEveryKindComeBack(t *testing.T) {
	for in, want := range map[string]string{
		"plain": "plain", "<&>": "<&>", `"\`: `"\`, "a\x00\x1f\x7f\n\r\tb": "a\x00\x1f\x7f\n\r\tb", "é\u2028\u2029😀": "é\u2028\u2029😀",
		"a\xffb\xc3": "a\uFFFDb\uFFFD",
	} {
		var back audit.Record
		text := (&audit.Record{Detail: in}).AppendJSON(nil)
		if err := json.Unmarshal(text, &back); err != nil || back.Detail != want {
			t.Errorf("%q: got %q, %v from %s", in, back.Detail, err, text)
		}
		if bytes.ContainsAny(text, "\x00\x1f\x7f\n\r\t\u2028\u2029") || !utf8.Valid(text) {
			t.Errorf("%q: a raw control character in %s", in, text)
		}
	}
}

func TestARecordComesBackWhole(t *testing.T) {
	want := full(t)
	text, err := json.Marshal(want)
	if err != nil {
		t.Fatal(err)
	}
	var got audit.Record
	if err := json.Unmarshal(text, &got); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("a record through JSON (-want +got):\n%s", diff)
	}
}

func theCall() call.Call {
	return call.Call{
		ID: "01J", At: time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC),
		Principal: call.Principal{Tenant: "acme", Subject: "ci", Kind: call.KindUser, KeyID: "abcd1234", TokenIssuer: "https://id.example.com"},
		Operation: call.OperationToolsCall, Server: "docs", Tool: "find", Arguments: json.RawMessage(`{"q":1}`),
	}
}

func TestARecordFollowsItsCall(t *testing.T) {
	r := audit.Begin(theCall())
	if r.State != audit.StateIntent || r.Policy != call.PolicyNotRun || r.About != "find" || r.ArgumentsBytes != 7 {
		t.Errorf("begun record: %+v", r)
	}
	r.Decide("search", call.Decision{Verdict: call.Allow, Rule: "mcp.docs.tool.*", Effect: call.EffectRead})
	if r.Tool != "search" || r.About != "search" || r.Decision != call.Allow || r.Policy != call.PolicyNotRun || r.ToolEffect != call.EffectRead {
		t.Errorf("decided record: %+v", r)
	}
	r.Answer(call.ToolError)
	r.Finish(r.Time.Add(1500 * time.Microsecond))
	if r.State != audit.StateFinal || r.Outcome != call.Answered || r.Reason != call.ToolError || r.Effect != call.ImpactDone || r.DurationMS != 1.5 {
		t.Errorf("finished record: %+v", r)
	}
}

func TestARefusalIsRecordedWithItsRow(t *testing.T) {
	r := audit.Begin(theCall())
	refusal := call.Refuse(call.UpstreamStatus, "%s", strings.Repeat("é", audit.MaxDetail))
	refusal.Status, refusal.Impact = 503, call.ImpactNone
	r.Refuse(refusal)
	if r.Outcome != call.NoAnswer || r.Stage != call.StageCall || r.Status != 503 || r.Effect != call.ImpactNone {
		t.Errorf("refused record: %+v", r)
	}
	if len(r.Detail) > audit.MaxDetail+len("…") || !utf8.ValidString(r.Detail) || !strings.HasSuffix(r.Detail, "…") {
		t.Errorf("detail of %d bytes is not cut at a rune border and marked", len(r.Detail))
	}
}

func TestArgumentsAreKeptAsTheTenantWants(t *testing.T) {
	arguments := json.RawMessage(`{"key":"hunter22"}`)
	mask := func(b []byte, _ int) []byte { return bytes.ReplaceAll(b, []byte("hunter22"), []byte("[redacted]")) }
	digest := sha256.Sum256(arguments)
	for _, test := range []struct{ mode, preview, digest string }{
		{"preview", `{"key":"[redacted]"}`, ""},
		{"digest", "", hex.EncodeToString(digest[:])},
		{"none", "", ""},
	} {
		r := audit.Begin(theCall())
		r.Arguments(arguments, test.mode, mask)
		if r.ArgumentsPreview != test.preview || r.ArgumentsDigest != test.digest {
			t.Errorf("%s: preview %q, digest %q", test.mode, r.ArgumentsPreview, r.ArgumentsDigest)
		}
	}
	r := audit.Begin(theCall())
	r.Arguments(json.RawMessage(`"`+strings.Repeat("a", 4000)+`"`), "preview", func(b []byte, n int) []byte { return b[:n] })
	if len(r.ArgumentsPreview) > audit.MaxPreview+len("…") {
		t.Errorf("preview of %d bytes is not cut", len(r.ArgumentsPreview))
	}
}

func TestAPageIsBounded(t *testing.T) {
	for limit, want := range map[int]int{-1: 100, 0: 100, 5: 5, audit.MaxPage + 1: audit.MaxPage} {
		if got := (audit.Filter{Limit: limit}).PageSize(); got != want {
			t.Errorf("limit %d gives a page of %d, want %d", limit, got, want)
		}
	}
}

// writes keeps what each write holds.
type writes struct {
	mu  sync.Mutex
	all []string
}

func (w *writes) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.all = append(w.all, string(p))
	return len(p), nil
}

func (w *writes) lines() []int {
	w.mu.Lock()
	defer w.mu.Unlock()
	var counts []int
	for _, text := range w.all {
		counts = append(counts, strings.Count(text, "\n"))
	}
	return counts
}

func TestLinesThatMayWaitAreWrittenWithTheNext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out writes
		log := audit.NewLog(&out, time.Second)
		log.Later(&audit.Record{CallID: "1"})
		log.Later(&audit.Record{CallID: "2"})
		if got := out.lines(); got != nil {
			t.Errorf("written at once: %v", got)
		}
		if err := log.Record(&audit.Record{CallID: "3"}); err != nil {
			t.Fatal(err)
		}
		log.Later(&audit.Record{CallID: "4"})
		time.Sleep(2 * time.Second) // arch:allow sleeps: the bubble's clock moves it
		synctest.Wait()
		log.Later(&audit.Record{CallID: "5"})
		if err := log.Close(); err != nil {
			t.Fatal(err)
		}
		log.Later(&audit.Record{CallID: "6"})
		if diff := cmp.Diff([]int{3, 1, 1, 1}, out.lines()); diff != "" {
			t.Errorf("lines of each write (-want +got):\n%s", diff)
		}
		for i, id := range []string{"1", "2", "3", "4", "5", "6"} {
			if line := strings.Split(strings.Join(out.all, ""), "\n")[i]; !strings.Contains(line, `"call_id":"`+id+`"`) {
				t.Errorf("line %d is %s, want call %s", i, line, id)
			}
		}
	})
}

func TestWaitingLinesAreBounded(t *testing.T) {
	var out writes
	log := audit.NewLog(&out, time.Hour)
	defer log.Close()
	for range 1000 {
		log.Later(&audit.Record{Detail: strings.Repeat("x", 500)})
	}
	if got := len(out.lines()); got < 5 {
		t.Errorf("%d writes of half a MiB of lines, want some", got)
	}
}
