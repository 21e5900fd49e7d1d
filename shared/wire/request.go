package wire

import (
	"encoding/json"

	"mcprelay/shared/call"
)

// Request is one JSON-RPC request or notification of an agent. Raw members are
// slices of the body that was read.
type Request struct {
	ID     ID
	Method string
	Params json.RawMessage // the object, or nil

	Name            string          // params.name: of a tool or a prompt
	URI             string          // params.uri: of a resource
	Cursor          string          // params.cursor
	Arguments       json.RawMessage // params.arguments: an object, or nil
	Meta            json.RawMessage // params._meta: an object, or nil
	ProtocolVersion string          // io.modelcontextprotocol/protocolVersion of _meta
	HasCapabilities bool            // _meta holds io.modelcontextprotocol/clientCapabilities
	Capabilities    json.RawMessage // its value: an object, or nil
	LogLevel        string          // io.modelcontextprotocol/logLevel of _meta, empty for none
	ProgressToken   json.RawMessage // progressToken of _meta: a string or a number, or nil

	Ref      Ref             // params.ref: what a completion is of
	Argument json.RawMessage // params.argument: an object, or nil
	Context  json.RawMessage // params.context: an object, or nil

	InputResponses json.RawMessage // params.inputResponses: an object, or nil
	RequestState   string          // params.requestState, at most [MaxState] bytes
	HasState       bool            // params holds requestState
}

// Ref names what a completion is of (2026-07-28, server/utilities/completion):
// a prompt by its Name or a resource template by its URI.
type Ref struct {
	Type string // RefPrompt or RefResource
	Name string // of ref/prompt
	URI  string // of ref/resource: a template
}

// The types of a [Ref].
const (
	RefPrompt   = "ref/prompt"
	RefResource = "ref/resource"
)

// Notification reports whether no reply is expected.
func (r Request) Notification() bool { return r.ID.IsZero() }

// Modern reports whether the request itself says that it is of the stateless
// era (2026-07-28, basic/versioning).
func (r Request) Modern() bool { return IsModern(r.ProtocolVersion) }

// ReadRequest reads the body of an agent's POST: one JSON-RPC 2.0 request or
// notification (2026-07-28, basic/transports). It refuses with
//
//   - TooLarge above [MaxBody],
//   - BadJSON what is not strict JSON,
//   - BadRequest what is no single request: a batch, a response, a null,
//     fractional or structured id, a case variant of a member,
//   - BadParams parameters of the wrong kind, a case variant of a defined
//     one, a tools/call, prompts/get or resources/read without its target, a
//     completion/complete without what it is of and its argument, a
//     requestState above [MaxState], a logLevel that is no level.
//
// null counts as absent for params and for optional parameters. A refusal
// comes with a Request that holds the id, when that could be read.
func ReadRequest(body []byte) (Request, *call.Refusal) {
	if len(body) > MaxBody {
		return Request{}, call.Refuse(call.TooLarge, "the body has %d bytes", len(body))
	}
	if first := firstByte(body); first == '[' {
		return Request{}, call.Refuse(call.BadRequest, "an array is not a request")
	}
	p := requestReader{scanner: newScanner(body)}
	defer p.release()
	if refusal := p.read(); refusal != nil {
		return Request{ID: p.ID}, refusal
	}
	return p.Request, nil
}

// requestReader fills a Request. The first refusal about meaning is kept while
// reading goes on, so that an id further on can still be echoed.
type requestReader struct {
	*scanner
	Request
	version string // the jsonrpc member
	refusal *call.Refusal

	argumentName, argumentValue bool // params.argument has them
}

// read reads the whole body.
func (p *requestReader) read() *call.Refusal {
	if kind := p.kind(); kind != '{' {
		if _, err := p.value(); err != nil {
			return badJSON(err)
		}
		return call.Refuse(call.BadRequest, "the body is not an object")
	}
	if _, err := p.object(p.envelope); err != nil {
		if p.repeats(err, "id") {
			p.ID = ID{} // which of the two nobody can say
		}
		return badJSON(err)
	}
	if err := p.end(); err != nil {
		return badJSON(err)
	}
	if p.refusal != nil {
		return p.refusal
	}
	return p.complete()
}

// envelope reads one member of the message.
func (p *requestReader) envelope(name []byte) (err error) {
	switch string(name) {
	case "jsonrpc":
		p.version, err = p.text(call.BadRequest, "jsonrpc")
	case "id":
		return p.id()
	case "method":
		p.Method, err = p.text(call.BadRequest, "method")
	case "params":
		p.Params, err = p.optional("params", p.param)
	case "result", "error":
		p.refuse(call.BadRequest, "a response is not a request")
		_, err = p.value()
	default:
		if variantOfEnvelope(name) {
			p.refuse(call.BadRequest, "a member is a case variant of a reserved one")
		}
		_, err = p.value()
	}
	return err
}

// param reads one parameter.
func (p *requestReader) param(name []byte) (err error) {
	switch string(name) {
	case "name":
		p.Name, err = p.text(call.BadParams, "name")
	case "uri":
		p.URI, err = p.text(call.BadParams, "uri")
	case "cursor":
		p.Cursor, err = p.text(call.BadParams, "cursor")
	case "arguments":
		p.Arguments, err = p.optional("arguments", nil)
	case "_meta":
		p.Meta, err = p.optional("_meta", p.meta)
	case "ref":
		_, err = p.optional("ref", p.ref)
	case "argument":
		p.Argument, err = p.optional("argument", p.argument)
	case "context":
		p.Context, err = p.optional("context", nil)
	case "inputResponses":
		p.InputResponses, err = p.optional("inputResponses", nil)
	case "requestState":
		return p.state()
	default:
		if variantOfParams(name) {
			p.refuse(call.BadParams, "a parameter is a case variant of a defined one")
		}
		_, err = p.value()
	}
	return err
}

// meta reads one member of _meta.
func (p *requestReader) meta(name []byte) (err error) {
	switch string(name) {
	case MetaProtocolVersion:
		p.ProtocolVersion, err = p.text(call.BadParams, MetaProtocolVersion)
	case MetaClientCapabilities:
		p.Capabilities, err = p.optional(MetaClientCapabilities, nil)
		p.HasCapabilities = p.Capabilities != nil
	case MetaLogLevel:
		err = p.logLevel()
	case "progressToken":
		p.ProgressToken, err = p.progressToken()
	default:
		if variantOfMeta(name) {
			p.refuse(call.BadParams, "a member of _meta is a case variant of a reserved one")
		}
		_, err = p.value()
	}
	return err
}
