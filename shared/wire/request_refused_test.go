package wire_test

import (
	"fmt"
	"strings"
	"testing"

	"mcprelay/shared/call"
	"mcprelay/shared/wire"
)

func TestWhatIsNotStrictJSONIsRefused(t *testing.T) {
	for name, body := range map[string]string{
		"empty":                   "",
		"blanks":                  " \n",
		"byte order mark":         "\ufeff" + toolCall(""),
		"cut":                     `{"jsonrpc":"2.0","id":1`,
		"not JSON":                `hello`,
		"form data":               `a=1&b=2`,
		"single quotes":           `{'jsonrpc':'2.0'}`,
		"trailing comma":          `{"jsonrpc":"2.0","id":1,"method":"ping",}`,
		"comment":                 `{"jsonrpc":"2.0",/**/"id":1,"method":"ping"}`,
		"leading zero":            toolCall(`,"arguments":{"n":01}`),
		"NaN":                     toolCall(`,"arguments":{"n":NaN}`),
		"raw newline in string":   toolCall(",\"arguments\":{\"n\":\"a\nb\"}"),
		"second value":            toolCall("") + toolCall(""),
		"second value of a kind":  toolCall("") + " 1",
		"trailing brace":          toolCall("") + "}",
		"trailing NUL":            toolCall("") + "\x00",
		"invalid UTF-8 in value":  toolCall(",\"arguments\":{\"n\":\"\xff\"}"),
		"invalid UTF-8 in name":   toolCall(",\"arguments\":{\"\xc3\x28\":1}"),
		"UTF-8 of a surrogate":    toolCall(",\"arguments\":{\"n\":\"\xed\xa0\x80\"}"),
		"overlong UTF-8":          toolCall(",\"arguments\":{\"n\":\"\xc0\xaf\"}"),
		"lone surrogate escape":   toolCall(`,"arguments":{"n":"\ud800"}`),
		"reversed surrogates":     toolCall(`,"arguments":{"n":"\udc00\ud800"}`),
		"duplicate method":        `{"jsonrpc":"2.0","id":1,"method":"tools/list","method":"tools/call"}`,
		"duplicate params":        `{"jsonrpc":"2.0","id":1,"method":"ping","params":{},"params":{}}`,
		"duplicate name":          toolCall(`,"name":"danger"`),
		"duplicate arguments":     toolCall(`,"arguments":{},"arguments":{"a":1}`),
		"escaped duplicate":       toolCall(`,"n\u0061me":"danger"`),
		"duplicate deep inside":   toolCall(`,"arguments":{"a":[{"b":{"c":1,"c":2}}]}`),
		"duplicate in _meta":      toolCall(`,"_meta":{"progressToken":1,"progressToken":2}`),
		"duplicate in unknown":    `{"jsonrpc":"2.0","id":1,"method":"ping","x":{"a":1,"a":1}}`,
		"duplicate empty name":    toolCall(`,"arguments":{"":1,"":2}`),
		"depth beyond the bound":  toolCall(`,"arguments":{"a":` + nested(wire.MaxDepth-2) + `}`),
		"depth outside params":    `{"jsonrpc":"2.0","id":1,"method":"ping","x":` + nested(wire.MaxDepth) + `}`,
		"depth of ten thousand":   toolCall(`,"arguments":{"a":` + nested(10_000) + `}`),
		"depth without end":       strings.Repeat(`{"a":`, 100_000),
		"too many members":        toolCall(`,"arguments":` + members(wire.MaxMembers+1)),
		"too many members inside": toolCall(`,"arguments":{"a":[[` + members(wire.MaxMembers+1) + `]]}`),
		"too many parameters":     `{"jsonrpc":"2.0","id":1,"method":"ping","params":` + members(wire.MaxMembers+1) + `}`,
	} {
		t.Run(name, func(t *testing.T) {
			if reason, _ := refused(t, body); reason != call.BadJSON {
				t.Errorf("reason %q, want bad_json", reason)
			}
		})
	}
}

// nested is depth arrays inside each other.
func nested(depth int) string { return strings.Repeat("[", depth) + strings.Repeat("]", depth) }

// members is an object of n members.
func members(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, `,"m%d":":"`, i)
	}
	return "{" + b.String()[1:] + "}"
}

