package clients_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// question is one request, in the words of MCP.
type question struct {
	Method    string          `json:"method"`
	Name      string          `json:"name,omitempty"` // of a tool or prompt
	URI       string          `json:"uri,omitempty"`
	Arguments json.RawMessage `json:"arguments,omitempty"`
}

// ask puts a question by some client and gives the result's JSON.
type ask func(t *testing.T, q question) []byte

// overHTTP is the Go SDK's way to an endpoint.
func overHTTP(endpoint string, headers map[string]string) mcp.Transport {
	return &mcp.StreamableClientTransport{
		Endpoint: endpoint, HTTPClient: &http.Client{Transport: withHeaders(headers)}, MaxRetries: -1, DisableStandaloneSSE: true,
	}
}

// connect opens a session of the Go SDK's client that offers servers nothing.
// An empty version lets the client find the era by itself.
func connect(t *testing.T, transport mcp.Transport, version string) *mcp.ClientSession {
	t.Helper()
	return connectWith(t, transport, version, nil)
}

func connectWith(t *testing.T, transport mcp.Transport, version string, progress func(*mcp.ProgressNotificationParams)) *mcp.ClientSession {
	t.Helper()
	options := &mcp.ClientOptions{Capabilities: &mcp.ClientCapabilities{}}
	if progress != nil {
		options.ProgressNotificationHandler = func(_ context.Context, r *mcp.ProgressNotificationClientRequest) { progress(r.Params) }
	}
	client := mcp.NewClient(&mcp.Implementation{Name: "clients", Version: "1"}, options)
	session, err := client.Connect(t.Context(), transport, &mcp.ClientSessionOptions{ProtocolVersion: version})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = session.Close() })
	return session
}

// overGo asks by the Go SDK's client.
func overGo(session *mcp.ClientSession) ask {
	return func(t *testing.T, q question) []byte {
		t.Helper()
		result, err := asked(t.Context(), session, q)
		if err != nil {
			t.Fatalf("%s %s%s: %v", q.Method, q.Name, q.URI, err)
		}
		text, err := json.Marshal(result)
		if err != nil {
			t.Fatal(err)
		}
		return text
	}
}

func asked(ctx context.Context, session *mcp.ClientSession, q question) (any, error) {
	switch q.Method {
	case "tools/call":
		return session.CallTool(ctx, &mcp.CallToolParams{Name: q.Name, Arguments: q.Arguments})
	case "resources/read":
		return session.ReadResource(ctx, &mcp.ReadResourceParams{URI: q.URI})
	case "prompts/get":
		var arguments map[string]string
		if err := json.Unmarshal(q.Arguments, &arguments); err != nil {
			return nil, err
		}
		return session.GetPrompt(ctx, &mcp.GetPromptParams{Name: q.Name, Arguments: arguments})
	case "tools/list":
		return collected("tools", session.Tools(ctx, nil))
	case "resources/list":
		return collected("resources", session.Resources(ctx, nil))
	case "resources/templates/list":
		return collected("resourceTemplates", session.ResourceTemplates(ctx, nil))
	case "prompts/list":
		return collected("prompts", session.Prompts(ctx, nil))
	}
	return nil, fmt.Errorf("nobody asks %s", q.Method)
}

// collected is a list of all pages, as one result.
func collected[T any](key string, pages func(func(T, error) bool)) (any, error) {
	items := []T{}
	for item, err := range pages {
		if err != nil {
			return nil, err
		}
		items = append(items, item)
	}
	return map[string][]T{key: items}, nil
}

func TestTheGoSDKClientGetsWhatTheServersSay(t *testing.T) {
	s := startScene(t)
	for _, version := range []string{"2026-07-28", "2025-11-25", "2025-06-18"} {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			for _, f := range faces() {
				t.Run(f.label, func(t *testing.T) {
					run := runOf(t)
					session := connect(t, overHTTP(s.url+f.path, headers(run)), version)
					if got := session.InitializeResult().ProtocolVersion; got != version {
						t.Errorf("the client speaks %s, want %s", got, version)
					}
					s.walk(t, f, overGo(session), lists)
					s.wantTrail(t, f, run)
				})
			}
		})
	}
}
