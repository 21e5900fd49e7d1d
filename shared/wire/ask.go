package wire

import (
	"encoding/json"

	"mcprelay/shared/call"
)

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
