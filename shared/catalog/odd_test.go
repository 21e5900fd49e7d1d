package catalog_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"mcprelay/shared/call"
	"mcprelay/shared/catalog"

	"github.com/google/go-cmp/cmp"
)

// Schemas that clients choked on. None of them is the relay's to judge.
func TestOddSchemasPassUntouched(t *testing.T) {
	for name, schema := range map[string]string{
		"a boolean property":     `{"type":"object","properties":{"x":true,"y":false}}`,
		"no type at the top":     `{"anyOf":[{"type":"object"},{"type":"null"}]}`,
		"allOf, if and then":     `{"allOf":[{"if":{"required":["a"]},"then":{"required":["b"]}}]}`,
		"a $schema only":         `{"$schema":"http://json-schema.org/draft-07/schema#"}`,
		"a type only":            `{"type":"object"}`,
		"nothing":                `{}`,
		"a reference outside":    `{"$ref":"https://schemas.example.com/tool.json"}`,
		"a reference to itself":  `{"$defs":{"n":{"$ref":"#/$defs/n"}},"properties":{"n":{"$ref":"#/$defs/n"}}}`,
		"a list of types":        `{"type":["object","null"],"properties":{}}`,
		"another type":           `{"type":"array","items":{}}`,
		"properties of any kind": `{"type":"object","properties":[],"required":"all"}`,
		"numbers as they came":   `{"type":"object","properties":{"n":{"default":1.0,"maximum":9007199254740993,"minimum":-0}}}`,
		"blanks and escapes":     `{ "type" : "object" , "title":"\u003c\/&\u00e9" }`,
		"names of prototypes":    `{"properties":{"__proto__":{},"constructor":{},"$ref":{}}}`,
		"many levels":            `{"properties":` + strings.Repeat(`{"a":`, 40) + `{}` + strings.Repeat(`}`, 40) + `}`,
	} {
		descriptor := `{"title":"odd","name":"odd","inputSchema":` + schema + `,"x-more":[1.0,"<&>"]}`
		tools, skips := catalog.Tools(raw(`{"name":"a","inputSchema":{}}`, descriptor, `{"name":"b","inputSchema":{}}`), usable)
		if len(tools) != 3 || len(skips) != 0 {
			t.Errorf("%s: %d tools, skips %v", name, len(tools), skips)
			continue
		}
		if tools[0].Name != "a" || tools[1].Name != "odd" || tools[2].Name != "b" || string(tools[1].Raw) != descriptor {
			t.Errorf("%s: got %s", name, tools[1].Raw)
		}
	}
}

// Names that clients choked on are names, as long as they can be told apart
// and written down.
func TestOddNamesAreKeptAsTheyAre(t *testing.T) {
	for _, name := range []string{"a.b", "a/b", "_x", "123_x", "constructor", "__proto__", "toString", "sum up", "déjà", "🔧", "a:b", "*", "a.*", "{x}", "A", "a__b", strings.Repeat("x", 128), strings.Repeat("é", 128)} {
		quoted, err := json.Marshal(name)
		if err != nil {
			t.Fatal(err)
		}
		tools, skips := catalog.Tools(raw(`{"name":"first","inputSchema":{}}`, `{"inputSchema":{},"name":`+string(quoted)+`}`), usable)
		if len(tools) != 2 || tools[1].Name != name || len(skips) != 0 {
			t.Errorf("%q: got %v, skips %v", name, tools, skips)
		}
	}
	for _, name := range []string{strings.Repeat("x", 129), " a", "a\t", "a\u0000b", "a\u0085"} {
		quoted, err := json.Marshal(name)
		if err != nil {
			t.Fatal(err)
		}
		tools, skips := catalog.Tools(raw(`{"name":"first","inputSchema":{}}`, `{"inputSchema":{},"name":`+string(quoted)+`}`), usable)
		if len(tools) != 1 || len(skips) != 1 || skips[0].Name != "" || !strings.HasPrefix(skips[0].Reason, "descriptor 2: its name is unusable: ") {
			t.Errorf("%.20q: got %v, skips %v", name, tools, skips)
		}
	}
}

