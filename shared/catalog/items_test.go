package catalog_test

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"

	"mcprelay/shared/call"
	"mcprelay/shared/catalog"
	"mcprelay/shared/registry"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/go-cmp/cmp"
)

func TestOneOddItemNeverLosesTheOthers(t *testing.T) {
	long := `"` + strings.Repeat("u", 4097) + `"`
	for _, c := range []struct {
		name  string
		list  call.List
		raw   []string
		kept  []string
		skips []catalog.Skip
	}{
		{"resources", call.ListResources, []string{
			`{"uri":"file:///a.txt","name":"a","mimeType":"text/plain","size":1.0}`,
			`{"uri":"file:///b.txt"}`, `{"uri":"file:///c.txt","name":7}`, `{"name":"d"}`, `{"uri":"","name":"e"}`, `{"uri":null,"name":"f"}`,
			`{"uri":"file:///a.txt","name":"again"}`, `{"uri":"a\nb","name":"g"}`, `{"uri":" a","name":"h"}`, `{"uri":` + long + `,"name":"i"}`,
			`{"uri":"no uri at all","name":""}`, `7`, `null`, `[]`, `"x"`, `{"name":"j","uri":"urn:🔧","description":null,"annotations":7}`,
		}, []string{"file:///a.txt", "no uri at all", "urn:🔧"}, []catalog.Skip{
			{Name: "file:///b.txt", Reason: "it has no name"}, {Name: "file:///c.txt", Reason: "it has no name"},
			{Reason: "descriptor 4: it has no uri"}, {Reason: "descriptor 5: it has no uri"}, {Reason: "descriptor 6: it has no uri"},
			{Name: "file:///a.txt", Reason: "another of this uri came before"},
			{Reason: "descriptor 8: its uri is unusable: it begins or ends with a blank, or holds a control character"},
			{Reason: "descriptor 9: its uri is unusable: it begins or ends with a blank, or holds a control character"},
			{Reason: "descriptor 10: its uri is unusable: it is longer than 4096 bytes"},
			{Reason: "descriptor 12: it has no uri"}, {Reason: "descriptor 13: it has no uri"}, {Reason: "descriptor 14: it has no uri"}, {Reason: "descriptor 15: it has no uri"},
		}},
		{"templates", call.ListTemplates, []string{
			`{"uriTemplate":"db:///{table}","name":"table"}`, `{"uri":"db:///users","name":"users"}`, `{"uriTemplate":"{","name":"odd"}`, `{"uriTemplate":"db:///{table}","name":"table"}`,
		}, []string{"db:///{table}", "{"}, []catalog.Skip{
			{Reason: "descriptor 2: it has no uriTemplate"}, {Name: "db:///{table}", Reason: "another of this uriTemplate came before"},
		}},
		{"prompts", call.ListPrompts, []string{
			`{"name":"a"}`, `{"name":"b","arguments":null}`, `{"name":"c","arguments":[]}`, `{"name":"d","arguments":[{"name":"x","required":"yes"}]}`,
			`{"name":"e","arguments":{}}`, `{"name":"f","arguments":[{"name":"x"},{"title":"y"}]}`, `{"name":"g","arguments":["x"]}`, `{"name":"a"}`, `{"name":" h"}`, `{"title":"i"}`, `{"name":"constructor"}`,
		}, []string{"a", "b", "c", "d", "constructor"}, []catalog.Skip{
			{Name: "e", Reason: "its arguments are not a list"}, {Name: "f", Reason: "its argument 2 has no name"}, {Name: "g", Reason: "its argument 1 has no name"},
			{Name: "a", Reason: "another of this name came before"}, {Reason: "descriptor 9: its name is unusable: it begins or ends with a blank, or holds a control character"}, {Reason: "descriptor 10: it has no name"},
		}},
	} {
		for i := range c.skips {
			c.skips[i].List = c.list
		}
		items, skips := catalog.Items(c.list, raw(c.raw...), usable)
		kept := []string{}
		for _, item := range items {
			kept = append(kept, item.Name)
			if !slices.Contains(c.raw, string(item.Raw)) {
				t.Errorf("%s: %s is changed: %s", c.name, item.Name, item.Raw)
			}
		}
		if diff := cmp.Diff(c.kept, kept); diff != "" {
			t.Errorf("%s: kept (-want +got):\n%s", c.name, diff)
		}
		if diff := cmp.Diff(c.skips, skips); diff != "" {
			t.Errorf("%s: skips (-want +got):\n%s", c.name, diff)
		}
	}
}

