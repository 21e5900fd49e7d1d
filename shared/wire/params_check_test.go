package wire_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"mcprelay/shared/call"
	"mcprelay/shared/wire"
)

// mirrored are the parameters of the tests below.
func mirrored() []wire.Param {
	return []wire.Param{
		{Header: "Region", Path: []string{"region"}, Type: "string"},
		{Header: "limit", Path: []string{"page", "limit"}, Type: "integer"},
		{Header: "Dry-Run", Path: []string{"dry"}, Type: "boolean"},
	}
}

// sent are headers, as pairs of a name and a value.
func sent(pairs ...string) http.Header {
	h := http.Header{}
	for i := 0; i < len(pairs); i += 2 {
		h.Add(pairs[i], pairs[i+1])
	}
	return h
}

func TestHeadersThatRepeatTheArgumentsPass(t *testing.T) {
	for _, c := range []struct {
		arguments string
		headers   http.Header
	}{
		{``, sent()},
		{`{}`, sent()},
		{`{"region":null,"page":{},"dry":null}`, sent()},
		{`{"region":"eu","page":{"limit":7},"dry":false}`, sent("Mcp-Param-Region", "eu", "Mcp-Param-Limit", "7", "Mcp-Param-Dry-Run", "false")},
		{`{"region":"\u0065u"}`, sent("mcp-param-REGION", " eu\t")},
		{`{"region":"eu"}`, sent("Mcp-Param-Region", "=?base64?ZXU=?=")},
		{`{"region":"Zürich"}`, sent("Mcp-Param-Region", "=?base64?WsO8cmljaA==?=")},
		{`{"region":"a, b"}`, sent("Mcp-Param-Region", "a, b")},
		{`{"region":" eu "}`, sent("Mcp-Param-Region", "=?base64?IGV1IA==?=")},
		{`{"region":"=?base64?ZXU=?="}`, sent("Mcp-Param-Region", wire.EncodeName("=?base64?ZXU=?="))},
		{`{"region":""}`, sent("Mcp-Param-Region", "")},
		{`{"region":""}`, sent("Mcp-Param-Region", "=?base64??=")},
		{`{"page":{"limit":42}}`, sent("Mcp-Param-Limit", "42.0")},
		{`{"page":{"limit":4.2e1}}`, sent("Mcp-Param-Limit", "42")},
		{`{"page":{"limit":100}}`, sent("Mcp-Param-Limit", "1E2")},
		{`{"page":{"limit":-0}}`, sent("Mcp-Param-Limit", "0")},
		{`{"page":{"limit":9007199254740991}}`, sent("Mcp-Param-Limit", "9007199254740991")},
		{`{"page":{"limit":5}}`, sent("Mcp-Param-Limit", "=?base64?NQ==?=")},
		{`{"region":"eu"}`, sent("Mcp-Param-Region", "eu", "Mcp-Param-Other", "x", "Mcp-Param-Other", "y", "Mcp-Name", "z")},
	} {
		if refusal := wire.CheckParams(c.headers, mirrored(), json.RawMessage(c.arguments)); refusal != nil {
			t.Errorf("%s with %v: %v", c.arguments, c.headers, refusal)
		}
	}
}