// A name written with escapes is the name, so it cannot hide a second tool.
func TestEscapedNamesAreTheSameName(t *testing.T) {
	tools, skips := catalog.Tools(raw(`{"name":"search","inputSchema":{}}`, `{"name":"se\u0061rch","inputSchema":{}}`), usable)
	if len(tools) != 1 || len(skips) != 1 {
		t.Errorf("got %v, skips %v", tools, skips)
	}
	tools, _ = catalog.Tools(raw(`{"n\u0061me":"search","inputSchem\u0061":{}}`), usable)
	if len(tools) != 1 || tools[0].Name != "search" {
		t.Errorf("got %v, want the tool search", tools)
	}
}

// A tool with an annotation that no client may follow is not offered; what
// only looks like one is left alone.
func TestInvalidHeaderAnnotationsSkipTheirTool(t *testing.T) {
	property := func(p string) string { return `{"type":"object","properties":{"region":` + p + `}}` }
	for name, c := range map[string]struct {
		schema string
		kept   bool
	}{
		"a string":                  {property(`{"type":"string","x-mcp-header":"Region"}`), true},
		"an integer":                {property(`{"type":"integer","x-mcp-header":"Region"}`), true},
		"a property of an object":   {property(`{"type":"object","properties":{"x":{"type":"boolean","x-mcp-header":"X"}}}`), true},
		"a property of that name":   {`{"type":"object","properties":{"x-mcp-header":{"type":"object"}}}`, true},
		"no token":                  {property(`{"type":"string","x-mcp-header":"Re gion"}`), false},
		"an empty name":             {property(`{"type":"string","x-mcp-header":""}`), false},
		"a name of another kind":    {property(`{"type":"string","x-mcp-header":7}`), false},
		"an object":                 {property(`{"type":"object","x-mcp-header":"Region"}`), false},
		"a number":                  {property(`{"type":"number","x-mcp-header":"Region"}`), false},
		"two of one name":           {`{"type":"object","properties":{"a":{"type":"string","x-mcp-header":"R"},"b":{"type":"string","x-mcp-header":"r"}}}`, false},
		"under items":               {property(`{"type":"array","items":{"type":"string","x-mcp-header":"Region"}}`), false},
		"under oneOf":               {property(`{"oneOf":[{"type":"string","x-mcp-header":"Region"}]}`), false},
		"under a definition":        {`{"$defs":{"r":{"type":"string","x-mcp-header":"Region"}},"properties":{"a":{"$ref":"#/$defs/r"}}}`, false},
		"at the top of an argument": {`{"type":"object","x-mcp-header":"All"}`, false},
	} {
		tools, skips := catalog.Tools(raw(`{"name":"a","inputSchema":{}}`, `{"name":"call","inputSchema":`+c.schema+`}`, `{"name":"b","inputSchema":{}}`), usable)
		kept := slices.ContainsFunc(tools, func(tool catalog.Tool) bool { return tool.Name == "call" })
		if kept != c.kept || len(tools)+len(skips) != 3 || len(tools) < 2 {
			t.Errorf("%s: kept %v, want %v: %v", name, kept, c.kept, skips)
		}
		for _, skip := range skips {
			if skip.Name != "call" || !strings.HasPrefix(skip.Reason, "its x-mcp-header annotations are invalid: ") {
				t.Errorf("%s: skipped as %+v", name, skip)
			}
		}
	}
}

func TestHiddenToolsAreReported(t *testing.T) {
	tools, _ := catalog.Tools(raw(`{"name":"a","inputSchema":{}}`, `{"name":"b","inputSchema":{}}`, `{"name":"c","inputSchema":{}}`), usable)
	want := []catalog.Skip{
		{List: call.ListTools, Name: "a", Reason: "it is not in allowed_tools"},
		{List: call.ListTools, Name: "c", Reason: "it is not in allowed_tools"},
	}
	if diff := cmp.Diff(want, catalog.Unexpected(tools, []string{"b"})); diff != "" {
		t.Errorf("reported (-want +got):\n%s", diff)
	}
	if got := catalog.Unexpected(tools, nil); got != nil {
		t.Errorf("without allowed_tools nothing is unexpected: %v", got)
	}
}