func TestBoundsAreExact(t *testing.T) {
	for name, body := range map[string]string{
		"deepest":              toolCall(`,"arguments":{"a":` + nested(wire.MaxDepth-3) + `}`),
		"deepest, objects":     toolCall(`,"arguments":` + strings.Repeat(`{"a":`, wire.MaxDepth-2) + `1` + strings.Repeat("}", wire.MaxDepth-2)),
		"most members":         toolCall(`,"arguments":` + members(wire.MaxMembers)),
		"members of two":       toolCall(`,"arguments":{"a":` + members(wire.MaxMembers-1) + `,"b":` + members(wire.MaxMembers) + `}`),
		"brackets in a string": toolCall(`,"arguments":{"a":"` + strings.Repeat(`[{\"\\`, 200) + `"}`),
		"long array":           toolCall(`,"arguments":{"a":[` + strings.Repeat("1,", 50_000) + `1]}`),
		"one MiB":              toolCall(`,"arguments":{"a":"` + strings.Repeat("x", wire.MaxBody-len(toolCall(`,"arguments":{"a":""}`))) + `"}`),
	} {
		t.Run(name, func(t *testing.T) {
			if reason, _ := refused(t, body); reason != "" {
				t.Errorf("reason %q, want none", reason)
			}
		})
	}
	if reason, _ := refused(t, strings.Repeat(" ", wire.MaxBody+1)); reason != call.TooLarge {
		t.Errorf("one byte over a MiB: %q, want too_large", reason)
	}
}

func TestWhatIsNoSingleRequestIsRefused(t *testing.T) {
	for name, body := range map[string]string{
		"batch":                         `[{"jsonrpc":"2.0","id":1,"method":"ping"}]`,
		"empty batch":                   `[]`,
		"batch after blanks":            " \r\n\t[]",
		"batch after a byte order mark": "\ufeff[]",
		"batch that is cut":             `[{"jsonrpc"`,
		"null":                          `null`,
		"string":                        `"ping"`,
		"number":                        `1`,
		"empty object":                  `{}`,
		"no jsonrpc":                    `{"id":1,"method":"ping"}`,
		"jsonrpc 1.0":                   `{"jsonrpc":"1.0","id":1,"method":"ping"}`,
		"jsonrpc number":                `{"jsonrpc":2.0,"id":1,"method":"ping"}`,
		"no method":                     `{"jsonrpc":"2.0","id":1}`,
		"empty method":                  `{"jsonrpc":"2.0","id":1,"method":""}`,
		"null method":                   `{"jsonrpc":"2.0","id":1,"method":null}`,
		"method number":                 `{"jsonrpc":"2.0","id":1,"method":1}`,
		"method with NUL":               `{"jsonrpc":"2.0","id":1,"method":"tools/call\u0000"}`,
		"method without end":            `{"jsonrpc":"2.0","id":1,"method":"` + strings.Repeat("m", 4097) + `"}`,
		"response":                      `{"jsonrpc":"2.0","id":1,"result":{}}`,
		"error response":                `{"jsonrpc":"2.0","id":1,"error":{"code":1,"message":""}}`,
		"request and response":          `{"jsonrpc":"2.0","id":1,"method":"ping","result":{}}`,
		"Method":                        `{"jsonrpc":"2.0","id":1,"method":"tools/list","Method":"tools/call"}`,
		"METHOD alone":                  `{"jsonrpc":"2.0","id":1,"METHOD":"tools/call"}`,
		"long s":                        `{"j` + "ſ" + `onrpc":"9","jsonrpc":"2.0","id":1,"method":"ping"}`,
		"long s in params":              `{"jsonrpc":"2.0","id":1,"method":"ping","param` + "ſ" + `":{}}`,
		"escaped long s":                `{"jsonrpc":"2.0","id":1,"method":"ping","param\u017f":{}}`,
		"ID":                            `{"jsonrpc":"2.0","id":1,"ID":2,"method":"ping"}`,
		"Params":                        `{"jsonrpc":"2.0","id":1,"method":"ping","Params":{}}`,
		"Result":                        `{"jsonrpc":"2.0","id":1,"method":"ping","Result":{}}`,
		"Error":                         `{"jsonrpc":"2.0","id":1,"method":"ping","eRROR":{}}`,
	} {
		t.Run(name, func(t *testing.T) {
			if reason, _ := refused(t, body); reason != call.BadRequest {
				t.Errorf("reason %q, want bad_request", reason)
			}
		})
	}
}

