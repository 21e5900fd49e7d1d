package catalog_test

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	"mcprelay/shared/call"
	"mcprelay/shared/catalog"
	"mcprelay/shared/registry"
)

// usable bounds nothing but names.
var usable = catalog.Bounds{Name: registry.ToolName}

func raw(descriptors ...string) []json.RawMessage {
	list := make([]json.RawMessage, len(descriptors))
	for i, d := range descriptors {
		list[i] = json.RawMessage(d)
	}
	return list
}

func TestOneOddToolNeverLosesTheOthers(t *testing.T) {
	tools, skips := catalog.Tools(raw(
		`{"name":"a","inputSchema":{"properties":{"x":true}}}`,
		`{"inputSchema":{}}`, `{"name":"","inputSchema":{}}`, `{"name":7,"inputSchema":{}}`,
		`{"name":"b"}`, `{"name":"c","inputSchema":true}`,
		`{"name":"a","inputSchema":{}}`,
		`{"name":"big","inputSchema":{"description":"0123456789012345678901234567890123456789012345678901234567890123456789"}}`,
		`{"name":"constructor","inputSchema":{"anyOf":[]}}`,
		`{"name":"a\u0000b","inputSchema":{}}`, `{"name":" a","inputSchema":{}}`,
	), catalog.Bounds{Bytes: 80, Name: registry.ToolName})
	names := []string{}
	for _, tool := range tools {
		names = append(names, tool.Name)
	}
	if diff := cmp.Diff([]string{"a", "constructor"}, names); diff != "" {
		t.Errorf("kept (-want +got):\n%s", diff)
	}
	if len(skips) != 9 {
		t.Errorf("got %d skips, want each of the 9 odd ones: %v", len(skips), skips)
	}
}

func TestAnExactListIsMetOrRefused(t *testing.T) {
	tools, _ := catalog.Tools(raw(`{"name":"a","inputSchema":{}}`, `{"name":"b","inputSchema":{}}`), usable)
	for _, test := range []struct {
		name    string
		allowed []string
		hide    bool
		want    call.Reason
		kept    int
	}{
		{"none registered", nil, false, "", 2},
		{"the same", []string{"b", "a"}, false, "", 2},
		{"one missing", []string{"a", "b", "c"}, false, call.ToolMissing, 0},
		{"one unexpected", []string{"a"}, false, call.ToolUnexpected, 0},
		{"one unexpected, hidden", []string{"a"}, true, "", 1},
		{"empty registration", []string{}, false, call.ToolUnexpected, 0},
		{"missing though hidden", []string{"c"}, true, call.ToolMissing, 0},
	} {
		kept, refusal := catalog.Exact(tools, test.allowed, test.hide)
		if test.want == "" && (refusal != nil || len(kept) != test.kept) || test.want != "" && (refusal == nil || refusal.Reason != test.want) {
			t.Errorf("%s: got %d tools, %v, want %d, %s", test.name, len(kept), refusal, test.kept, test.want)
		}
	}
}

func TestRenamingTouchesNothingElse(t *testing.T) {
	tools, _ := catalog.Tools(raw(`{ "inputSchema":{"n":1.0} , "name" : "a", "x-more":"<&>"}`), usable)
	same, err := tools[0].Renamed("a")
	if err != nil || string(same) != string(tools[0].Raw) {
		t.Errorf("got %s, %v, want the same bytes", same, err)
	}
	other, err := tools[0].Renamed(`b"`)
	if want := `{ "inputSchema":{"n":1.0} , "name" : "b\"", "x-more":"<&>"}`; err != nil || string(other) != want {
		t.Errorf("got %s, %v, want %s", other, err, want)
	}
}
