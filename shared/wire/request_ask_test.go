package wire_test

import (
	"strings"
	"testing"

	"mcprelay/shared/call"
	"mcprelay/shared/wire"
)

// completion is a request for completions with the given text after what it
// must have.
func completion(rest string) string {
	return `{"jsonrpc":"2.0","id":1,"method":"completion/complete","params":{"ref":{"type":"ref/prompt","name":"greet"},"argument":{"name":"who","value":"Ad"}` + rest + `}}`
}

// resumed is a call that was interrupted by a question of the server.
const resumed = `{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"deploy","requestState":"a\u0062c","inputResponses":{"q1":{"action":"accept","content":{"n":1.0}}},` +
	`"_meta":{"io.modelcontextprotocol/logLevel":"info","io.modelcontextprotocol/clientCapabilities":{"elicitation":{ }}}}}`

func TestCompletionSaysWhatItIsOf(t *testing.T) {
	r := read(t, completion(`,"context":{"arguments":{"tone":"\u006dild"}}`))
	if want := (wire.Ref{Type: wire.RefPrompt, Name: "greet"}); r.Ref != want {
		t.Errorf("Ref = %+v, want %+v", r.Ref, want)
	}
	if got, want := string(r.Argument), `{"name":"who","value":"Ad"}`; got != want {
		t.Errorf("Argument = %s, want %s", got, want)
	}
	if got, want := string(r.Context), `{"arguments":{"tone":"\u006dild"}}`; got != want {
		t.Errorf("Context = %s, want %s", got, want)
	}
	if r.Name != "" || r.URI != "" {
		t.Errorf("the name or the uri of ref is taken for a parameter: %+v", r)
	}
	r = read(t, `{"jsonrpc":"2.0","id":1,"method":"completion/complete","params":{"argument":{"value":"","name":""},"ref":{"uri":"db:///{table}","type":"ref/resource","title":"T"},"context":null}}`)
	if want := (wire.Ref{Type: wire.RefResource, URI: "db:///{table}"}); r.Ref != want || r.Context != nil {
		t.Errorf("Ref = %+v, Context = %s, want %+v and none", r.Ref, r.Context, want)
	}
}

func TestCompletionWithoutWhatItIsOfIsRefused(t *testing.T) {
	const ref, argument = `"ref":{"type":"ref/prompt","name":"greet"}`, `"argument":{"name":"who","value":"A"}`
	for name, params := range map[string]string{
		"no parameters":              ``,
		"no ref":                     argument,
		"no argument":                ref,
		"ref null":                   `"ref":null,` + argument,
		"ref string":                 `"ref":"greet",` + argument,
		"ref array":                  `"ref":[],` + argument,
		"ref empty":                  `"ref":{},` + argument,
		"ref of another type":        `"ref":{"type":"ref/tool","name":"greet"},` + argument,
		"ref of a type in capitals":  `"ref":{"type":"REF/PROMPT","name":"greet"},` + argument,
		"ref without type":           `"ref":{"name":"greet"},` + argument,
		"ref type null":              `"ref":{"type":null,"name":"greet"},` + argument,
		"ref type number":            `"ref":{"type":1,"name":"greet"},` + argument,
		"prompt without name":        `"ref":{"type":"ref/prompt","uri":"a:b"},` + argument,
		"prompt with empty name":     `"ref":{"type":"ref/prompt","name":""},` + argument,
		"prompt name number":         `"ref":{"type":"ref/prompt","name":1},` + argument,
		"prompt name with NUL":       `"ref":{"type":"ref/prompt","name":"a\u0000"},` + argument,
		"template without end":       `"ref":{"type":"ref/resource","uri":"` + strings.Repeat("u", 3*4096+129) + `"},` + argument,
		"prompt name without end":    `"ref":{"type":"ref/prompt","name":"` + strings.Repeat("n", 4097) + `"},` + argument,
		"resource without uri":       `"ref":{"type":"ref/resource","name":"a"},` + argument,
		"resource uri object":        `"ref":{"type":"ref/resource","uri":{}},` + argument,
		"resource uri with line":     `"ref":{"type":"ref/resource","uri":"a\nb"},` + argument,
		"case variant in ref":        `"ref":{"type":"ref/prompt","name":"greet","Name":"other"},` + argument,
		"case variant of type":       `"ref":{"TYPE":"x","type":"ref/prompt","name":"greet"},` + argument,
		"case variant of uri":        `"ref":{"type":"ref/prompt","name":"greet","Uri":"x"},` + argument,
		"case variant of ref":        `"Ref":{},` + ref + `,` + argument,
		"argument null":              ref + `,"argument":null`,
		"argument string":            ref + `,"argument":"who"`,
		"argument array":             ref + `,"argument":["who","A"]`,
		"argument empty":             ref + `,"argument":{}`,
		"argument without name":      ref + `,"argument":{"value":"A"}`,
		"argument without value":     ref + `,"argument":{"name":"who"}`,
		"argument value null":        ref + `,"argument":{"name":"who","value":null}`,
		"argument value number":      ref + `,"argument":{"name":"who","value":1}`,
		"argument name object":       ref + `,"argument":{"name":{},"value":"A"}`,
		"case variant in argument":   ref + `,"argument":{"name":"who","value":"A","Value":"B"}`,
		"case variant of the name":   ref + `,"argument":{"NAME":"x","name":"who","value":"A"}`,
		"case variant of argument":   ref + `,` + argument + `,"Argument":{}`,
		"context string":             ref + `,` + argument + `,"context":"x"`,
		"context array":              ref + `,` + argument + `,"context":[]`,
		"case variant of context":    ref + `,` + argument + `,"Context":{}`,
		"case variant by a long s":   ref + `,` + argument + `,"reque` + "ſ" + `tState":"x"`,
		"ref of another kind anyway": `"ref":{"type":"ref/resource","name":"greet","uri":null},` + argument,
	} {
		body := `{"jsonrpc":"2.0","id":1,"method":"completion/complete","params":{` + params + `}}`
		if reason, _ := refused(t, body); reason != call.BadParams {
			t.Errorf("%s: reason %q, want bad_params", name, reason)
		}
	}
}

