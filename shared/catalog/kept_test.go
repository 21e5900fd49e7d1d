package catalog_test

import (
	"encoding/json"
	"testing"
	"time"

	"mcprelay/shared/call"
	"mcprelay/shared/catalog"

	"github.com/google/go-cmp/cmp"
)

func TestToolsAreFoundByTheirOwnNames(t *testing.T) {
	tools, skips := catalog.Tools(raw(
		`{"name":"a","inputSchema":{}}`, `{"name":"odd","inputSchema":1}`, `{"name":"a","inputSchema":{"later":true}}`, `{"name":"constructor","inputSchema":{}}`,
		`{"inputSchema":{}}`, `{"name":"late","inputSchema":7}`, `{"name":"late","inputSchema":{}}`,
	), usable)
	c := catalog.Catalog{Tools: tools, Skips: skips}
	for name, want := range map[string]struct{ kept, skipped bool }{
		"a": {true, false}, "constructor": {true, false}, "odd": {false, true}, "late": {true, false},
		"": {false, false}, "A": {false, false}, "toString": {false, false},
	} {
		tool, kept := c.Tool(name)
		skip, skipped := c.Skipped(name)
		if kept != want.kept || kept != (tool.Name == name && tool.Raw != nil) {
			t.Errorf("%q: found %v, want %v: %+v", name, kept, want.kept, tool)
		}
		if skipped != want.skipped || skipped != (skip.Name == name && skip.Reason != "") {
			t.Errorf("%q: skipped %v, want %v: %+v", name, skipped, want.skipped, skip)
		}
	}
	if first, _ := c.Tool("a"); string(first.Raw) != `{"name":"a","inputSchema":{}}` {
		t.Errorf("of two tools of one name the later is kept: %s", first.Raw)
	}
	if _, ok := (catalog.Catalog{}).Tool("a"); ok {
		t.Error("the zero catalog has a tool")
	}
}

// A resource that was left out says nothing of a tool of its name.
func TestOnlyToolsAreSkippedAsTools(t *testing.T) {
	c := catalog.Catalog{Skips: []catalog.Skip{{List: call.ListPrompts, Name: "a", Reason: "x"}, {Name: "b", Reason: "x"}, {List: call.ListTools, Name: "a", Reason: "y"}}}
	if skip, ok := c.Skipped("a"); !ok || skip.Reason != "y" {
		t.Errorf("got %+v, %v, want the one of tools", skip, ok)
	}
	if skip, ok := c.Skipped("b"); ok {
		t.Errorf("got %+v, want none: it is of no list", skip)
	}
}

func TestEntriesAreAllOfACatalog(t *testing.T) {
	c := catalog.Catalog{
		Tools:     []catalog.Tool{{Name: "z", Raw: json.RawMessage(`{"name" : "z"}`), Digest: "d"}, {Name: "a", Raw: json.RawMessage(`{}`)}},
		Resources: []catalog.Item{{Name: "urn:z", Raw: json.RawMessage("{\"a\":1.0}")}, {Name: "urn:a"}},
		Templates: []catalog.Item{{Name: "urn:{x}", Raw: json.RawMessage("\xff")}},
		Prompts:   []catalog.Item{{Name: "a", Raw: json.RawMessage(`[]`)}},
	}
	var got catalog.Catalog
	for _, e := range c.Entries() {
		got.Add(e)
	}
	if diff := cmp.Diff(c, got); diff != "" {
		t.Errorf("taken apart and put together (-want +got):\n%s", diff)
	}
	head, err := json.Marshal(c)
	if err != nil || string(head) != `{}` {
		t.Errorf("got %s, %v, want no descriptors in the head", head, err)
	}
	for list, want := range map[call.List]int{call.ListResources: 2, call.ListTemplates: 1, call.ListPrompts: 1, call.ListTools: 0, "": 0} {
		if got := len(c.Items(list)); got != want {
			t.Errorf("%q: got %d items, want %d", list, got, want)
		}
	}
}

func TestACatalogLivesForADay(t *testing.T) {
	if catalog.Lifetime != 24*time.Hour {
		t.Errorf("got %v, want a day", catalog.Lifetime)
	}
}
