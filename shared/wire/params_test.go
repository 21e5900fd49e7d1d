package wire_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"mcprelay/shared/wire"
)

// properties is a schema with these properties.
func properties(p string) string { return `{"type":"object","properties":{` + p + `}}` }

func TestAnnotationsAreFoundWhereverPropertiesLead(t *testing.T) {
	for name, tc := range map[string]struct {
		schema string
		want   []wire.Param
	}{
		"none":          {properties(`"a":{"type":"string"}`), nil},
		"no properties": {`{"type":"object"}`, nil},
		"no schema":     {``, nil},
		"boolean":       {`true`, nil},
		"one":           {properties(`"a":{"type":"string","x-mcp-header":"Region"}`), []wire.Param{{"Region", []string{"a"}, "string"}}},
		"three types, in order": {properties(`"c":{"x-mcp-header":"C","type":"boolean"},"a":{"type":"integer","x-mcp-header":"A"},"b":{"type":"string","x-mcp-header":"B"}`),
			[]wire.Param{{"C", []string{"c"}, "boolean"}, {"A", []string{"a"}, "integer"}, {"B", []string{"b"}, "string"}}},
		"nested": {properties(`"a":{"properties":{"b":{"properties":{"c":{"type":"string","x-mcp-header":"X"}}},"d":{"type":"string","x-mcp-header":"Y"}}}`),
			[]wire.Param{{"X", []string{"a", "b", "c"}, "string"}, {"Y", []string{"a", "d"}, "string"}}},
		"every character of a token": {properties(`"a":{"type":"string","x-mcp-header":"!#$%&'*+-.^_` + "`" + `|~aZ0"}`),
			[]wire.Param{{"!#$%&'*+-.^_`|~aZ0", []string{"a"}, "string"}}},
		"escaped name":                     {properties(`"a":{"type":"string","x\u002dmcp-header":"R\u0065gion"}`), []wire.Param{{"Region", []string{"a"}, "string"}}},
		"escaped property":                 {properties(`"\u00e9\n":{"type":"string","x-mcp-header":"X"}`), []wire.Param{{"X", []string{"é\n"}, "string"}}},
		"nullable":                         {properties(`"a":{"type":["string","null"],"x-mcp-header":"X"},"b":{"type":["null","integer"],"x-mcp-header":"Y"}`), []wire.Param{{"X", []string{"a"}, "string"}, {"Y", []string{"b"}, "integer"}}},
		"a list of one type":               {properties(`"a":{"type":["boolean"],"x-mcp-header":"X"}`), []wire.Param{{"X", []string{"a"}, "boolean"}}},
		"beside other keywords":            {properties(`"a":{"type":"string","enum":["x"],"x-mcp-header":"X","description":"d"}`), []wire.Param{{"X", []string{"a"}, "string"}}},
		"a property of that name":          {properties(`"x-mcp-header":{"type":"string"}`), nil},
		"a definition of that name":        {`{"$defs":{"x-mcp-header":{"type":"string"}},"patternProperties":{"x-mcp-header":{}}}`, nil},
		"in values":                        {`{"default":{"x-mcp-header":1},"const":{"x-mcp-header":1},"enum":[{"x-mcp-header":1}],"examples":[{"x-mcp-header":1}]}`, nil},
		"in a text":                        {`{"description":"use \"x-mcp-header\": \"X\""}`, nil},
		"property that is a boolean":       {properties(`"a":true,"b":{"type":"string","x-mcp-header":"X"}`), []wire.Param{{"X", []string{"b"}, "string"}}},
		"property called properties":       {properties(`"properties":{"type":"string","x-mcp-header":"X"}`), []wire.Param{{"X", []string{"properties"}, "string"}}},
		"dependencies that are lists":      {`{"dependencies":{"a":["x-mcp-header"]},"required":["x-mcp-header"]}`, nil},
		"lone surrogate in a description":  {properties(`"a":{"type":"string","x-mcp-header":"X","description":"\ud800"}`), []wire.Param{{"X", []string{"a"}, "string"}}},
		"reference beside the annotations": {`{"properties":{"a":{"type":"string","x-mcp-header":"X"},"b":{"$ref":"#/$defs/b"}},"$defs":{"b":{"type":"object"}}}`, []wire.Param{{"X", []string{"a"}, "string"}}},
		"64": {properties(many(64)), func() (all []wire.Param) {
			for i := range 64 {
				all = append(all, wire.Param{Header: fmt.Sprint("H", i), Path: []string{fmt.Sprint("p", i)}, Type: "string"})
			}
			return all
		}()},
	} {
		got, err := wire.Params(json.RawMessage(tc.schema))
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if diff := cmp.Diff(tc.want, got); diff != "" {
			t.Errorf("%s: -want +got\n%s", name, diff)
		}
	}
}

// many are n annotated properties.
func many(n int) string {
	var all []string
	for i := range n {
		all = append(all, fmt.Sprintf(`"p%d":{"type":"string","x-mcp-header":"H%d"}`, i, i))
	}
	return strings.Join(all, ",")
}

const marked = `{"type":"string","x-mcp-header":"X"}`

