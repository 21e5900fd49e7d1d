package wire

import (
	"encoding/json"

	"mcprelay/shared/call"
)

// Asked is what an agent asks of a server, under the server's own names, with
// what it can be asked in turn. What is raw is the agent's or the server's own
// bytes, nil for nothing. Only the operation's own fields count.
type Asked struct {
	Operation call.Operation
	Tool      string          // for tools/call
	Resource  string          // a URI, for resources/read; a URI template, for a completion of one
	Prompt    string          // for prompts/get or a completion of one
	Arguments json.RawMessage // an object, sent as these bytes
	Argument  json.RawMessage // of a completion: params.argument
	Context   json.RawMessage // of a completion: params.context
	// Capabilities is what a modern server may ask the agent for: an object, sent
	// as clientCapabilities. One of 2025-11-25 or older is never told of any: it
	// would ask within the stream, where nobody answers.
	Capabilities json.RawMessage
	// InputResponses is what the agent answers to what a modern server asked for,
	// an object, and RequestState the server's own state of it, a JSON string.
	// With either, a server of 2025-11-25 or older is not asked: it would run what
	// the agent may have declined.
	InputResponses json.RawMessage
	RequestState   json.RawMessage
}

// Ask is what the server is asked.
func (r *Asked) Ask() Ask {
	a := Ask{Operation: r.Operation, InputResponses: r.InputResponses, RequestState: r.RequestState}
	switch r.Operation {
	case call.OperationToolsCall:
		a.Name, a.Arguments = r.Tool, r.Arguments
	case call.OperationPromptsGet:
		a.Name, a.Arguments = r.Prompt, r.Arguments
	case call.OperationResourcesRead:
		a.URI = r.Resource
	case call.OperationComplete:
		a.Name, a.URI, a.Argument, a.Context = r.Prompt, r.Resource, r.Argument, r.Context
	}
	return a
}

// Ask is an agent's request to a server, before it is the params of a message.
// What is raw is the agent's or the server's own bytes, nil for nothing.
type Ask struct {
	Operation call.Operation // one that [call.Operation.Asks]
	Name      string         // of the tool or the prompt; of a completion, of its prompt
	URI       string         // of the resource; of a completion, its URI template
	Arguments json.RawMessage
	Argument  json.RawMessage // of a completion
	Context   json.RawMessage // of a completion
	// InputResponses and RequestState, a JSON string, answer what a modern server
	// asked for (MCP 2026-07-28, basic/patterns/mrtr); others are sent neither.
	InputResponses json.RawMessage
	RequestState   json.RawMessage
}

// Complete reports whether a names what its operation is about, and nothing
// that another one is about.
func (a *Ask) Complete() bool {
	switch a.Operation {
	case call.OperationToolsCall, call.OperationPromptsGet:
		return a.Name != "" && a.URI == ""
	case call.OperationResourcesRead:
		return a.URI != "" && a.Name == ""
	case call.OperationComplete:
		return (a.Name == "") != (a.URI == "") && a.Argument != nil
	}
	return false
}

// Answers reports whether a answers what a server asked for, so that only a
// modern server can know what it is about.
func (a *Ask) Answers() bool { return a.InputResponses != nil || a.RequestState != nil }

// Mirrored is what a modern server wants in Mcp-Name too, empty for nothing: a
// completion has no such header (MCP 2026-07-28, basic/transports).
func (a *Ask) Mirrored() string {
	if a.Operation == call.OperationComplete {
		return ""
	}
	return a.Name + a.URI // of which there is one
}

// Append appends the members of the params, each with a comma before it and
// without _meta. Raw ones are appended as they are.
func (a *Ask) Append(dst []byte, modern bool) []byte {
	switch a.Operation {
	case call.OperationComplete:
		dst = append(a.appendRef(append(dst, `,"ref":{"type":`...)), '}')
		dst = appendMember(dst, `,"argument":`, a.Argument)
		dst = appendMember(dst, `,"context":`, a.Context)
	case call.OperationResourcesRead:
		dst = AppendString(append(dst, `,"uri":`...), a.URI)
	default:
		dst = AppendString(append(dst, `,"name":`...), a.Name)
		dst = appendMember(dst, `,"arguments":`, a.Arguments)
	}
	if modern {
		dst = appendMember(dst, `,"inputResponses":`, a.InputResponses)
		dst = appendMember(dst, `,"requestState":`, a.RequestState)
	}
	return dst
}

// appendRef appends what a completion is of, from the value of its type on.
func (a *Ask) appendRef(dst []byte) []byte {
	if a.Name != "" {
		return AppendString(append(dst, `"ref/prompt","name":`...), a.Name)
	}
	return AppendString(append(dst, `"ref/resource","uri":`...), a.URI)
}

// appendMember appends a member whose name is written with its comma and colon.
func appendMember(dst []byte, name string, value json.RawMessage) []byte {
	if value == nil {
		return dst
	}
	return append(append(dst, name...), value...)
}
