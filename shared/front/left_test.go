package front_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"mcprelay/shared/catalog"
)

// Two names of one shown form: SHA-256 of them begins with the same 50 bits.
const (
	oneOfTwo = "a tool whose name is cut where all servers are one, number 25910298"
	twoOfTwo = "a tool whose name is cut where all servers are one, number 43100944"
)

func TestWhatNoListShowsIsToldOfWithItsServer(t *testing.T) {
	if catalog.Shown("up", oneOfTwo) != catalog.Shown("up", twoOfTwo) {
		t.Fatal("the names are shown as two")
	}
	f, k := newFront(t, false)
	results := whole()
	results["tools/list"] = `{"tools":[{"name":"look","inputSchema":{}},{"name":"change","inputSchema":{}},{"name":"edit","inputSchema":{}},` +
		`{"name":"` + oneOfTwo + `","inputSchema":{}},{"name":"` + twoOfTwo + `","inputSchema":{}},{"name":"look"}]}`
	results["resources/list"] = `{"resources":[{"uri":"file:///` + strings.Repeat("a", 4096) + `","name":"long"}]}`
	results["resources/templates/list"] = `{"resourceTemplates":[{"uriTemplate":"file:///{x","name":"x"}]}`
	offering(t, k, results)
	k.Allow(t, "mcp.up.tool.*")
	item := func(list, name, reason string) any {
		return map[string]any{"list": list, "name": name, "reason": reason}
	}
	want := []any{
		item("tools", "look", "its inputSchema is not an object"),
		map[string]any{"list": "resources", "reason": "descriptor 1: its uri is unusable: it is longer than 4096 bytes"},
		item("tools", "edit", "another tool is offered under its name"),
		item("tools", oneOfTwo, "among those of all servers its name would be another's too"),
		item("tools", twoOfTwo, "among those of all servers its name would be another's too"),
		item("resource_templates", "file:///{x", "among those of all servers it cannot be shown: its braces do not match"),
	}
	if diff := cmp.Diff(want, servers(t, f)[0]["left_out"]); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if got := names(t, legacy(f, allPath, "tools/list", `{}`), "tools", "name"); !cmp.Equal(got, []string{"up__edit", "up__look"}) {
		t.Errorf("all: %v", got)
	}
	if got := names(t, legacy(f, mcpPath, "tools/list", `{}`), "tools", "name"); len(got) != 4 {
		t.Errorf("one: %v, want those of all and the two", got)
	}
}