func TestAnnotationThatMakesTheToolInvalid(t *testing.T) {
	const (
		name, twice, kind, where = "not the name", "same name", "no string", "properties alone"
	)
	header := func(value string) string { return properties(`"a":{"type":"string","x-mcp-header":` + value + `}`) }
	for schema, want := range map[string]string{
		header(`""`):             name,
		header(`"a b"`):          name,
		header(`"a:b"`):          name,
		header(`"a\r\nHost: b"`): name,
		header(`"a\u0000"`):      name,
		header(`"Région"`):       name,
		header(`"X-(Region)"`):   name,
		header(`"a=b"`):          name,
		header(`1`):              name,
		header(`null`):           name,
		header(`true`):           name,
		header(`["X"]`):          name,
		header(`"` + long + `"`): name,
		properties(`"a":{"type":"string","x-mcp-header":"X"},"b":{"type":"string","x-mcp-header":"X"}`):           twice,
		properties(`"a":{"type":"string","x-mcp-header":"Region"},"b":{"type":"string","x-mcp-header":"rEGION"}`): twice,
		properties(`"a":` + marked + `,"b":{"properties":{"c":{"type":"integer","x-mcp-header":"x"}}}`):           twice,
		properties(`"a":{"x-mcp-header":"X"}`):                                         kind,
		properties(`"a":{"type":"number","x-mcp-header":"X"}`):                         kind,
		properties(`"a":{"type":"object","x-mcp-header":"X"}`):                         kind,
		properties(`"a":{"type":"array","x-mcp-header":"X"}`):                          kind,
		properties(`"a":{"type":"null","x-mcp-header":"X"}`):                           kind,
		properties(`"a":{"type":"String","x-mcp-header":"X"}`):                         kind,
		properties(`"a":{"type":["string","integer"],"x-mcp-header":"X"}`):             kind,
		properties(`"a":{"type":["null"],"x-mcp-header":"X"}`):                         kind,
		properties(`"a":{"type":[],"x-mcp-header":"X"}`):                               kind,
		properties(`"a":{"type":["string","integer","null"],"x-mcp-header":"X"}`):      kind,
		properties(`"a":{"type":["string",1],"x-mcp-header":"X"}`):                     kind,
		properties(`"a":{"type":{},"x-mcp-header":"X"}`):                               kind,
		`{"type":"string","x-mcp-header":"X"}`:                                         where,
		properties(`"a":{"type":"array","items":` + marked + `}`):                      where,
		properties(`"a":{"items":[{},` + marked + `]}`):                                where,
		properties(`"a":{"prefixItems":[` + marked + `]}`):                             where,
		properties(`"a":{"contains":` + marked + `}`):                                  where,
		properties(`"a":{"items":{"properties":{"b":` + marked + `}}}`):                where,
		properties(`"a":{"additionalProperties":` + marked + `}`):                      where,
		properties(`"a":{"not":` + marked + `}`):                                       where,
		properties(`"a":{"type":"array","items":{"type":"number","x-mcp-header":""}}`): where,
		`{"oneOf":[` + properties(`"a":`+marked) + `]}`:                                where,
		`{"anyOf":[{},` + properties(`"a":`+marked) + `]}`:                             where,
		`{"allOf":[` + properties(`"a":`+marked) + `]}`:                                where,
		`{"if":` + properties(`"a":`+marked) + `}`:                                     where,
		`{"then":` + properties(`"a":`+marked) + `}`:                                   where,
		`{"else":` + properties(`"a":`+marked) + `}`:                                   where,
		`{"$ref":"#/$defs/a","$defs":{"a":` + properties(`"a":`+marked) + `}}`:         where,
		`{"definitions":{"a":` + marked + `}}`:                                         where,
		`{"patternProperties":{"^a":` + marked + `}}`:                                  where,
		`{"dependentSchemas":{"a":` + marked + `}}`:                                    where,
		`{"dependencies":{"a":` + marked + `}}`:                                        where,
		`{"unevaluatedProperties":` + marked + `}`:                                     where,
		`{"propertyNames":` + marked + `}`:                                             where,
		`{"x-unknown":{"deep":[[` + marked + `]]}}`:                                    where,
		`{"properties":[` + marked + `]}`:                                              where,
		`{"properties":{"a":[` + marked + `]}}`:                                        where,
		properties(many(65)):                                                           "more than 64",
		properties(`"a":{"type":"string","x-mcp-header":"X","x-mcp-header":"Y"}`):      "strict JSON",
		`{"x-mcp-header":`: "strict JSON",
		strings.Repeat(`{"properties":{"a":`, 40) + marked + strings.Repeat(`}}`, 40):       "nested deeper",
		`{"x-mcp-header":"","a":` + strings.Repeat(`[`, 80) + strings.Repeat(`]`, 80) + `}`: "nested deeper",
	} {
		got, err := wire.Params(json.RawMessage(schema))
		if err == nil || !strings.Contains(err.Error(), want) || got != nil {
			t.Errorf("%.200s: want an error with %q, got %v, %v", schema, want, got, err)
		}
	}
}

var long = strings.Repeat("x", 257)

func TestFaultOfASchemaNeverQuotesIt(t *testing.T) {
	for _, schema := range []string{
		properties(`"secret":{"type":"secret","x-mcp-header":"secret"}`),
		properties(`"a":{"type":"string","x-mcp-header":"secret secret"}`),
		`{"items":{"x-mcp-header":"secret"}}`, `{"x-mcp-header":secret}`, `{"x-mcp-header":"secret","secret":1,"secret":2}`,
	} {
		if _, err := wire.Params(json.RawMessage(schema)); err == nil || strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: got %v", schema, err)
		}
	}
}
