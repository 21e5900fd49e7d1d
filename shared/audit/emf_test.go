package audit_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"mcprelay/shared/audit"
	"mcprelay/shared/call"
)

// ended is the record of a call that was answered.
func ended() audit.Record {
	return audit.Record{
		State: audit.StateFinal, CallID: "01JDXW7Z2M8Q4T6V9B3C5D7F1G", Tenant: "acme", Agent: "ci",
		Time:   time.Date(2026, 11, 30, 10, 0, 0, 250_000_000, time.UTC),
		Server: "docs", Tool: "search", About: "search", Operation: call.OperationToolsCall, Policy: call.PolicyNotRun,
		Rule: "mcp.docs.tool.*", Decision: call.Allow, Outcome: call.Answered, Reason: call.OK, Stage: call.StageFinal,
		Effect: call.ImpactDone, DurationMS: 12.5, BytesOut: 300, BytesIn: 4096,
	}
}

// published is the lines that Publish writes, and how many writes it took.
func published(t *testing.T, r audit.Record) (lines []string, writes int) {
	t.Helper()
	var out counting
	if err := audit.Publish(&out, r); err != nil {
		t.Fatalf("publishing: %v", err)
	}
	return strings.Split(strings.TrimSuffix(out.String(), "\n"), "\n"), out.writes
}

type counting struct {
	bytes.Buffer
	writes int
}

func (c *counting) Write(p []byte) (int, error) { c.writes++; return c.Buffer.Write(p) }

func TestAFinalIsOneCanonicalLineAndOneOfMetrics(t *testing.T) {
	lines, writes := published(t, ended())
	want := []string{
		`{"level":"INFO","msg":"call","state":"final","call_id":"01JDXW7Z2M8Q4T6V9B3C5D7F1G","tenant":"acme","time":"2026-11-30T10:00:00.25Z",` +
			`"agent":"ci","server":"docs","tool":"search","about":"search","policy":"not_run","rule":"mcp.docs.tool.*","decision":"allow",` +
			`"outcome":"answered","reason":"ok","duration_ms":12.5,"operation":"tools/call","stage":"final","effect":"done","bytes_out":300,"bytes_in":4096}`,
		`{"_aws":{"Timestamp":1796032800250,"CloudWatchMetrics":[{"Namespace":"mcprelay","Dimensions":[["outcome"]],"Metrics":[` +
			`{"Name":"calls","Unit":"Count"},{"Name":"duration_ms","Unit":"Milliseconds"},{"Name":"bytes_out","Unit":"Bytes"},{"Name":"bytes_in","Unit":"Bytes"}]}]},` +
			`"outcome":"answered","calls":1,"duration_ms":12.5,"bytes_out":300,"bytes_in":4096,` +
			`"call_id":"01JDXW7Z2M8Q4T6V9B3C5D7F1G","tenant":"acme","server":"docs","tool":"search","operation":"tools/call","reason":"ok"}`,
	}
	if diff := cmp.Diff(want, lines); diff != "" || writes != 1 {
		t.Errorf("got %d writes, want 1; lines (-want +got):\n%s", writes, diff)
	}
}

func TestAnIntentIsNotCounted(t *testing.T) {
	r := ended()
	r.State, r.Outcome, r.Reason = audit.StateIntent, "", ""
	lines, _ := published(t, r)
	if len(lines) != 1 || !strings.Contains(lines[0], `"state":"intent"`) || strings.Contains(lines[0], "_aws") {
		t.Errorf("got %q, want the canonical line alone", lines)
	}
}

func TestEveryMetricNamesAMemberOfItsLine(t *testing.T) {
	lines, _ := published(t, ended())
	var line map[string]json.RawMessage
	var head struct {
		AWS struct {
			CloudWatchMetrics []struct {
				Dimensions [][]string
				Metrics    []struct{ Name, Unit string }
			}
		} `json:"_aws"`
	}
	for _, into := range []any{&line, &head} {
		if err := json.Unmarshal([]byte(lines[1]), into); err != nil {
			t.Fatal(err)
		}
	}
	for _, m := range head.AWS.CloudWatchMetrics[0].Metrics {
		var number float64
		if err := json.Unmarshal(line[m.Name], &number); err != nil {
			t.Errorf("metric %s has the value %s, want a number", m.Name, line[m.Name])
		}
	}
	for _, d := range head.AWS.CloudWatchMetrics[0].Dimensions {
		if diff := cmp.Diff([]string{"outcome"}, d); diff != "" {
			t.Errorf("dimensions (-want +got):\n%s", diff)
		}
	}
}

func TestTheDimensionStaysInItsClosedSet(t *testing.T) {
	seen := map[string]bool{}
	outcomes := []call.Outcome{"", "anything", "ANSWERED"}
	for _, row := range call.Reasons() {
		outcomes = append(outcomes, row.Outcome)
	}
	for _, outcome := range outcomes {
		r := ended()
		r.Outcome, r.Server, r.Tool = outcome, "s-"+string(outcome), "t-"+string(outcome)
		lines, _ := published(t, r)
		var line struct{ Outcome string }
		if err := json.Unmarshal([]byte(lines[1]), &line); err != nil {
			t.Fatal(err)
		}
		seen[line.Outcome] = true
	}
	want := map[string]bool{"answered": true, "refused_by_policy": true, "refused_by_address": true, "redirected": true, "no_answer": true, "rejected": true, "other": true}
	if diff := cmp.Diff(want, seen); diff != "" {
		t.Errorf("values of the dimension (-want +got):\n%s", diff)
	}
}

func TestPublishingTwiceGivesTheSameBytes(t *testing.T) {
	first, _ := published(t, ended())
	second, _ := published(t, ended())
	if diff := cmp.Diff(first, second); diff != "" {
		t.Errorf("the second time (-first +second):\n%s", diff)
	}
}

func TestALineThatCannotBeWrittenIsAnError(t *testing.T) {
	if err := audit.Publish(broken{}, ended()); err == nil {
		t.Error("a lost line was reported as published")
	}
}

type broken struct{}

func (broken) Write([]byte) (int, error) { return 0, errors.New("the log is gone") }
