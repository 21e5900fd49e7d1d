package stdio_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"mcprelay/shared/call"
	"mcprelay/shared/stdio"
	"mcprelay/shared/wire"
)

// everyAsk are the requests that an agent has besides a tool's, and the params
// that each is written as.
var everyAsk = map[call.Operation]struct {
	change func(*stdio.Request)
	params string
}{
	call.OperationResourcesRead: {func(r *stdio.Request) { r.Resource = "test://a/b" }, `"uri":"test://a/b"`},
	call.OperationPromptsGet: {func(r *stdio.Request) {
		r.Prompt, r.Arguments = "greet", json.RawMessage(`{ "n" : "1.0" }`)
	}, `"name":"greet","arguments":{ "n" : "1.0" }`},
	call.OperationComplete: {func(r *stdio.Request) {
		r.Resource, r.Argument, r.Context = "test://t/{x}", json.RawMessage(`{"name":"x","value":"v"}`), json.RawMessage(`{"arguments":{"m":"1"}}`)
	}, `"ref":{"type":"ref/resource","uri":"test://t/{x}"},"argument":{"name":"x","value":"v"},"context":{"arguments":{"m":"1"}}`},
}

// asks is a request of that kind, with a tool and arguments that are not its own.
func asks(spec stdio.Spec, operation call.Operation, change func(*stdio.Request)) stdio.Request {
	r := ask(spec, "rm")
	r.Operation = operation
	change(&r)
	return r
}

func TestEachRequestIsWrittenAsItsMethodInBothEras(t *testing.T) {
	p := newPool(t, nil)
	for method, tt := range everyAsk {
		for _, era := range []string{stdio.Modern, stdio.Legacy} {
			r := asks(scripted(script{Era: era}), method, tt.change)
			r.Key = era
			reply := result(t, p, r)
			meta := ""
			if era == stdio.Modern {
				meta = `,"_meta":{` + modernMeta + `}`
			}
			asked, _ := wire.Member(reply.Result, "asked")
			id, _ := wire.Member(asked, "id")
			want := `{"jsonrpc":"2.0","id":` + string(id) + `,"method":"` + string(method) + `","params":{` + tt.params + meta + `}}`
			if diff := cmp.Diff(want, string(asked)); diff != "" || reply.Facts.Requests != 1 {
				t.Errorf("%s, %s: -want +got\n%s", method, era, diff)
			}
		}
	}
}

func TestARequestThatNamesNothingIsNotWritten(t *testing.T) {
	p := newPool(t, nil)
	for operation := range everyAsk {
		r := asks(scripted(script{}), operation, func(*stdio.Request) {})
		got, facts := refused(t, within(t), p, r)
		if got.Reason != call.Internal || facts.PID != 0 {
			t.Errorf("%s: got %v, process %d", operation, got, facts.PID)
		}
	}
}

func TestErrorsOfTheServerAreAnswers(t *testing.T) {
	p := newPool(t, nil)
	for method, tt := range everyAsk {
		for _, era := range []string{stdio.Modern, stdio.Legacy} {
			for _, code := range []int{-32021, -32601} {
				r := asks(scripted(script{Era: era, Fails: string(method), Code: code}), method, tt.change)
				reply, err := p.Call(within(t), r)
				if err != nil || reply.Error == nil || reply.Error.Code != int64(code) || reply.Facts.Requests != 1 || reply.Facts.Era != era {
					t.Errorf("%s, %s, %d: got %+v, error %v", method, era, code, reply, err)
				}
			}
		}
	}
}

// answering has an agent answer what a server asked it for.
func answering(r stdio.Request) stdio.Request {
	r.Capabilities = json.RawMessage(`{"elicitation":{}}`)
	r.InputResponses, r.RequestState = json.RawMessage(`{"ok":{"action":"decline"}}`), json.RawMessage(`"st\u0061te"`)
	return r
}

func TestAModernServerIsToldWhatTheAgentCanBeAskedForAndWhatItAnswers(t *testing.T) {
	p := newPool(t, nil)
	r := ask(scripted(script{}), "echo")
	result(t, p, answering(r))
	log := logOf(t, p, r)
	want := `{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"echo","arguments":{},"inputResponses":{"ok":{"action":"decline"}},"requestState":"st\u0061te","_meta":{` +
		strings.Replace(modernMeta, `Capabilities":{}`, `Capabilities":{"elicitation":{}}`, 1) + `}}}`
	if diff := cmp.Diff(want, log[len(log)-2]); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
	for _, line := range []string{log[0], log[len(log)-1]} {
		if strings.Contains(line, "elicitation") {
			t.Errorf("told of the agent of another request: %s", line)
		}
	}
}

// TestAnswersGoToNoServerThatCannotHaveAsked: it would run what the agent may
// have declined. Nor is it told that the agent can be asked.
func TestAnswersGoToNoServerThatCannotHaveAsked(t *testing.T) {
	p := newPool(t, nil)
	r := ask(scripted(script{Era: "legacy"}), "echo")
	got, facts := refused(t, within(t), p, answering(r))
	want(t, got, call.StateRefused, call.ImpactNone)
	if facts.Requests != 0 {
		t.Errorf("it was asked: %+v", facts)
	}
	able := answering(r)
	able.InputResponses, able.RequestState = nil, nil
	result(t, p, able)
	if log := strings.Join(logOf(t, p, r), "\n"); strings.Contains(log, "elicitation") || strings.Contains(log, "decline") {
		t.Errorf("it was told:\n%s", log)
	}
	turned := answering(ask(scripted(script{Era: "either", Refuses: []string{"2026-07-28"}, Offers: []string{"2026-07-28", "2025-11-25"}}), "echo"))
	turned.Key = "turned"
	got, facts = refused(t, within(t), p, turned)
	want(t, got, call.StateRefused, call.ImpactNone)
	if facts.Requests != 1 || facts.Era != stdio.Legacy {
		t.Errorf("a server that became legacy: %+v", facts)
	}
}

