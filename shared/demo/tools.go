package demo

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// The bounds of countdown keep a tour, and whoever calls in a loop, short.
const (
	maxSteps   = 20
	maxPauseMS = 1000
)

// newServer builds the MCP server with its tools. Its calls end with ctx, too.
func newServer(ctx context.Context) *mcp.Server {
	s := mcp.NewServer(
		&mcp.Implementation{Name: Name, Version: Version},
		&mcp.ServerOptions{
			Instructions: "Deterministic tools for a first look at the relay.",
			// The tools never change, so no listChanged is announced.
			Capabilities: &mcp.ServerCapabilities{Tools: &mcp.ToolCapabilities{}},
		},
	)
	add := func(name, description, schema string, h mcp.ToolHandler) {
		s.AddTool(&mcp.Tool{Name: name, Description: description, InputSchema: json.RawMessage(schema)}, h)
	}
	add("echo", "Gives back its arguments: as structured content, and the text as text.",
		`{"type":"object","properties":{"text":{"type":"string"}}}`, echo)
	add("add", "Adds two integers of 64 bits.",
		`{"type":"object","properties":{"a":{"type":"integer"},"b":{"type":"integer"}},"required":["a","b"],"additionalProperties":false}`, sum)
	add("countdown", "Counts down to zero and reports each step as progress.",
		fmt.Sprintf(`{"type":"object","properties":{"from":{"type":"integer","minimum":1,"maximum":%d},"pause_ms":{"type":"integer","minimum":0,"maximum":%d}},"required":["from"],"additionalProperties":false}`, maxSteps, maxPauseMS),
		func(call context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			call, cancel := context.WithCancel(call)
			defer cancel()
			defer context.AfterFunc(ctx, cancel)()
			return countdown(call, r)
		})
	add("fail", "Always reports an error, to show what an agent gets to see of one.",
		`{"type":"object"}`, fail)
	return s
}

// echo gives the arguments back as the bytes that came, see [keep].
func echo(ctx context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	arguments := r.Params.Arguments
	if len(arguments) == 0 {
		arguments = json.RawMessage("{}")
	}
	var named struct {
		Text *string `json:"text"`
	}
	text := string(arguments)
	if err := json.Unmarshal(arguments, &named); err == nil && named.Text != nil {
		text = *named.Text
	}
	keep(ctx, arguments)
	return answer(text, json.RawMessage(`"`+standIn+`"`)), nil
}

func sum(_ context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	var in struct {
		A *int64 `json:"a"`
		B *int64 `json:"b"`
	}
	if err := read(r.Params.Arguments, &in); err != nil {
		return failed(err), nil
	}
	if in.A == nil || in.B == nil {
		return failed(errors.New("both a and b are needed")), nil
	}
	a, b := *in.A, *in.B
	if (b > 0 && a > math.MaxInt64-b) || (b < 0 && a < math.MinInt64-b) {
		return failed(errors.New("the sum has more than 64 bits")), nil
	}
	text := fmt.Sprint(a + b)
	return answer(text, json.RawMessage(`{"sum":`+text+`}`)), nil
}

// countdown sends one progress notification a step where the caller gave a
// progress token, and the result in any case.
func countdown(ctx context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	var in struct {
		From    int `json:"from"`
		PauseMS int `json:"pause_ms"`
	}
	if err := read(r.Params.Arguments, &in); err != nil {
		return failed(err), nil
	}
	if in.From < 1 || in.From > maxSteps || in.PauseMS < 0 || in.PauseMS > maxPauseMS {
		return failed(fmt.Errorf("from must be 1 to %d and pause_ms 0 to %d", maxSteps, maxPauseMS)), nil
	}
	token := r.Params.GetProgressToken()
	for step := 1; step <= in.From; step++ {
		if err := pause(ctx, time.Duration(in.PauseMS)*time.Millisecond); err != nil {
			return nil, err
		}
		if token == nil {
			continue
		}
		if err := r.Session.NotifyProgress(ctx, &mcp.ProgressNotificationParams{
			ProgressToken: token,
			Progress:      float64(step),
			Total:         float64(in.From),
			Message:       fmt.Sprintf("%d to go", in.From-step),
		}); err != nil {
			return nil, fmt.Errorf("reporting progress: %w", err)
		}
	}
	return answer("lift-off", json.RawMessage(fmt.Sprintf(`{"steps":%d}`, in.From))), nil
}

func fail(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	return failed(errors.New("this tool always fails")), nil
}

// pause waits for d or the end of ctx, whichever comes first.
func pause(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// read decodes the arguments of a tool; members it does not know are errors.
func read(arguments json.RawMessage, into any) error {
	decoder := json.NewDecoder(bytes.NewReader(arguments))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(into); err != nil && !errors.Is(err, io.EOF) {
		return fmt.Errorf("reading the arguments: %w", err)
	}
	return nil
}

func answer(text string, structured json.RawMessage) *mcp.CallToolResult {
	return &mcp.CallToolResult{
		Content:           []mcp.Content{&mcp.TextContent{Text: text}},
		StructuredContent: structured,
	}
}

// failed is an error that the model can act on (MCP, server/tools, error handling).
func failed(err error) *mcp.CallToolResult {
	return &mcp.CallToolResult{
		Content: []mcp.Content{&mcp.TextContent{Text: err.Error()}},
		IsError: true,
	}
}
