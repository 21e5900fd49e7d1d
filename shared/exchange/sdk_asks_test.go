package exchange_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"mcprelay/shared/call"
	"mcprelay/shared/exchange"
	"mcprelay/shared/session"
	"mcprelay/shared/wire"
)

// sdkCompletion says what it was asked.
func sdkCompletion(_ context.Context, r *mcp.CompleteRequest) (*mcp.CompleteResult, error) {
	already := ""
	if r.Params.Context != nil {
		already = r.Params.Context.Arguments["m"]
	}
	values := []string{r.Params.Ref.Type, r.Params.Ref.Name + r.Params.Ref.URI, r.Params.Argument.Name, r.Params.Argument.Value, already}
	return &mcp.CompleteResult{Completion: mcp.CompletionResultDetails{Values: values}}, nil
}

// addSDKAsks gives a server what else there is to ask for, each of which says
// what it was asked with, and a tool that asks back and logs.
func addSDKAsks(server *mcp.Server) {
	read := func(_ context.Context, r *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
		return &mcp.ReadResourceResult{Contents: []*mcp.ResourceContents{{URI: r.Params.URI, Text: "read"}}}, nil
	}
	server.AddResource(&mcp.Resource{URI: "test://a/b", Name: "b"}, read)
	server.AddResourceTemplate(&mcp.ResourceTemplate{URITemplate: "test://t/{x}", Name: "t"}, read)
	server.AddPrompt(&mcp.Prompt{Name: "greet", Arguments: []*mcp.PromptArgument{{Name: "n"}}}, func(_ context.Context, r *mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
		return &mcp.GetPromptResult{Messages: []*mcp.PromptMessage{{Role: "user", Content: &mcp.TextContent{Text: "hello " + r.Params.Arguments["n"]}}}}, nil
	})
	server.AddTool(&mcp.Tool{Name: "confirm", InputSchema: json.RawMessage(`{"type":"object"}`)}, func(ctx context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		//lint:ignore SA1019 servers of every revision log, for years to come
		_ = r.Session.Log(ctx, &mcp.LoggingMessageParams{Level: "info", Data: "asked"})
		if answer, ok := r.Params.InputResponses["ok"].(*mcp.ElicitResult); ok {
			return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: answer.Action + " " + r.Params.RequestState}}}, nil
		}
		question := &mcp.ElicitParams{Message: "sure?", RequestedSchema: json.RawMessage(`{"type":"object","properties":{}}`)}
		return &mcp.CallToolResult{InputRequests: mcp.InputRequestMap{"ok": question}, RequestState: "state 1"}, nil
	})
}

func TestSDKServerIsAskedForEverything(t *testing.T) {
	want := map[string]struct {
		change func(*exchange.Request)
		result string
	}{
		"resources/read":      {func(r *exchange.Request) { r.Resource = "test://a/b" }, `"contents":[{"uri":"test://a/b","text":"read"}]`},
		"resources/read #2":   {func(r *exchange.Request) { r.Resource = "test://t/%C3%A9" }, `"uri":"test://t/%C3%A9"`},
		"prompts/get":         {func(r *exchange.Request) { r.Prompt, r.Arguments = "greet", json.RawMessage(`{"n":"you"}`) }, `"text":"hello you"`},
		"completion/complete": {everyAsk["completion/complete"].change, `"values":["ref/prompt","greet","n","<&>","1"]`},
		"completion/complete #2": {func(r *exchange.Request) {
			r.Resource, r.Argument = "test://t/{x}", json.RawMessage(`{"name":"x","value":"v"}`)
		}, `"values":["ref/resource","test://t/{x}","x","v",""]`},
	}
	for name, peer := range sdkServers(t) {
		x := process(t, newStore())
		for method, tt := range want {
			method, _, _ := strings.Cut(method, " ")
			reply, err := x.Call(t.Context(), request(t, peer.server.url, asks(method, tt.change)))
			if err != nil || reply.Error != nil || !strings.Contains(string(reply.Result), tt.result) {
				t.Errorf("%s, %s: got %v, %+v, %s, want %s", name, method, err, reply.Error, reply.Result, tt.result)
			}
			f := reply.Facts
			if f.Era != peer.era || f.Posts != 1 || f.Instructions != advice || !f.Offers.Has(call.Announced|call.OffersTools|call.OffersResources|call.OffersPrompts|call.OffersCompletions|call.OffersLogging) {
				t.Errorf("%s, %s: got %+v", name, method, f)
			}
		}
		for method, change := range map[string]func(*exchange.Request){
			"resources/read": func(r *exchange.Request) { r.Resource = "test://nothing" },
			"prompts/get":    func(r *exchange.Request) { r.Prompt = "nothing" },
		} {
			reply, err := x.Call(t.Context(), request(t, peer.server.url, asks(method, change)))
			if err != nil || reply.Error == nil || reply.Result != nil {
				t.Errorf("%s, %s of nothing: want the server's error, got %v, %s", name, method, err, reply.Result)
			}
		}
	}
}

// TestSDKServerAsksTheAgent: the question is an answer to the call, and what the
// agent says to it goes with the next one.
func TestSDKServerAsksTheAgent(t *testing.T) {
	for name, peer := range sdkServers(t) {
		if peer.era != session.Modern {
			continue
		}
		x := process(t, nil)
		var log []string
		confirm := func(r *exchange.Request) {
			r.Tool, r.Capabilities = "confirm", json.RawMessage(`{"elicitation":{}}`)
			r.Meta = json.RawMessage(`{"io.modelcontextprotocol/logLevel":"debug"}`)
			r.Notify = func(method string, params json.RawMessage) { log = append(log, method+" "+string(params)) }
		}
		first, err := x.Call(t.Context(), request(t, peer.server.url, confirm))
		state, _ := wire.Member(first.Result, "requestState")
		if err != nil || first.ResultType != "input_required" || string(state) != `"state 1"` {
			t.Fatalf("%s: got %v, %+v, %s", name, err, first.Error, first.Result)
		}
		second, err := x.Call(t.Context(), request(t, peer.server.url, confirm, func(r *exchange.Request) {
			r.RequestState, r.InputResponses = state, json.RawMessage(`{"ok":{"action":"decline"}}`)
		}))
		if err != nil || !strings.Contains(string(second.Result), `"text":"decline state 1"`) {
			t.Errorf("%s: got %v, %+v, %s", name, err, second.Error, second.Result)
		}
		if name == "stateless" {
			if len(log) != 2 || !strings.Contains(fmt.Sprint(log), `notifications/message {"data":"asked","level":"info"`) {
				t.Errorf("handed on: %v", log)
			}
		}
	}
}