func TestParametersOfTheWrongKindAreRefused(t *testing.T) {
	for name, body := range map[string]string{
		"params array":           `{"jsonrpc":"2.0","id":1,"method":"ping","params":[]}`,
		"params string":          `{"jsonrpc":"2.0","id":1,"method":"ping","params":"x"}`,
		"name number":            `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":1}}`,
		"name object":            `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":{}}}`,
		"uri array":              `{"jsonrpc":"2.0","id":1,"method":"resources/read","params":{"uri":[]}}`,
		"cursor number":          `{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"cursor":1}}`,
		"arguments array":        toolCall(`,"arguments":[]`),
		"arguments string":       toolCall(`,"arguments":"{}"`),
		"_meta array":            toolCall(`,"_meta":[]`),
		"version number":         toolCall(`,"_meta":{"io.modelcontextprotocol/protocolVersion":2026}`),
		"capabilities array":     toolCall(`,"_meta":{"io.modelcontextprotocol/clientCapabilities":[]}`),
		"capabilities true":      toolCall(`,"_meta":{"io.modelcontextprotocol/clientCapabilities":true}`),
		"progressToken object":   toolCall(`,"_meta":{"progressToken":{}}`),
		"progressToken true":     toolCall(`,"_meta":{"progressToken":true}`),
		"no params":              `{"jsonrpc":"2.0","id":1,"method":"tools/call"}`,
		"no name":                `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{}}`,
		"empty name":             `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":""}}`,
		"no prompt name":         `{"jsonrpc":"2.0","id":1,"method":"prompts/get","params":{"uri":"x"}}`,
		"no uri":                 `{"jsonrpc":"2.0","id":1,"method":"resources/read","params":{"name":"x"}}`,
		"name with NUL":          `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo\u0000"}}`,
		"name with escape":       `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"\u001b[2J"}}`,
		"name with DEL":          `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"a\u007f"}}`,
		"uri with newline":       `{"jsonrpc":"2.0","id":1,"method":"resources/read","params":{"uri":"a\nb"}}`,
		"uri without end":        `{"jsonrpc":"2.0","id":1,"method":"resources/read","params":{"uri":"` + strings.Repeat("u", 3*4096+129) + `"}}`,
		"name without end":       `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"` + strings.Repeat("n", 4097) + `"}}`,
		"Name":                   toolCall(`,"Name":"other"`),
		"Name alone":             `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"Name":"other"}}`,
		"ARGUMENTS":              toolCall(`,"ARGUMENTS":{}`),
		"argumentſ":              toolCall(`,"arguments":{},"argument` + "ſ" + `":{"a":1}`),
		"URI":                    toolCall(`,"URI":"x"`),
		"Cursor":                 toolCall(`,"Cursor":"x"`),
		"_Meta":                  toolCall(`,"_Meta":{}`),
		"RequestState":           toolCall(`,"RequestState":"x"`),
		"inputresponses":         toolCall(`,"inputresponses":{}`),
		"version in lower case":  toolCall(`,"_meta":{"io.modelcontextprotocol/protocolversion":"2025-06-18"}`),
		"version in upper case":  toolCall(`,"_meta":{"IO.MODELCONTEXTPROTOCOL/PROTOCOLVERSION":"2025-06-18"}`),
		"ProgressToken":          toolCall(`,"_meta":{"ProgressToken":1}`),
		"progressToKen (Kelvin)": toolCall(`,"_meta":{"progressTo` + "\u212a" + `en":1}`),
		"Traceparent":            toolCall(`,"_meta":{"Traceparent":"x"}`),
		"ClientInfo":             toolCall(`,"_meta":{"io.modelcontextprotocol/ClientInfo":{}}`),
	} {
		t.Run(name, func(t *testing.T) {
			if reason, r := refused(t, body); reason != call.BadParams || string(r.ID.Raw()) != "1" {
				t.Errorf("reason %q with id %s, want bad_params with 1", reason, r.ID.Raw())
			}
		})
	}
}
