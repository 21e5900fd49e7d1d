package catalog_test

import (
	"testing"
	"time"

	"mcprelay/shared/catalog"
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

func TestACatalogLivesForADay(t *testing.T) {
	if catalog.Lifetime != 24*time.Hour {
		t.Errorf("got %v, want a day", catalog.Lifetime)
	}
}
