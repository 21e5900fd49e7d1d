package hostile

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"mcprelay/shared/audit"
	"mcprelay/shared/call"
	"mcprelay/shared/wire"
)

// Ask is one request of an agent. The zero Ask calls the tool echo of the
// server "up" as the caller "ci", in the words of 2025-11-25, whose answer
// holds the server's result to the byte.
type Ask struct {
	Server    string // empty: up
	Subject   string // empty: ci
	Tool      string // empty: echo
	Arguments string // JSON text; empty: {}
	ID        string // JSON text; empty: 1
	Meta      string // JSON text of members of _meta, without braces
	Modern    bool   // ask in the words of 2026-07-28
	Plain     bool   // ask on the plain face
	All       bool   // ask on the path of all servers, which gives the tool the server's name too
	Run       string // X-Relay-Run
	// Method asks something else than tools/call, with Params as its params;
	// Body replaces the whole body.
	Method, Params, Body string
	Verb                 string      // empty: POST
	Path                 string      // replaces the path
	Header               http.Header // added; a nil value takes a header away
}

// Reply is what the agent got, and the record that its call left.
type Reply struct {
	Status int
	Header http.Header
	// Body is the response; Notes are what came before it on an event stream.
	Body  string
	Notes []string
	// Record is the final of the call itself; the zero Record where it left
	// none or asked for something else than a call of a tool.
	Record audit.Record

	t testing.TB
}

// Call asks, and fails the test where a call of a tool left not exactly one
// record. Only one call may be under way; Ask is for several.
func (f *Front) Call(t testing.TB, a Ask) Reply {
	t.Helper()
	before := len(f.Records())
	reply := f.Ask(t.Context(), t, a)
	var finals []audit.Record
	for _, record := range f.Records()[before:] {
		if record.Operation == call.OperationToolsCall {
			finals = append(finals, record)
		}
	}
	if len(finals) == 1 {
		reply.Record = finals[0]
	} else if a.Method == "" && a.Body == "" && a.Verb == "" {
		t.Fatalf("hostile: the call left %d finals, want 1 (status %d, %s)", len(finals), reply.Status, reply.Body)
	}
	return reply
}

// Ask asks without looking for a record. Where ctx ends before the reply came,
// the reply is the zero Reply.
func (f *Front) Ask(ctx context.Context, t testing.TB, a Ask) Reply {
	t.Helper()
	request, err := f.request(ctx, a.withDefaults())
	if err != nil {
		t.Errorf("hostile: building a request: %v", err)
		return Reply{t: t}
	}
	response, err := f.client.Do(request)
	if err != nil {
		if ctx.Err() == nil {
			t.Errorf("hostile: asking the relay: %v", err)
		}
		return Reply{t: t}
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil && ctx.Err() == nil {
		t.Errorf("hostile: reading the relay's reply: %v", err)
	}
	f.holdsNoSecret(t, "the reply", string(text))
	reply := Reply{Status: response.StatusCode, Header: response.Header, Body: string(text), t: t}
	if response.Header.Get("Content-Type") == "text/event-stream" {
		reply.Notes, reply.Body = unfold(reply.Body)
	}
	return reply
}

// unfold reads an event stream: its last message is the response.
func unfold(stream string) (notes []string, response string) {
	for event := range strings.SplitSeq(stream, "\n\n") {
		var data []string
		for line := range strings.Lines(event) {
			if rest, ok := strings.CutPrefix(strings.TrimRight(line, "\n"), "data:"); ok {
				data = append(data, strings.TrimPrefix(rest, " "))
			}
		}
		if len(data) > 0 {
			notes = append(notes, strings.Join(data, "\n"))
		}
	}
	if len(notes) == 0 {
		return nil, ""
	}
	return notes[:len(notes)-1], notes[len(notes)-1]
}

func (a Ask) withDefaults() Ask {
	for _, field := range []struct {
		at        *string
		otherwise string
	}{
		{&a.Server, "up"},
		{&a.Subject, "ci"},
		{&a.Tool, "echo"},
		{&a.Arguments, "{}"},
		{&a.ID, "1"},
		{&a.Verb, http.MethodPost},
		{&a.Path, a.path()},
	} {
		if *field.at == "" {
			*field.at = field.otherwise
		}
	}
	if a.All {
		a.Tool = a.Server + "__" + a.Tool
	}
	return a
}

// path is where the ask's MCP server is.
func (a Ask) path() string {
	switch {
	case a.All:
		return "/v1/mcp"
	case a.Server == "":
		return "/v1/servers/up/mcp"
	}
	return "/v1/servers/" + a.Server + "/mcp"
}

// request is the HTTP request of an ask.
func (f *Front) request(ctx context.Context, a Ask) (*http.Request, error) {
	path, body := a.Path, a.message()
	if a.Plain {
		path, body = "/v1/servers/"+a.Server+"/tools/"+a.Tool, `{"arguments":`+a.Arguments+`}`
	}
	request, err := http.NewRequestWithContext(ctx, a.Verb, f.URL+path, strings.NewReader(body))
	if err != nil {
		return nil, err
	}
	request.Header.Set("Authorization", "Bearer "+agentToken(a.Subject))
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("Accept", "application/json, text/event-stream")
	if a.Run != "" {
		request.Header.Set("X-Relay-Run", a.Run)
	}
	if a.Modern {
		request.Header.Set("MCP-Protocol-Version", wire.Modern)
		request.Header.Set("Mcp-Method", a.method())
		if a.method() == "tools/call" {
			request.Header.Set("Mcp-Name", wire.EncodeName(a.Tool))
		}
	}
	for name, values := range a.Header {
		request.Header[name] = values
	}
	return request, nil
}

func (a Ask) method() string {
	if a.Method == "" {
		return "tools/call"
	}
	return a.Method
}

// message is the body of an ask on the MCP face.
func (a Ask) message() string {
	if a.Body != "" || a.Verb != http.MethodPost {
		return a.Body
	}
	meta := a.Meta
	if a.Modern {
		meta = fmt.Sprintf(`%q:%q,%q:{},%q:{"name":"agent","version":"1"}`, wire.MetaProtocolVersion, wire.Modern, wire.MetaClientCapabilities, wire.MetaClientInfo)
		if a.Meta != "" {
			meta += "," + a.Meta
		}
	}
	params := a.Params
	if a.Method == "" {
		name, err := json.Marshal(a.Tool)
		if err != nil {
			return err.Error()
		}
		params = fmt.Sprintf(`"name":%s,"arguments":%s`, name, a.Arguments)
	}
	if meta != "" {
		params = strings.TrimPrefix(params+`,"_meta":{`+meta+`}`, ",")
	}
	return `{"jsonrpc":"2.0","id":` + a.ID + `,"method":"` + a.method() + `","params":{` + params + `}}`
}
