package wire_test

import (
	"encoding/json"
	"testing"

	"mcprelay/shared/wire"
)

// eightLevels are those of RFC 5424, section 6.2.1, the least severe first.
var eightLevels = []string{"debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"}

func TestOnlyTheEightLevelsAreLevels(t *testing.T) {
	for _, level := range eightLevels {
		if got, ok := wire.Level(json.RawMessage(`{"data":1, "level" : "` + level + `"}`)); got != level || !ok || !wire.IsLevel(level) {
			t.Errorf("%s: got %q, %v", level, got, ok)
		}
	}
	for _, params := range []string{
		``, `{}`, `[]`, `7`, `{"level":null}`, `{"level":3}`, `{"level":{}}`, `{"level":""}`, `{"level":"Info"}`, `{"level":"warn"}`, `{"level":"info "}`,
		`{"Level":"info"}`, `{"data":{"level":"info"}}`, `{"level":"info"`,
	} {
		if got, ok := wire.Level(json.RawMessage(params)); ok {
			t.Errorf("%s: got %q, want none", params, got)
		}
	}
	if got, ok := wire.Level(json.RawMessage(`{"level":"inf\u006f"}`)); got != "info" || !ok {
		t.Errorf("an escaped one: got %q, %v", got, ok)
	}
}

func TestAMessageReachesItsOwnLevelAndThoseBelow(t *testing.T) {
	for i, level := range eightLevels {
		for j, least := range eightLevels {
			if got, want := wire.Reaches(json.RawMessage(`{"level":"`+level+`"}`), least), i >= j; got != want {
				t.Errorf("%s reaches %s: got %v, want %v", level, least, got, want)
			}
		}
		for _, params := range []string{`{"data":"x"}`, `{"level":"loud"}`, `{"level":7}`} {
			if got, want := wire.Reaches(json.RawMessage(params), level), i <= 1; got != want {
				t.Errorf("%s reaches %s: got %v, want %v as info does", params, level, got, want)
			}
		}
		for _, least := range []string{"", "loud"} {
			if wire.Reaches(json.RawMessage(`{"level":"`+level+`"}`), least) {
				t.Errorf("%s reaches %q, which is no level", level, least)
			}
		}
	}
}
