package wire_test

import (
	"encoding/json"
	"testing"

	"mcprelay/shared/call"
	"mcprelay/shared/wire"
)

// asks are the four requests, and the params that each becomes: all its own
// members, and none of another one's.
func asks() map[string]struct {
	ask          wire.Ask
	params, name string
} {
	raw := func(s string) json.RawMessage { return json.RawMessage(s) }
	return map[string]struct {
		ask          wire.Ask
		params, name string
	}{
		"tool":                 {wire.Ask{Operation: call.OperationToolsCall, Name: "a\"b", Arguments: raw(`{ "n" : 1.0 }`)}, `,"name":"a\"b","arguments":{ "n" : 1.0 }`, "a\"b"},
		"tool, no arguments":   {wire.Ask{Operation: call.OperationToolsCall, Name: "a"}, `,"name":"a"`, "a"},
		"prompt":               {wire.Ask{Operation: call.OperationPromptsGet, Name: "p", Arguments: raw(`{"x":"<&>"}`)}, `,"name":"p","arguments":{"x":"<&>"}`, "p"},
		"resource":             {wire.Ask{Operation: call.OperationResourcesRead, URI: "file:///a b?x=<&>"}, `,"uri":"file:///a b?x=<&>"`, "file:///a b?x=<&>"},
		"completion, prompt":   {wire.Ask{Operation: call.OperationComplete, Name: "p", Argument: raw(`{"name":"x","value":""}`)}, `,"ref":{"type":"ref/prompt","name":"p"},"argument":{"name":"x","value":""}`, ""},
		"completion, template": {wire.Ask{Operation: call.OperationComplete, URI: "f:///{p}", Argument: raw(`{"name":"p","value":"v"}`), Context: raw(`{"arguments":{}}`)}, `,"ref":{"type":"ref/resource","uri":"f:///{p}"},"argument":{"name":"p","value":"v"},"context":{"arguments":{}}`, ""},
	}
}

func TestAnAskIsTheMembersOfItsParams(t *testing.T) {
	for name, tt := range asks() {
		if got := string(tt.ask.Append([]byte("{"), true)); got != "{"+tt.params {
			t.Errorf("%s: got %s, want {%s", name, got, tt.params)
		}
		if got := tt.ask.Mirrored(); got != tt.name {
			t.Errorf("%s: Mcp-Name is %q, want %q", name, got, tt.name)
		}
		if !tt.ask.Complete() || tt.ask.Answers() {
			t.Errorf("%s: complete %t, answers %t", name, tt.ask.Complete(), tt.ask.Answers())
		}
	}
}

// TestAnAskIsReadBackAsWhatItWas: what is written of it is what an agent could
// have sent.
func TestAnAskIsReadBackAsWhatItWas(t *testing.T) {
	for name, tt := range asks() {
		params := tt.ask.Append(nil, true)
		params[0] = '{'
		text := wire.AppendRequest(nil, wire.NumberID(1), string(tt.ask.Operation), append(params, '}'))
		got, refusal := wire.ReadRequest(text)
		if refusal != nil {
			t.Errorf("%s: %v of %s", name, refusal, text)
		}
		if tt.ask.Operation != call.OperationComplete && (got.Name != tt.ask.Name || got.URI != tt.ask.URI) ||
			tt.ask.Operation == call.OperationComplete && (got.Ref.Name != tt.ask.Name || got.Ref.URI != tt.ask.URI) {
			t.Errorf("%s: got %+v of %s", name, got, text)
		}
	}
}

func TestOnlyAModernServerGetsTheAnswersToItsQuestions(t *testing.T) {
	for name, tt := range asks() {
		a := tt.ask
		a.InputResponses, a.RequestState = json.RawMessage(`{"q":{"action":"decline"}}`), json.RawMessage(`"s\u0000"`)
		if got := string(a.Append(nil, true)); got != tt.params+`,"inputResponses":{"q":{"action":"decline"}},"requestState":"s\u0000"` {
			t.Errorf("%s, modern: got %s", name, got)
		}
		if got := string(a.Append(nil, false)); got != tt.params || !a.Answers() {
			t.Errorf("%s, legacy: got %s", name, got)
		}
	}
}

func TestAnAskNamesExactlyWhatItIsAbout(t *testing.T) {
	argument := json.RawMessage(`{}`)
	for name, a := range map[string]wire.Ask{
		"nothing":                     {},
		"another operation":           {Operation: call.OperationDiscover, Name: "a"},
		"a tool without a name":       {Operation: call.OperationToolsCall},
		"a tool with a URI":           {Operation: call.OperationToolsCall, Name: "a", URI: "u:"},
		"a prompt without a name":     {Operation: call.OperationPromptsGet},
		"a prompt with a URI":         {Operation: call.OperationPromptsGet, Name: "a", URI: "u:"},
		"a resource without a URI":    {Operation: call.OperationResourcesRead},
		"a resource with a name":      {Operation: call.OperationResourcesRead, Name: "a", URI: "u:"},
		"a completion of nothing":     {Operation: call.OperationComplete, Argument: argument},
		"a completion of both":        {Operation: call.OperationComplete, Name: "a", URI: "u:", Argument: argument},
		"a completion of no argument": {Operation: call.OperationComplete, Name: "a"},
	} {
		if a.Complete() {
			t.Errorf("%s is complete", name)
		}
	}
}
