package relay_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"mcprelay/shared/call"
	"mcprelay/shared/relay"
	"mcprelay/test/kit"
)

func TestWhatIsLeftOutSaysWhy(t *testing.T) {
	f := kit.New(t, `,"bindings":{"change":"edit","a":"b"}`, "")
	f.Allow(t, "mcp.up.tool.*", "mcp.up.resource.file:///a", "mcp.up.resource.file:///b")
	f.Capabilities = `"resources":{}`
	f.Lists = listing(`{"name":"change","inputSchema":{}},{"name":"edit","inputSchema":{}},{"name":"b","inputSchema":{}},{"name":"look","inputSchema":{}},` +
		`{"name":"look","inputSchema":{}},{"name":"broken"},{"name":"never"},{"inputSchema":{}}`)
	f.Answer = func(w http.ResponseWriter, _ *http.Request, body map[string]json.RawMessage) {
		kit.Result(w, body, `{"resultType":"complete","resources":[{"uri":"file:///a"},{"uri":"denied:a"},{"uri":"file:///b","name":"b"}],"resourceTemplates":[]}`)
	}
	server := *f.Registry.Registration.Servers["up"]
	server.Bindings = map[string]string{"change": "edit", "a": "b", "second": "edit"} // no config file passes that
	f.Registry.Registration.Servers["up"] = &server
	view, refusal := f.View(t.Context(), kit.Call(""))
	if refusal != nil {
		t.Fatal(refusal)
	}
	want := []relay.LeftOut{
		{List: call.ListTools, Name: "look", Reason: "another of this name came before"},
		{List: call.ListTools, Name: "broken", Reason: "its inputSchema is not an object"},
		{List: call.ListTools, Reason: "descriptor 8: it has no name"},
		{List: call.ListResources, Name: "file:///a", Reason: "it has no name"},
		{List: call.ListTools, Name: "b", Reason: "another tool is offered under its name"},
		{List: call.ListTools, Name: "edit", Reason: "another tool is offered under its name"},
	}
	if diff := cmp.Diff(want, view.LeftOut()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	for _, tool := range view.Tools() {
		if tool.Upstream == "edit" || tool.Upstream == "b" {
			t.Errorf("%s is shown too", tool.Upstream)
		}
	}
}

func TestWhatIsToldOfTheLeftOutIsBounded(t *testing.T) {
	f := kit.New(t, "", "")
	f.Allow(t, "mcp.up.tool.*", "mcp.up.resource.*")
	f.Capabilities = `"resources":{}`
	f.Answer = func(w http.ResponseWriter, _ *http.Request, body map[string]json.RawMessage) {
		var all []string
		for i := range 40 {
			all = append(all, fmt.Sprintf(`{"uri":"%da%s"}`, i, strings.Repeat("é", 300)))
		}
		kit.Result(w, body, `{"resultType":"complete","resources":[`+strings.Join(all, ",")+`],"resourceTemplates":[]}`)
	}
	view, refusal := f.View(t.Context(), kit.Call(""))
	if refusal != nil {
		t.Fatal(refusal)
	}
	left := view.LeftOut()
	if len(left) != relay.MaxLeftOut || len(view.Catalog.Skips) != 40 {
		t.Errorf("%d of %d are told of, want %d", len(left), len(view.Catalog.Skips), relay.MaxLeftOut)
	}
	if want := "0a" + strings.Repeat("é", 127) + "…"; left[0].Name != want {
		t.Errorf("the name is %q, want %q", left[0].Name, want)
	}
	if got := (relay.View{}).LeftOut(); got != nil {
		t.Errorf("of nothing: %v", got)
	}
}