func TestWhatAServerSaysOfItselfIsAFactOfEveryCall(t *testing.T) {
	for _, era := range []string{stdio.Modern, stdio.Legacy} {
		p := newPool(t, nil)
		r := ask(scripted(script{Era: era, Caps: `{"prompts":{},"completions":{},"logging":null}`, Advice: `"Ask \u001bfirst.\n"`}), "echo")
		for _, how := range []string{stdio.SessionNew, stdio.SessionReused} {
			f := result(t, p, r).Facts
			if f.Session != how || f.Offers != call.Announced|call.OffersPrompts|call.OffersCompletions || f.Instructions != "Ask first.\n" {
				t.Errorf("%s, %s: got %+v", era, how, f)
			}
		}
		r.List = call.ListResources
		if reply, err := p.List(within(t), r); err != nil || reply.Facts.Instructions != "Ask first.\n" || reply.Facts.Requests != 0 {
			t.Errorf("%s, a list: got %+v, error %v", era, reply.Facts, err)
		}
	}
}

// TestToolsAreAskedForWhateverIsAnnounced: servers in the field forget them.
func TestToolsAreAskedForWhateverIsAnnounced(t *testing.T) {
	p := newPool(t, nil)
	r := listed(call.ListTools, "modern", map[string]string{"tools/list ": `{"tools":[1]}`})
	r.Spec.Env = append(scripted(script{Caps: `{"resources":{}}`}).Env, r.Spec.Env[3])
	if reply, err := p.List(within(t), r); err != nil || len(reply.Items) != 1 {
		t.Errorf("got %+v, error %v", reply, err)
	}
}

// TestNothingOfAListIsHandedOn: it is the relay's own question.
func TestNothingOfAListIsHandedOn(t *testing.T) {
	p := newPool(t, nil)
	r := listed(call.ListTools, "modern", map[string]string{"tools/list ": `{"tools":[]}`})
	r.Spec.Env = append(scripted(script{Tells: "tools/list"}).Env, r.Spec.Env[3])
	r.Meta = json.RawMessage(`{"progressToken":7}`)
	r.Notify = func(method string, _ json.RawMessage) { t.Errorf("%s was handed on", method) }
	reply, err := p.List(within(t), r)
	if err != nil || reply.Facts.Notifications != 2 {
		t.Errorf("got %+v, error %v", reply, err)
	}
}

// completeSDK says what it was asked.
func completeSDK(_ context.Context, r *mcp.CompleteRequest) (*mcp.CompleteResult, error) {
	values := []string{r.Params.Ref.Type, r.Params.Ref.Name + r.Params.Ref.URI, r.Params.Argument.Name, r.Params.Argument.Value}
	return &mcp.CompleteResult{Completion: mcp.CompletionResultDetails{Values: values}}, nil
}

// addSDKAsks gives a server what else there is to ask for.
func addSDKAsks(server *mcp.Server) {
	server.AddResource(&mcp.Resource{URI: "test://a/b", Name: "b"}, func(_ context.Context, r *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
		return &mcp.ReadResourceResult{Contents: []*mcp.ResourceContents{{URI: r.Params.URI, Text: "read"}}}, nil
	})
	server.AddPrompt(&mcp.Prompt{Name: "greet", Arguments: []*mcp.PromptArgument{{Name: "n"}}}, func(_ context.Context, r *mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
		return &mcp.GetPromptResult{Messages: []*mcp.PromptMessage{{Role: "user", Content: &mcp.TextContent{Text: "hello " + r.Params.Arguments["n"]}}}}, nil
	})
}

// TestServersOfOthersAreAskedForEverything: a modern one of the Go SDK, and a
// legacy one of the TypeScript SDK.
func TestServersOfOthersAreAskedForEverything(t *testing.T) {
	everything := map[call.Operation]func(*stdio.Request){
		call.OperationResourcesRead: func(r *stdio.Request) { r.Resource = "demo://resource/dynamic/text/1" },
		call.OperationPromptsGet:    func(r *stdio.Request) { r.Prompt, r.Arguments = "args-prompt", json.RawMessage(`{"city":"Bern"}`) },
		call.OperationComplete: func(r *stdio.Request) {
			r.Resource, r.Argument = "demo://resource/dynamic/text/{resourceId}", json.RawMessage(`{"name":"resourceId","value":"1"}`)
		},
	}
	members := map[call.Operation]string{call.OperationResourcesRead: "contents", call.OperationPromptsGet: "messages", call.OperationComplete: "completion"}
	for name, spec := range others(t) {
		if name == "everything-server" {
			continue // the Go SDK is there already
		}
		p := newPool(t, nil)
		for operation, tt := range everyAsk {
			change := tt.change
			if name == "everything" {
				change = everything[operation]
			}
			reply := result(t, p, asks(spec, operation, change))
			if value, ok := wire.Member(reply.Result, members[operation]); !ok || len(value) < 3 {
				t.Errorf("%s, %s: got %s", name, operation, reply.Result)
			}
			if f := reply.Facts; f.Instructions == "" || !f.Offers.Has(call.Announced|call.OffersTools|call.OffersResources|call.OffersPrompts|call.OffersCompletions) {
				t.Errorf("%s, %s: got %s", name, operation, fmt.Sprintf("%+v", f))
			}
		}
	}
}
