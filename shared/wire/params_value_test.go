package wire_test

import (
	"encoding/json"
	"math/big"
	"strings"
	"testing"

	"mcprelay/shared/wire"
)

func TestValueOfAParameterInItsHeaderForm(t *testing.T) {
	const exact = `9007199254740991`
	for _, tc := range []struct{ kind, argument, want string }{
		{"string", `"us-west1"`, "us-west1"},
		{"string", `"with blank"`, "with blank"},
		{"string", `"\u0075s"`, "us"},
		{"string", `"a\/b"`, "a/b"},
		{"string", `"42"`, "42"},
		{"string", `"null"`, "null"},
		{"string", `""`, "=?base64??="},
		{"string", `" padded "`, "=?base64?IHBhZGRlZCA=?="},
		{"string", `"Hello, 世界"`, "=?base64?SGVsbG8sIOS4lueVjA==?="},
		{"string", `"line1\nline2"`, "=?base64?bGluZTEKbGluZTI=?="},
		{"string", `"a\tb"`, "=?base64?YQli?="},
		{"string", `"\u0000"`, "=?base64?AA==?="},
		{"string", `"=?base64?literal?="`, "=?base64?PT9iYXNlNjQ/bGl0ZXJhbD89?="},
		{"string", `"=?base64?half"`, "=?base64?half"},
		{"string", `"=?BASE64?eA==?="`, "=?BASE64?eA==?="},
		{"boolean", `true`, "true"},
		{"boolean", `false`, "false"},
		{"integer", `42`, "42"},
		{"integer", `-7`, "-7"},
		{"integer", `0`, "0"},
		{"integer", `-0`, "0"},
		{"integer", `1.0`, "1"},
		{"integer", `-1.000`, "-1"},
		{"integer", `1e2`, "100"},
		{"integer", `1E+2`, "100"},
		{"integer", `100e-2`, "1"},
		{"integer", `1.50e1`, "15"},
		{"integer", `0.0000000000000000000000000000001e31`, "1"},
		{"integer", `0e999999999999999999999999`, "0"},
		{"integer", `0.0e-99999999999999999999`, "0"},
		{"integer", exact, exact},
		{"integer", "-" + exact, "-" + exact},
		{"integer", exact + ".000", exact},
		{"integer", "0." + exact + "e16", exact},
		{"integer", `9e15`, "9000000000000000"},
	} {
		p := wire.Param{Header: "X", Path: []string{"a"}, Type: tc.kind}
		got, ok, err := p.Value(json.RawMessage(`{"b":1,"a":` + tc.argument + `}`))
		if err != nil || !ok || got != tc.want {
			t.Errorf("%s %s: want %q, got %q, %v, %v", tc.kind, tc.argument, tc.want, got, ok, err)
		}
	}
}

func TestValueThatIsAbsentHasNoHeader(t *testing.T) {
	for _, tc := range []struct{ arguments, path string }{
		{``, "a"}, {`null`, "a"}, {`{}`, "a"}, {`{"b":1}`, "a"}, {`{"a":null}`, "a"}, {`{"A":"x"}`, "a"},
		{`{"a":{}}`, "a b"}, {`{"a":null}`, "a b"}, {`{"a":"b"}`, "a b"}, {`{"a":[{"b":"x"}]}`, "a b"}, {`{"a":{"b":null}}`, "a b"},
		{`{"a.b":"x","a":{"c":{"b":"x"}}}`, "a b"}, {`[]`, "a"}, {`"a"`, ""}, {`{"a":"x"}`, ""},
	} {
		for _, kind := range []string{"string", "integer", "boolean"} {
			p := wire.Param{Header: "X", Path: strings.Fields(tc.path), Type: kind}
			if got, ok, err := p.Value(json.RawMessage(tc.arguments)); ok || got != "" || err != nil {
				t.Errorf("%s at %q: want none, got %q, %v, %v", tc.arguments, tc.path, got, ok, err)
			}
		}
	}
}

func TestValueIsReadAtItsExactPath(t *testing.T) {
	p := wire.Param{Header: "X", Path: []string{"a", "b", "é"}, Type: "string"}
	got, ok, err := p.Value(json.RawMessage(`{"b":{"é":"no"},"a":{"é":"no","b":{"x":[1,{"é":"no"}],"\u00e9":"yes"}},"é":"no"}`))
	if got != "yes" || !ok || err != nil {
		t.Errorf("want yes, got %q, %v, %v", got, ok, err)
	}
}

