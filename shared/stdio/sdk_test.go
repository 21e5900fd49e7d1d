package stdio_test

import (
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"mcprelay/shared/call"
	"mcprelay/shared/stdio"
	"mcprelay/shared/wire"
	"mcprelay/test/peers"
)

// serveSDK is the Go SDK's own server on stdin and stdout.
func serveSDK() {
	server := mcp.NewServer(&mcp.Implementation{Name: "peer", Version: "1"}, &mcp.ServerOptions{Instructions: "Ask first.", CompletionHandler: completeSDK})
	addSDKAsks(server)
	schema := json.RawMessage(`{"type":"object","properties":{"n":{"type":"integer"}}}`)
	server.AddTool(&mcp.Tool{Name: "echo", InputSchema: schema}, func(_ context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: string(r.Params.Arguments)}}}, nil
	})
	server.AddTool(&mcp.Tool{Name: "progress", InputSchema: schema}, func(ctx context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		for i := range 3 {
			err := r.Session.NotifyProgress(ctx, &mcp.ProgressNotificationParams{ProgressToken: r.Params.GetProgressToken(), Progress: float64(i)})
			if err != nil {
				return nil, err
			}
		}
		return &mcp.CallToolResult{Content: []mcp.Content{}}, nil
	})
	server.AddTool(&mcp.Tool{Name: "wait", InputSchema: schema}, func(ctx context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		_ = r.Session.NotifyProgress(ctx, &mcp.ProgressNotificationParams{ProgressToken: r.Params.GetProgressToken()})
		<-ctx.Done()
		return nil, ctx.Err()
	})
	if err := server.Run(context.Background(), &mcp.StdioTransport{}); err != nil {
		os.Exit(1)
	}
}

// others are servers that the relay's authors did not write.
func others(t *testing.T) map[string]stdio.Spec {
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := exec.LookPath("node"); err != nil {
		t.Fatal("node not installed: run `make setup`")
	}
	everything := filepath.Join(peers.CacheDir(), "npm", "node_modules", "@modelcontextprotocol", "server-everything", "dist", "index.js")
	if _, err := os.Stat(everything); err != nil {
		t.Fatal("npm packages not installed: run `make setup`")
	}
	return map[string]stdio.Spec{
		"go-sdk":            {Command: exe, Env: []string{envRole + "=sdk"}},
		"everything":        {Command: "node", Args: []string{everything, "stdio"}, Startup: stdioStartup},
		"everything-server": {Command: peers.Tool(t, "everything-server"), Startup: stdioStartup},
	}
}

// stdioStartup is the most that a start may take: node on a busy machine.
const stdioStartup = wait

func TestServersOfOthersAreOpenedListedAndCalled(t *testing.T) {
	calls := map[string]wire.Asked{
		"go-sdk":            {Tool: "echo", Arguments: json.RawMessage(`{"n":7}`)},
		"everything":        {Tool: "echo", Arguments: json.RawMessage(`{"message":"seven"}`)},
		"everything-server": {Tool: "test_simple_text", Arguments: json.RawMessage(`{}`)},
	}
	eras := map[string]string{"go-sdk": stdio.Modern, "everything": stdio.Legacy, "everything-server": stdio.Modern}
	for name, spec := range others(t) {
		t.Run(name, func(t *testing.T) {
			p := newPool(t, nil)
			r := stdio.Request{Key: "one", Server: name, Spec: spec, Asked: calls[name]}
			r.Operation = call.OperationToolsCall
			reply := result(t, p, r)
			if reply.IsError || reply.Facts.Era != eras[name] {
				t.Errorf("got %s, era %q, want era %s", reply.Result, reply.Facts.Era, eras[name])
			}
			for _, list := range []call.List{call.ListTools, call.ListResources, call.ListTemplates, call.ListPrompts} {
				r.List = list
				got, err := p.List(within(t), r)
				if err != nil || list == call.ListTools && len(got.Items) == 0 {
					t.Errorf("%s: %d items, error %v", list, len(got.Items), err)
				}
			}
			again := result(t, p, r)
			if again.Facts.PID != reply.Facts.PID || again.Facts.Session != stdio.SessionReused {
				t.Errorf("the process changed: %+v, then %+v", reply.Facts, again.Facts)
			}
		})
	}
}

func TestTheSDKsServerIsCancelledAndGoesOn(t *testing.T) {
	p := newPool(t, nil)
	r := stdio.Request{Key: "one", Spec: others(t)["go-sdk"], Asked: wire.Asked{Operation: call.OperationToolsCall, Tool: "progress", Arguments: json.RawMessage(`{}`)}, Meta: json.RawMessage(`{"progressToken":5}`)}
	steps := 0
	r.Notify = func(string, json.RawMessage) { steps++ }
	first := result(t, p, r)
	if steps != 3 {
		t.Errorf("got %d steps of progress, want 3", steps)
	}
	ctx, cancel := context.WithCancel(within(t))
	defer cancel()
	r.Tool, r.Notify = "wait", func(string, json.RawMessage) { cancel() }
	got, facts := refused(t, ctx, p, r)
	want(t, got, call.Cancelled, call.ImpactUnknown)
	if !facts.Cancelled {
		t.Error("the server was not told")
	}
	r.Tool = "echo"
	if again := result(t, p, r); again.Facts.PID != first.Facts.PID {
		t.Errorf("the process was ended: %d, then %d", first.Facts.PID, again.Facts.PID)
	}
}
