package clients_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// notesArgument makes the test binary be the server below.
const notesArgument = "serve-notes"

// oddURI has what a form that is encoded once too little or too much breaks.
const oddURI = "notes://odd/a%20b/100%25?x=1&y=%2F#part"

// serveNotes is an MCP server on standard input and output.
func serveNotes() error {
	server := mcp.NewServer(&mcp.Implementation{Name: "notes", Version: "1"}, &mcp.ServerOptions{CompletionHandler: completeNotes})
	object := json.RawMessage(`{"type":"object"}`)
	server.AddTool(&mcp.Tool{Name: "note", Description: "Gives back its arguments.", InputSchema: object}, note)
	server.AddTool(&mcp.Tool{Name: "link", Description: "Names a note, and brings another.", InputSchema: object}, link)
	server.AddTool(&mcp.Tool{Name: "gate", Description: "Reports progress, then waits.", InputSchema: object}, gate)
	server.AddResource(&mcp.Resource{Name: "odd", URI: oddURI, MIMEType: "text/plain"}, readNote)
	server.AddResourceTemplate(&mcp.ResourceTemplate{Name: "by name", URITemplate: "notes://named/{name}"}, readNote)
	server.AddPrompt(&mcp.Prompt{Name: "summary", Arguments: []*mcp.PromptArgument{{Name: "topic", Required: true}}}, summary)
	return server.Run(context.Background(), &mcp.StdioTransport{})
}

func text(s string) []mcp.Content { return []mcp.Content{&mcp.TextContent{Text: s}} }

func note(_ context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	return &mcp.CallToolResult{Content: text(string(r.Params.Arguments)), StructuredContent: r.Params.Arguments}, nil
}

func link(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	return &mcp.CallToolResult{Content: []mcp.Content{
		&mcp.ResourceLink{URI: oddURI, Name: "odd"},
		&mcp.EmbeddedResource{Resource: &mcp.ResourceContents{URI: "notes://named/first", MIMEType: "text/plain", Text: "first"}},
	}}, nil
}

// gate reports progress and ends once the address that it is given lets it.
func gate(ctx context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	var in struct{ Address string }
	if err := json.Unmarshal(r.Params.Arguments, &in); err != nil {
		return nil, err
	}
	var dialer net.Dialer
	conn, err := dialer.DialContext(ctx, "tcp", in.Address)
	if err != nil {
		return nil, err
	}
	defer conn.Close()
	if err := r.Session.NotifyProgress(ctx, &mcp.ProgressNotificationParams{
		ProgressToken: r.Params.GetProgressToken(), Progress: 1, Total: 2, Message: "half",
	}); err != nil {
		return nil, fmt.Errorf("reporting progress: %w", err)
	}
	said, err := io.ReadAll(conn)
	if err != nil {
		return nil, err
	}
	return &mcp.CallToolResult{Content: text(string(said))}, nil
}

func readNote(_ context.Context, r *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
	return &mcp.ReadResourceResult{Contents: []*mcp.ResourceContents{{URI: r.Params.URI, MIMEType: "text/plain", Text: "the note " + r.Params.URI}}}, nil
}

func summary(_ context.Context, r *mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
	return &mcp.GetPromptResult{Messages: []*mcp.PromptMessage{
		{Role: "user", Content: &mcp.TextContent{Text: "Sum up " + r.Params.Arguments["topic"]}},
		{Role: "user", Content: &mcp.EmbeddedResource{Resource: &mcp.ResourceContents{URI: oddURI, MIMEType: "text/plain", Text: "odd"}}},
	}}, nil
}

// completeNotes says what it was asked about.
func completeNotes(_ context.Context, r *mcp.CompleteRequest) (*mcp.CompleteResult, error) {
	ref := r.Params.Ref
	return &mcp.CompleteResult{Completion: mcp.CompletionResultDetails{
		Values: []string{strings.Join([]string{ref.Type, ref.Name, ref.URI, r.Params.Argument.Name, r.Params.Argument.Value}, "|")}, Total: 1,
	}}, nil
}