func TestValueOfAnotherTypeIsRefused(t *testing.T) {
	for _, tc := range []struct{ kind, argument, want string }{
		{"string", `1`, "type"}, {"string", `true`, "type"}, {"string", `{}`, "type"}, {"string", `["a"]`, "type"},
		{"string", `"\ud800"`, "type"}, {"string", `"` + strings.Repeat("x", 4097) + `"`, "longer"},
		{"boolean", `"true"`, "type"}, {"boolean", `1`, "type"}, {"boolean", `{}`, "type"},
		{"integer", `"1"`, "type"}, {"integer", `true`, "type"}, {"integer", `[]`, "type"},
		{"integer", `1.5`, "type"}, {"integer", `1e-1`, "type"}, {"integer", `15e-1`, "type"}, {"integer", `1e-99999999999999999999`, "type"},
		{"integer", `1e-9223372036854775808`, "type"}, {"integer", `0.1e-9223372036854775808`, "type"},
		{"integer", `9007199254740992`, "beyond"}, {"integer", `-9007199254740992`, "beyond"}, {"integer", `9007199254740993`, "beyond"},
		{"integer", `1e16`, "beyond"}, {"integer", `1e9223372036854775807`, "beyond"}, {"integer", `1e99999999999999999999`, "beyond"},
		{"integer", strings.Repeat("9", 400), "beyond"},
		{"number", `1`, "type"}, {"", `"x"`, "type"},
	} {
		p := wire.Param{Header: "X", Path: []string{"a"}, Type: tc.kind}
		got, ok, err := p.Value(json.RawMessage(`{"a":` + tc.argument + `}`))
		if err == nil || ok || got != "" || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s %.60s: want an error about %s, got %q, %v, %v", tc.kind, tc.argument, tc.want, got, ok, err)
		}
	}
}

// FuzzParams checks that whatever a schema and its arguments say, what would
// be sent is a header, once, and says what the argument says.
func FuzzParams(f *testing.F) {
	f.Add([]byte(properties(`"a":`+marked)), []byte(`{"a":"x"}`))
	f.Add([]byte(properties(`"a":{"properties":{"b":{"type":"integer","x-mcp-header":"B"}}}`)), []byte(`{"a":{"b":1e2}}`))
	f.Add([]byte(properties(`"a":{"type":["boolean","null"],"x-mcp-header":"B"}`)), []byte(`{"a":true}`))
	f.Add([]byte(`{"items":`+marked+`}`), []byte(`{}`))
	f.Add([]byte(properties(`"a":{"type":"integer","x-mcp-header":"B"}`)), []byte(`{"a":0.1e-9223372036854775808}`))
	f.Fuzz(func(t *testing.T, schema, arguments []byte) {
		params, err := wire.Params(schema)
		if err != nil && params != nil {
			t.Fatalf("an invalid schema has %v", params)
		}
		read := wire.ReadObject(arguments) == nil
		seen := map[string]bool{}
		for _, p := range params {
			if wire.FieldName(p.Header) != nil || seen[strings.ToLower(p.Header)] || len(p.Path) == 0 {
				t.Fatalf("%s: parameter %+v of %v", schema, p, params)
			}
			seen[strings.ToLower(p.Header)] = true
			value, ok, err := p.Value(arguments)
			if !ok && value != "" || ok && err != nil {
				t.Fatalf("%s: %+v has %q, %v, %v", arguments, p, value, ok, err)
			}
			if !ok || !read {
				continue
			}
			if err := wire.HeaderValue(value); err != nil {
				t.Fatalf("%s: %+v has %q: %v", arguments, p, value, err)
			}
			checkSays(t, p, value, arguments)
		}
	})
}

// checkSays compares a header's value with the argument, read another way.
func checkSays(t *testing.T, p wire.Param, value string, arguments []byte) {
	t.Helper()
	said, err := wire.DecodeName(value)
	if err != nil {
		t.Fatalf("%q cannot be decoded: %v", value, err)
	}
	raw := json.RawMessage(arguments)
	for _, name := range p.Path {
		var object map[string]json.RawMessage
		if err := json.Unmarshal(raw, &object); err != nil {
			t.Fatalf("%s has no %v: %v", arguments, p.Path, err)
		}
		raw = object[name]
	}
	switch p.Type {
	case "string":
		var text string
		if json.Unmarshal(raw, &text) != nil || text != said {
			t.Fatalf("%s is sent as %q", raw, said)
		}
	case "boolean":
		if string(raw) != said {
			t.Fatalf("%s is sent as %q", raw, said)
		}
	default:
		if at := strings.IndexAny(string(raw), "eE"); at >= 0 && len(raw)-at > 5 {
			return // big.Rat would write out what the exponent says
		}
		argument, _ := new(big.Rat).SetString(string(raw))
		sent, _ := new(big.Rat).SetString(said)
		if argument == nil || sent == nil || argument.Cmp(sent) != 0 {
			t.Fatalf("%s is sent as %q", raw, said)
		}
	}
}
