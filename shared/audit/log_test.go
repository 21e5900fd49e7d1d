package audit_test

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"mcprelay/shared/audit"
)

func TestEveryLineHasOneTime(t *testing.T) {
	var out bytes.Buffer
	log := audit.NewLog(&out)
	audit.Log(t.Context(), log, ended())
	log.Info("something else")
	log.With("face", "mcp").Info("a third", "time", "never")
	lines := strings.Split(strings.TrimSpace(out.String()), "\n")
	if len(lines) != 3 {
		t.Fatalf("got %d lines, want 3:\n%s", len(lines), out.String())
	}
	for _, line := range lines {
		if got := strings.Count(line, `"time":`); got != 1 {
			t.Errorf("got %d times, want 1: %s", got, line)
		}
	}
	for i, want := range []string{"2026-11-30T10:00:00.25Z", "", "never"} {
		var line struct{ Time, Face string }
		if err := json.Unmarshal([]byte(lines[i]), &line); err != nil {
			t.Fatal(err)
		}
		if want == "" {
			if at, err := time.Parse(time.RFC3339Nano, line.Time); err != nil || time.Since(at) > time.Minute {
				t.Errorf("a line without a time of its own has %q, want now", line.Time)
			}
		} else if line.Time != want {
			t.Errorf("got time %q, want %q", line.Time, want)
		}
	}
}

func TestAGroupKeepsTheHandlersTime(t *testing.T) {
	var out bytes.Buffer
	audit.NewLog(&out).WithGroup("g").Info("grouped", "a", 1)
	if line := out.String(); !strings.HasPrefix(line, `{"time":"`) || !strings.Contains(line, `"g":{"a":1}`) {
		t.Errorf("got %s", line)
	}
}
