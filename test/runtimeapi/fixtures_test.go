package runtimeapi_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-lambda-go/events"
	"github.com/google/go-cmp/cmp"

	"mcprelay/test/runtimeapi"
)

// want is what an event of events/relay must come to.
type want struct {
	Status      int               `json:"status"`
	ContentType string            `json:"content_type"`
	Header      map[string]string `json:"header"` // at least these
	Body        json.RawMessage   `json:"body"`   // at least these members
	Audit       *ending           `json:"audit"`  // of the one record it leaves; null: none
	Calls       int               `json:"calls"`  // tool calls that upstreams see
	// Reaches is set where upstreams are asked for something else. Otherwise
	// an event without a call must not send a byte.
	Reaches bool `json:"reaches"`
	// PadBodyTo lengthens the body with spaces, so that no file holds 1 MiB.
	PadBodyTo int `json:"pad_body_to"`
}

type ending struct {
	Outcome string `json:"outcome"`
	Reason  string `json:"reason"`
}

const fixtures = "../../events/relay"

// cases lists the events, each without its .json.
func cases(t *testing.T) []string {
	t.Helper()
	files, err := filepath.Glob(fixtures + "/*.want.json")
	if err != nil || len(files) == 0 {
		t.Fatalf("there are no events: %v", err)
	}
	var names []string
	for _, file := range files {
		names = append(names, strings.TrimSuffix(filepath.Base(file), ".want.json"))
	}
	return names
}

// load reads an event and what it must come to; no field of it may be unknown.
func load(t *testing.T, name string) (events.APIGatewayProxyRequest, want) {
	t.Helper()
	var e events.APIGatewayProxyRequest
	var w want
	for file, into := range map[string]any{name + ".json": &e, name + ".want.json": &w} {
		text, err := os.ReadFile(filepath.Join(fixtures, file))
		if err != nil {
			t.Fatal(err)
		}
		decoder := json.NewDecoder(bytes.NewReader(text))
		decoder.DisallowUnknownFields()
		if err := decoder.Decode(into); err != nil {
			t.Fatalf("%s: %v", file, err)
		}
	}
	if w.PadBodyTo > 0 {
		e.Body += strings.Repeat(" ", w.PadBodyTo-len(e.Body))
	}
	return e, w
}

func TestEveryEventHasItsWant(t *testing.T) {
	files, err := filepath.Glob(fixtures + "/*.json")
	if err != nil {
		t.Fatal(err)
	}
	if len(files) != 2*len(cases(t)) {
		t.Errorf("%d files are not %d pairs", len(files), len(cases(t)))
	}
	for _, name := range cases(t) {
		load(t, name)
	}
}

// everyEvent sends each event to the real bootstrap and checks reply, record
// and upstreams.
func everyEvent(t *testing.T, w *world) {
	s := w.start(t, runtimeapi.Options{})
	for _, name := range cases(t) {
		t.Run(name, func(t *testing.T) {
			e, want := load(t, name)
			trail := w.records(t)
			requests, calls := w.reached()
			reply, err := s.InvokeEvent(t.Context(), e)
			if err != nil {
				t.Fatalf("invoking: %v\n%s", err, w.printed)
			}
			defer reply.Body.Close()
			body, err := io.ReadAll(reply.Body)
			if err != nil {
				t.Fatalf("reading the reply: %v\n%s", err, w.printed)
			}
			checkReply(t, want, reply, body)
			checkRecord(t, want, since(trail, w.records(t)))
			requestsAfter, callsAfter := w.reached()
			if got := callsAfter - calls; got != want.Calls {
				t.Errorf("upstreams saw %d calls, want %d", got, want.Calls)
			}
			if want.Calls == 0 && !want.Reaches && requestsAfter != requests {
				t.Errorf("upstreams saw %d requests, want none", requestsAfter-requests)
			}
		})
	}
	if hits := w.canary.Hits(); hits != 0 {
		t.Errorf("the canary on loopback was connected to %d times", hits)
	}
	if s.Starts() != 1 {
		t.Errorf("%d processes were needed, want 1", s.Starts())
	}
	s.Kill() // with it ends what it prints
	checkLines(t, w)
	if strings.Contains(w.printed.String(), storedSecret) || strings.Contains(w.printed.String(), callerToken) {
		t.Error("a credential was printed")
	}
}