func TestItemsAreBoundedOneByOne(t *testing.T) {
	small, large := `{"uri":"a","name":"a"}`, `{"uri":"b","name":"`+strings.Repeat("b", 100)+`"}`
	for bytes, want := range map[int64]int{0: 2, int64(len(large)): 2, int64(len(large)) - 1: 1, int64(len(small)) - 1: 0} {
		items, skips := catalog.Items(call.ListResources, raw(small, large), catalog.Bounds{Bytes: bytes})
		if len(items) != want || len(items)+len(skips) != 2 {
			t.Errorf("%d bytes: %d items, skips %v, want %d", bytes, len(items), skips, want)
		}
	}
}

// A rule for the names of tools is none for URIs.
func TestURIsMayBeLongerThanNames(t *testing.T) {
	uri := strings.Repeat("u", 4096)
	items, skips := catalog.Items(call.ListResources, raw(`{"uri":"`+uri+`","name":"a"}`), usable)
	if len(items) != 1 || items[0].Name != uri {
		t.Errorf("got %d items, skips %v", len(items), skips)
	}
	refuse := catalog.Bounds{Name: func(string) error { return errors.New("no") }}
	if items, _ := catalog.Items(call.ListResources, raw(`{"uri":"a","name":"a"}`), refuse); len(items) != 1 {
		t.Error("a URI is judged as the name of a tool")
	}
	if items, _ := catalog.Items(call.ListPrompts, raw(`{"name":"a"}`), refuse); len(items) != 0 {
		t.Error("the name of a prompt is not judged")
	}
}

// readAny reads a list of any kind.
func readAny(kind call.List, list []json.RawMessage, bounds catalog.Bounds) (items []catalog.Item, skips []catalog.Skip) {
	if kind != call.ListTools {
		return catalog.Items(kind, list, bounds)
	}
	tools, skips := catalog.Tools(list, bounds)
	for _, tool := range tools {
		items = append(items, catalog.Item{Name: tool.Name, Raw: tool.Raw})
	}
	return items, skips
}

// Whatever a list holds, each descriptor is kept as it came or reported, in
// order, and no name is kept twice.
func FuzzItems(f *testing.F) {
	for _, seed := range []string{
		`[]`, `[1,null,{}]`, `[{"name":"a","inputSchema":{}},{"name":"a","inputSchema":{}}]`, `[{"uri":"a","name":"b"},{"uriTemplate":"{a}","name":"b"}]`,
		`[{"name":"a","arguments":[{"name":"b"}]}]`, `[{"name":"a","inputSchema":{"properties":{"x":{"type":"string","x-mcp-header":"X"}}}}]`,
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		var list []json.RawMessage
		// What is no strict JSON never comes here.
		if !jsontext.Value(text).IsValid() || json.Unmarshal([]byte(text), &list) != nil {
			return
		}
		for _, kind := range []call.List{call.ListTools, call.ListResources, call.ListTemplates, call.ListPrompts} {
			items, skips := readAny(kind, list, catalog.Bounds{Bytes: 200, Name: registry.ToolName})
			if len(items)+len(skips) != len(list) {
				t.Errorf("%s of %s: %d kept and %d skipped of %d", kind, text, len(items), len(skips), len(list))
			}
			next := 0
			seen := make(map[string]bool)
			for _, item := range items {
				for next < len(list) && string(list[next]) != string(item.Raw) {
					next++
				}
				if next++; next > len(list) || item.Name == "" || seen[item.Name] {
					t.Errorf("%s of %s: %q is changed, out of order, nameless or there twice", kind, text, item.Name)
				}
				seen[item.Name] = true
			}
		}
	})
}
