package demo_test

import (
	"context"
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// connect opens a session with the SDK's own client, which finds the era itself.
func connect(t *testing.T, version string, o *mcp.ClientOptions) *mcp.ClientSession {
	t.Helper()
	client := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, o)
	session, err := client.Connect(t.Context(),
		&mcp.StreamableClientTransport{Endpoint: start(t).URL(), DisableStandaloneSSE: true},
		&mcp.ClientSessionOptions{ProtocolVersion: version})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = session.Close() })
	return session
}

func TestTheClientOfTheSDKFindsTheTools(t *testing.T) {
	for _, version := range []string{"", "2025-11-25", "2025-06-18"} {
		t.Run("version "+version, func(t *testing.T) {
			list, err := connect(t, version, nil).ListTools(t.Context(), nil)
			if err != nil {
				t.Fatal(err)
			}
			var names []string
			for _, tool := range list.Tools {
				names = append(names, tool.Name)
			}
			if diff := cmp.Diff([]string{"add", "countdown", "echo", "fail"}, slices.Sorted(slices.Values(names))); diff != "" {
				t.Errorf("tools (-want +got):\n%s", diff)
			}
		})
	}
}

func TestNoListChangedIsAnnounced(t *testing.T) {
	got := connect(t, "2025-11-25", nil).InitializeResult()
	if got.Capabilities.Tools == nil || got.Capabilities.Tools.ListChanged {
		t.Errorf("want tools without listChanged, got %+v", got.Capabilities.Tools)
	}
	if got.ServerInfo.Name != "demo" || got.Instructions == "" {
		t.Errorf("want the server to say who it is, got %+v", got)
	}
}

func TestTools(t *testing.T) {
	session := connect(t, "", nil)
	for _, c := range []struct {
		rule, tool string
		arguments  any
		text       string
		isError    bool
	}{
		{"echo without text gives the arguments", "echo", map[string]any{"n": 1}, `{"n":1}`, false},
		{"echo with text gives the text", "echo", map[string]any{"text": "<hi>"}, "<hi>", false},
		{"echo of a text that is no string gives the arguments", "echo", map[string]any{"text": 5}, `{"text":5}`, false},
		{"add adds", "add", map[string]any{"a": 2, "b": 40}, "42", false},
		{"add keeps integers beyond 2^53", "add", map[string]any{"a": int64(9007199254740992), "b": 1}, "9007199254740993", false},
		{"add refuses a sum beyond 64 bits", "add", map[string]any{"a": int64(1<<63 - 1), "b": 1}, "the sum has more than 64 bits", true},
		{"add refuses a sum below 64 bits", "add", map[string]any{"a": int64(-1 << 63), "b": -1}, "the sum has more than 64 bits", true},
		{"add needs both", "add", map[string]any{"a": 1}, "both a and b are needed", true},
		{"add needs both, even of nothing", "add", nil, "both a and b are needed", true},
		{"add refuses members it does not know", "add", map[string]any{"a": 1, "b": 2, "c": 3}, `reading the arguments: json: unknown field "c"`, true},
		{"countdown arrives", "countdown", map[string]any{"from": 2}, "lift-off", false},
		{"countdown is bounded above", "countdown", map[string]any{"from": 21}, "from must be 1 to 20 and pause_ms 0 to 1000", true},
		{"countdown is bounded below", "countdown", map[string]any{"from": 0}, "from must be 1 to 20 and pause_ms 0 to 1000", true},
		{"countdown pauses are bounded", "countdown", map[string]any{"from": 1, "pause_ms": 1001}, "from must be 1 to 20 and pause_ms 0 to 1000", true},
		{"fail fails", "fail", map[string]any{}, "this tool always fails", true},
	} {
		t.Run(c.rule, func(t *testing.T) {
			got, err := session.CallTool(t.Context(), &mcp.CallToolParams{Name: c.tool, Arguments: c.arguments})
			if err != nil {
				t.Fatal(err)
			}
			text := got.Content[0].(*mcp.TextContent).Text
			if text != c.text || got.IsError != c.isError {
				t.Errorf("got %q, error %v, want %q, error %v", text, got.IsError, c.text, c.isError)
			}
		})
	}
}

func TestCountdownReportsEachStep(t *testing.T) {
	for _, version := range []string{"", "2025-11-25"} {
		t.Run("version "+version, func(t *testing.T) {
			steps := make(chan string, 3)
			session := connect(t, version, &mcp.ClientOptions{
				ProgressNotificationHandler: func(_ context.Context, r *mcp.ProgressNotificationClientRequest) {
					steps <- fmt.Sprintf("%v of %v: %s", r.Params.Progress, r.Params.Total, r.Params.Message)
				},
			})
			params := &mcp.CallToolParams{Name: "countdown", Arguments: map[string]any{"from": 3, "pause_ms": 1}}
			params.SetProgressToken("step")
			if _, err := session.CallTool(t.Context(), params); err != nil {
				t.Fatal(err)
			}
			for _, want := range []string{"1 of 3: 2 to go", "2 of 3: 1 to go", "3 of 3: 0 to go"} {
				if got := <-steps; got != want {
					t.Errorf("got %q, want %q", got, want)
				}
			}
		})
	}
}

func TestAnUnknownToolIsAProtocolError(t *testing.T) {
	if _, err := connect(t, "", nil).CallTool(t.Context(), &mcp.CallToolParams{Name: "nope"}); err == nil {
		t.Error("want an error for a tool that is not there")
	}
}