// checkLines wants one canonical line for each record, and no other of a call
// that has ended.
func checkLines(t *testing.T, w *world) {
	t.Helper()
	var recorded, printed []string
	for _, r := range w.records(t) {
		recorded = append(recorded, fmt.Sprintf("%s %s %s", r.CallID, r.Outcome, r.Reason))
	}
	for line := range strings.Lines(w.printed.String()) {
		var l struct {
			Msg, State, Outcome, Reason string
			CallID                      string `json:"call_id"`
		}
		if err := json.Unmarshal([]byte(line), &l); err != nil {
			t.Errorf("a line that is not JSON was printed: %q", line)
		}
		if strings.Count(line, `"time":`) != 1 {
			t.Errorf("a line has another number of times than one: %s", line)
		}
		if l.Msg == "call" && l.State == "final" {
			printed = append(printed, fmt.Sprintf("%s %s %s", l.CallID, l.Outcome, l.Reason))
		}
	}
	slices.Sort(recorded)
	slices.Sort(printed)
	if diff := cmp.Diff(recorded, printed); diff != "" {
		t.Errorf("canonical lines (-recorded +printed):\n%s", diff)
	}
}

func checkReply(t *testing.T, want want, reply *runtimeapi.Reply, body []byte) {
	t.Helper()
	if reply.Status != want.Status || reply.Header.Get("Content-Type") != want.ContentType {
		t.Errorf("got %d %q, want %d %q; body %s", reply.Status, reply.Header.Get("Content-Type"), want.Status, want.ContentType, body)
	}
	for name, value := range want.Header {
		if got := reply.Header.Get(name); got != value {
			t.Errorf("header %s is %q, want %q", name, got, value)
		}
	}
	if difference := subset("body", decode(t, want.Body), decode(t, body)); difference != "" {
		t.Errorf("%s\nin %s", difference, body)
	}
}

func checkRecord(t *testing.T, want want, fresh []string) {
	t.Helper()
	var expected []string
	if want.Audit != nil {
		expected = []string{"final " + want.Audit.Outcome + " " + want.Audit.Reason}
	}
	if !slices.Equal(fresh, expected) {
		t.Errorf("left the records %q, want %q", fresh, expected)
	}
}

// decode reads JSON with its numbers as they are written.
func decode(t *testing.T, text []byte) any {
	t.Helper()
	var value any
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber()
	if err := decoder.Decode(&value); err != nil {
		t.Fatalf("%q is not JSON: %v", text, err)
	}
	return value
}

// subset says where got lacks something of want: a member, an element, a value.
func subset(at string, want, got any) string {
	switch want := want.(type) {
	case map[string]any:
		have, ok := got.(map[string]any)
		if !ok {
			return fmt.Sprintf("%s is %v, want an object", at, got)
		}
		for name, value := range want {
			member, ok := have[name]
			if !ok {
				return at + "." + name + " is missing"
			}
			if difference := subset(at+"."+name, value, member); difference != "" {
				return difference
			}
		}
		return ""
	case []any:
		have, ok := got.([]any)
		if !ok || len(have) != len(want) {
			return fmt.Sprintf("%s is %v, want %d elements", at, got, len(want))
		}
		for i := range want {
			if difference := subset(fmt.Sprintf("%s[%d]", at, i), want[i], have[i]); difference != "" {
				return difference
			}
		}
		return ""
	}
	if !reflect.DeepEqual(want, got) {
		return fmt.Sprintf("%s is %v, want %v", at, got, want)
	}
	return ""
}