func TestNamesInsideARefAreReadOnlyOneWay(t *testing.T) {
	for _, body := range []string{
		`{"jsonrpc":"2.0","id":1,"method":"completion/complete","params":{"ref":{"type":"ref/prompt","name":"a","n\u0061me":"b"},"argument":{"name":"who","value":"A"}}}`,
		`{"jsonrpc":"2.0","id":1,"method":"completion/complete","params":{"ref":{"type":"ref/prompt","name":"a"},"argument":{"name":"who","value":"A","value":"B"}}}`,
	} {
		if reason, _ := refused(t, body); reason != call.BadJSON {
			t.Errorf("%s: reason %q, want bad_json", body, reason)
		}
	}
}

func TestAnswersToAServersQuestionKeepTheirBytes(t *testing.T) {
	r := read(t, resumed)
	if got, want := string(r.InputResponses), `{"q1":{"action":"accept","content":{"n":1.0}}}`; got != want {
		t.Errorf("InputResponses = %s, want %s", got, want)
	}
	if r.RequestState != "abc" || !r.HasState {
		t.Errorf("RequestState = %q, %v, want abc", r.RequestState, r.HasState)
	}
	if got, want := string(r.Capabilities), `{"elicitation":{ }}`; got != want || !r.HasCapabilities {
		t.Errorf("Capabilities = %s, %v, want %s", got, r.HasCapabilities, want)
	}
	if r.LogLevel != "info" {
		t.Errorf("LogLevel = %q, want info", r.LogLevel)
	}
}

func TestAStateIsThereOrNot(t *testing.T) {
	for rest, want := range map[string]bool{``: false, `,"requestState":null`: false, `,"requestState":""`: true, `,"requestState":"x"`: true} {
		if r := read(t, toolCall(rest)); r.HasState != want {
			t.Errorf("%s: HasState = %v, want %v", rest, r.HasState, want)
		}
	}
	r := read(t, toolCall(`,"inputResponses":null,"_meta":{"io.modelcontextprotocol/logLevel":null,"io.modelcontextprotocol/clientCapabilities":null}`))
	if r.InputResponses != nil || r.LogLevel != "" || r.Capabilities != nil || r.HasCapabilities {
		t.Errorf("null counts as present: %+v", r)
	}
}

func TestAStateIsBoundedWithoutItsEscapes(t *testing.T) {
	longest := strings.Repeat("s", wire.MaxState-1)
	if r := read(t, toolCall(`,"requestState":"`+longest+`\u0073"`)); r.RequestState != longest+"s" {
		t.Errorf("a state of %d bytes became one of %d", wire.MaxState, len(r.RequestState))
	}
	if reason, _ := refused(t, toolCall(`,"requestState":"`+longest+`ss"`)); reason != call.BadParams {
		t.Errorf("one byte over the bound: %q, want bad_params", reason)
	}
}

func TestPartsOfAnAnswerOfTheWrongKindAreRefused(t *testing.T) {
	for _, rest := range []string{
		`,"requestState":1`, `,"requestState":{}`, `,"requestState":true`, `,"RequestState":"x"`, `,"requeststate":"x"`,
		`,"inputResponses":[]`, `,"inputResponses":"{}"`, `,"InputResponses":{}`, `,"inputresponses":{}`,
		`,"ref":7`, `,"argument":"x"`, `,"context":7`,
		`,"_meta":{"io.modelcontextprotocol/logLevel":7}`, `,"_meta":{"io.modelcontextprotocol/logLevel":{}}`, `,"_meta":{"io.modelcontextprotocol/loglevel":"info"}`,
		`,"_meta":{"io.modelcontextprotocol/logLevel":"loud"}`, `,"_meta":{"io.modelcontextprotocol/logLevel":""}`, `,"_meta":{"io.modelcontextprotocol/logLevel":"INFO"}`,
		`,"_meta":{"io.modelcontextprotocol/clientCapabilities":[]}`, `,"_meta":{"io.modelcontextprotocol/clientcapabilities":{}}`,
	} {
		if reason, _ := refused(t, toolCall(rest)); reason != call.BadParams {
			t.Errorf("%s: reason %q, want bad_params", rest, reason)
		}
	}
}

func TestPartsOfAnAnswerMayHoldAnything(t *testing.T) {
	for _, rest := range []string{
		`,"inputResponses":{"InputResponses":{"Name":1,"name":2}}`,
		`,"_meta":{"io.modelcontextprotocol/clientCapabilities":{"Sampling":{},"sampling":{}}}`,
	} {
		read(t, toolCall(rest))
	}
	read(t, completion(`,"context":{"Arguments":{},"arguments":{}},"title":1`))
}