func TestHeadersThatContradictTheArgumentsAreRefused(t *testing.T) {
	for _, c := range []struct {
		arguments string
		headers   http.Header
		want      string
	}{
		{`{"region":"eu"}`, sent(), "missing"},
		{`{"region":""}`, sent(), "missing"},
		{`{"page":{"limit":0}}`, sent("Mcp-Param-Region-Limit", "0"), "missing"},
		{`{"region":"eu"}`, sent("Mcp-Param-Region", "us"), "differs"},
		{`{"region":"eu"}`, sent("Mcp-Param-Region", "EU"), "differs"},
		{`{"region":"eu"}`, sent("Mcp-Param-Region", ""), "differs"},
		{`{"region":"eu"}`, sent("Mcp-Param-Region", "eu, us"), "differs"},
		{`{"region":"42"}`, sent("Mcp-Param-Region", "42.0"), "differs"},
		{`{"region":"eu"}`, sent("Mcp-Param-Region", "=?base64?dXM=?="), "differs"},
		{`{"region":"=?base64?ZXU=?="}`, sent("Mcp-Param-Region", "=?base64?ZXU=?="), "differs"},
		{`{"region":"eu"}`, sent("Mcp-Param-Region", "=?base64?ZX!?="), "malformed"},
		{`{"region":"\ufffd"}`, sent("Mcp-Param-Region", "=?base64?/w==?="), "malformed"},
		{`{"region":"eu"}`, sent("Mcp-Param-Region", "eu", "Mcp-Param-Region", "eu"), "more than once"},
		{`{}`, sent("Mcp-Param-Region", "eu", "mcp-param-region", "eu"), "more than once"},
		{`{}`, sent("Mcp-Param-Region", "eu"), "absent or null"},
		{``, sent("Mcp-Param-Region", ""), "absent or null"},
		{`{"region":null}`, sent("Mcp-Param-Region", "null"), "absent or null"},
		{`{"Region":"eu"}`, sent("Mcp-Param-Region", "eu"), "absent or null"},
		{`{"page":null}`, sent("Mcp-Param-Limit", "7"), "absent or null"},
		{`{"page":{"limit":7}}`, sent("Mcp-Param-Limit", "8"), "differs"},
		{`{"page":{"limit":7}}`, sent("Mcp-Param-Limit", "-7"), "differs"},
		{`{"page":{"limit":7}}`, sent("Mcp-Param-Limit", "7.5"), "malformed"},
		{`{"page":{"limit":7}}`, sent("Mcp-Param-Limit", ""), "malformed"},
		{`{"page":{"limit":7}}`, sent("Mcp-Param-Limit", "seven"), "malformed"},
		{`{"page":{"limit":7}}`, sent("Mcp-Param-Limit", "07"), "malformed"},
		{`{"page":{"limit":7}}`, sent("Mcp-Param-Limit", "+7"), "malformed"},
		{`{"page":{"limit":7}}`, sent("Mcp-Param-Limit", "7-"), "malformed"},
		{`{"page":{"limit":7}}`, sent("Mcp-Param-Limit", "7, 7"), "malformed"},
		{`{"page":{"limit":7}}`, sent("Mcp-Param-Limit", "=?base64?IDc=?="), "malformed"},
		{`{"page":{"limit":9007199254740991}}`, sent("Mcp-Param-Limit", "9007199254740993"), "malformed"},
		{`{"dry":true}`, sent("Mcp-Param-Dry-Run", "false"), "differs"},
		{`{"dry":true}`, sent("Mcp-Param-Dry-Run", "True"), "differs"},
		{`{"dry":true}`, sent("Mcp-Param-Dry-Run", "1"), "differs"},
		{`{"dry":"true"}`, sent("Mcp-Param-Dry-Run", "true"), "declared type"},
		{`{"page":{"limit":7.5}}`, sent("Mcp-Param-Limit", "7.5"), "declared type"},
		{`{"page":{"limit":9007199254740993}}`, sent("Mcp-Param-Limit", "9007199254740993"), "beyond"},
		{`{"region":"` + strings.Repeat("x", 4097) + `"}`, sent("Mcp-Param-Region", strings.Repeat("x", 4097)), "longer"},
		{`{"region":"eu","page":{"limit":7},"dry":true}`, sent("Mcp-Param-Region", "eu", "Mcp-Param-Limit", "7"), "missing"},
	} {
		refusal := wire.CheckParams(c.headers, mirrored(), json.RawMessage(c.arguments))
		if refusal == nil || refusal.Reason != call.HeaderMismatch || !strings.Contains(refusal.Detail, c.want) {
			t.Errorf("%.60s with %v: got %v, want header_mismatch about %q", c.arguments, c.headers, refusal, c.want)
		}
	}
}

func TestRefusedHeaderOfAnArgumentIsNotQuoted(t *testing.T) {
	for _, value := range []string{"confidential", "=?base64?confidential?=", ""} {
		refusal := wire.CheckParams(sent("Mcp-Param-Region", value, "Mcp-Param-Limit", value), mirrored(), json.RawMessage(`{"region":"private","page":{"limit":7}}`))
		if refusal == nil || strings.Contains(refusal.Error(), "confidential") || strings.Contains(refusal.Error(), "private") {
			t.Errorf("%q: got %v", value, refusal)
		}
	}
}

// FuzzCheckParams checks that what the relay itself would send passes, and
// that what passes says what the argument says.
func FuzzCheckParams(f *testing.F) {
	f.Add([]byte(`{"a":"x"}`), "x", uint8(0))
	f.Add([]byte(`{"a":1e2}`), "100.0", uint8(1))
	f.Add([]byte(`{"a":true}`), "true", uint8(2))
	f.Add([]byte(`{"a":"=?base64??="}`), "=?base64?PT9iYXNlNjQ/Pz0=?=", uint8(0))
	f.Fuzz(func(t *testing.T, arguments []byte, header string, kind uint8) {
		if wire.ReadObject(arguments) != nil {
			return
		}
		p := wire.Param{Header: "X", Path: []string{"a"}, Type: []string{"string", "integer", "boolean"}[kind%3]}
		value, ok, err := p.Value(arguments)
		own := sent()
		if ok {
			own = sent("Mcp-Param-X", value)
		}
		if refusal := wire.CheckParams(own, []wire.Param{p}, arguments); (refusal == nil) != (err == nil) {
			t.Fatalf("%s with %v: %v, %v", arguments, own, refusal, err)
		}
		if refusal := wire.CheckParams(sent("Mcp-Param-X", header), []wire.Param{p}, arguments); refusal != nil {
			if refusal.Reason != call.HeaderMismatch {
				t.Fatalf("%s with %q: %v", arguments, header, refusal)
			}
			return
		}
		if !ok || err != nil {
			t.Fatalf("%s with %q passes, though the argument is absent or unusable", arguments, header)
		}
		if at := strings.IndexAny(header, "eE"); kind%3 == 1 && at >= 0 && len(header)-at > 5 {
			return // big.Rat would write out what the exponent says
		}
		checkSays(t, p, strings.Trim(header, " \t"), arguments)
	})
}
