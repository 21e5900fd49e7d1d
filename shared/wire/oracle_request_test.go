package wire_test

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"

	"mcprelay/shared/call"
	"mcprelay/shared/wire"
)

// oracleReadRequest is ReadRequest by the oracle.
func oracleReadRequest(body []byte) (wire.Request, *call.Refusal) {
	if len(body) > wire.MaxBody {
		return wire.Request{}, call.Refuse(call.TooLarge, "the body has %d bytes", len(body))
	}
	if first := firstByte(body); first == '[' {
		return wire.Request{}, call.Refuse(call.BadRequest, "an array is not a request")
	}
	p := oracleRequest{oracle: newOracle(body)}
	defer oracles.Put(p.oracle)
	if refusal := p.read(); refusal != nil {
		return wire.Request{ID: p.ID}, refusal
	}
	return p.Request, nil
}

// oracleRequest fills a Request. The first refusal about meaning is kept while
// reading goes on, so that an id further on can still be echoed.
type oracleRequest struct {
	*oracle
	wire.Request
	version string // the jsonrpc member
	refusal *call.Refusal
	strings []string // members of params.argument that are strings
}

// read reads the whole body.
func (p *oracleRequest) read() *call.Refusal {
	if kind := p.kind(); kind != '{' {
		if _, err := p.value(); err != nil {
			return badJSON(err)
		}
		return call.Refuse(call.BadRequest, "the body is not an object")
	}
	if _, err := p.object(p.envelope); err != nil {
		if repeated(err, "/id") {
			p.ID = wire.ID{} // which of the two nobody can say
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
func (p *oracleRequest) envelope(name []byte) (err error) {
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
		if oracleEnvelope(string(name)) {
			p.refuse(call.BadRequest, "a member is a case variant of a reserved one")
		}
		_, err = p.value()
	}
	return err
}

// param reads one parameter.
func (p *oracleRequest) param(name []byte) (err error) {
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
		p.HasState = p.kind() == '"'
		p.RequestState, err = p.text(call.BadParams, "requestState")
		if len(p.RequestState) > wire.MaxState {
			p.refuse(call.BadParams, "requestState is longer than %d bytes", wire.MaxState)
		}
	default:
		if oracleParams(string(name)) {
			p.refuse(call.BadParams, "a parameter is a case variant of a defined one")
		}
		_, err = p.value()
	}
	return err
}

// meta reads one member of _meta.
func (p *oracleRequest) meta(name []byte) (err error) {
	switch string(name) {
	case wire.MetaProtocolVersion:
		p.ProtocolVersion, err = p.text(call.BadParams, wire.MetaProtocolVersion)
	case wire.MetaClientCapabilities:
		p.Capabilities, err = p.optional(wire.MetaClientCapabilities, nil)
		p.HasCapabilities = p.Capabilities != nil
	case wire.MetaLogLevel:
		quoted := p.kind() == '"'
		p.LogLevel, err = p.text(call.BadParams, wire.MetaLogLevel)
		if quoted && !slices.Contains(eightLevels, p.LogLevel) {
			p.refuse(call.BadParams, "%s is no level", wire.MetaLogLevel)
		}
	case "progressToken":
		p.ProgressToken, err = p.progressToken()
	default:
		if oracleMeta(string(name)) {
			p.refuse(call.BadParams, "a member of _meta is a case variant of a reserved one")
		}
		_, err = p.value()
	}
	return err
}

// ref reads one member of params.ref.
func (p *oracleRequest) ref(name []byte) (err error) {
	switch string(name) {
	case "type":
		p.Ref.Type, err = p.text(call.BadParams, "type of ref")
	case "name":
		p.Ref.Name, err = p.text(call.BadParams, "name of ref")
	case "uri":
		p.Ref.URI, err = p.text(call.BadParams, "uri of ref")
	default:
		if variant(string(name), "type", "name", "uri") {
			p.refuse(call.BadParams, "a member of ref is a case variant of a defined one")
		}
		_, err = p.value()
	}
	return err
}

// argument reads one member of params.argument.
func (p *oracleRequest) argument(name []byte) (err error) {
	what := string(name)
	switch {
	case what != "name" && what != "value":
		if variant(what, "name", "value") {
			p.refuse(call.BadParams, "a member of argument is a case variant of a defined one")
		}
		_, err = p.value()
		return err
	case p.kind() == '"':
		p.strings = append(p.strings, what)
	}
	_, err = p.text(call.BadParams, what+" of argument")
	return err
}

// completes reports whether the request says what it wants completed.
func (p *oracleRequest) completes() bool {
	of := map[string]string{"ref/prompt": p.Ref.Name, "ref/resource": p.Ref.URI}[p.Ref.Type]
	return of != "" && len(p.strings) == 2
}

// Bounds of methods and names, and of URIs as agents give them, in bytes.
const maxName, maxURI = 4096, 12416

// firstByte is the first byte after a byte order mark and blanks, 0 for none.
func firstByte(body []byte) byte {
	body = bytes.TrimLeft(bytes.TrimPrefix(body, []byte("\ufeff")), " \t\r\n")
	if len(body) == 0 {
		return 0
	}
	return body[0]
}

// badJSON is the refusal for a text that the reader gave up on.
func badJSON(err error) *call.Refusal { return call.Refuse(call.BadJSON, "%s", explain(err)) }

// refuse keeps the first refusal about meaning.
func (p *oracleRequest) refuse(reason call.Reason, format string, args ...any) {
	if p.refusal == nil {
		p.refusal = call.Refuse(reason, format, args...)
	}
}

// id reads the id: a string or an integer without fraction and exponent
// (JSON-RPC 2.0 section 4; MCP forbids null).
func (p *oracleRequest) id() error {
	kind := p.kind()
	raw, err := p.value()
	switch {
	case err != nil:
		return err
	case kind != '"' && kind != '0', kind == '0' && bytes.ContainsAny(raw, ".eE"):
		p.refuse(call.BadRequest, "the id is neither a string nor an integer")
	case len(raw) > wire.MaxID:
		p.refuse(call.BadRequest, "the id is longer than %d bytes", wire.MaxID)
	default:
		p.ID = wire.NewID(string(raw))
	}
	return nil
}

// text reads a string, refusing others with reason. null counts as absent
// among the parameters.
func (p *oracleRequest) text(reason call.Reason, what string) (string, error) {
	kind := p.kind()
	raw, err := p.value()
	switch {
	case err != nil:
		return "", err
	case kind == '"':
		return string(unquote(raw)), nil
	case kind != 'n' || reason != call.BadParams:
		p.refuse(reason, "%s is not a string", what)
	}
	return "", nil
}

// optional reads an object with visit, or without one; null is nil.
func (p *oracleRequest) optional(what string, visit func([]byte) error) (json.RawMessage, error) {
	kind := p.kind()
	if kind == '{' && visit != nil {
		return p.object(visit)
	}
	raw, err := p.value()
	switch {
	case err != nil:
		return nil, err
	case kind == '{':
		return raw, nil
	case kind != 'n':
		p.refuse(call.BadParams, "%s is not an object", what)
	}
	return nil, nil
}

// progressToken reads a string or a number; null is nil.
func (p *oracleRequest) progressToken() (json.RawMessage, error) {
	kind := p.kind()
	raw, err := p.value()
	switch {
	case err != nil:
		return nil, err
	case kind == '"' || kind == '0':
		return json.RawMessage(raw), nil
	case kind != 'n':
		p.refuse(call.BadParams, "progressToken is neither a string nor a number")
	}
	return nil, nil
}

// complete checks what only the whole message shows.
func (p *oracleRequest) complete() *call.Refusal {
	switch {
	case p.version != "2.0":
		return call.Refuse(call.BadRequest, "jsonrpc is not 2.0")
	case p.Method == "" || !plain(p.Method):
		return call.Refuse(call.BadRequest, "the method is missing, too long or holds control characters")
	case !plain(p.Name) || !plain(p.Ref.Name) || !within(p.URI, maxURI) || !within(p.Ref.URI, maxURI):
		return call.Refuse(call.BadParams, "name or uri is too long or holds control characters")
	case p.Method == "completion/complete" && !p.completes():
		return call.Refuse(call.BadParams, "completion/complete without a ref or an argument that it can be of")
	}
	target, named := p.URI, p.Method == "resources/read"
	if p.Method == "tools/call" || p.Method == "prompts/get" {
		target, named = p.Name, true
	}
	if named && target == "" {
		return call.Refuse(call.BadParams, "%s without its target", p.Method)
	}
	return nil
}

// plain reports whether s may name something.
func plain(s string) bool { return within(s, maxName) }

// within reports whether s has no control characters and is short enough.
func within(s string, bound int) bool {
	for i := range len(s) {
		if s[i] < ' ' || s[i] == 0x7f {
			return false
		}
	}
	return len(s) <= bound
}

// oracleReadObject reads one object with visit and gives what visit left as the
// arguments.
func oracleReadObject(body []byte, visit func(*oracleRequest, []byte) error) (json.RawMessage, *call.Refusal) {
	if len(body) > wire.MaxBody {
		return nil, call.Refuse(call.TooLarge, "the body has %d bytes", len(body))
	}
	p := oracleRequest{oracle: newOracle(body)}
	defer oracles.Put(p.oracle)
	if visit == nil {
		visit = func(p *oracleRequest, _ []byte) error { _, err := p.value(); return err }
	}
	if kind := p.kind(); kind != '{' {
		if _, err := p.value(); err != nil {
			return nil, badJSON(err)
		}
		return nil, call.Refuse(call.BadRequest, "the body is not an object")
	}
	if _, err := p.object(func(name []byte) error { return visit(&p, name) }); err != nil {
		return nil, badJSON(err)
	}
	if err := p.end(); err != nil {
		return nil, badJSON(err)
	}
	return p.Arguments, p.refusal
}

// variant reports whether name is not one of the reserved names but reads as
// one where case does not count: "Method", "PARAMS", and the two letters
// outside ASCII that fold into it, "paramſ" (U+017F) and "toKen" with the
// Kelvin sign (U+212A). Readers that ignore case, encoding/json among them,
// would take such a member for the reserved one.
func variant(name string, reserved ...string) bool {
	for _, r := range reserved {
		if name == r {
			return false
		}
		if strings.EqualFold(name, r) {
			return true
		}
	}
	return false
}

// oracleEnvelope is variant for the members of a JSON-RPC message.
func oracleEnvelope(name string) bool {
	return variant(name, "jsonrpc", "id", "method", "params", "result", "error")
}

// oracleParams is variant for the parameters that MCP's methods define.
func oracleParams(name string) bool {
	return variant(name, "name", "uri", "cursor", "arguments", "_meta", "inputResponses", "requestState",
		"ref", "argument", "context", "taskId", "task", "protocolVersion", "capabilities", "clientInfo", "level")
}

// oracleMeta is variant for the names that MCP reserves in _meta.
func oracleMeta(name string) bool {
	return variant(name, wire.MetaProtocolVersion, wire.MetaClientInfo, wire.MetaClientCapabilities, wire.MetaServerInfo,
		"io.modelcontextprotocol/logLevel", "io.modelcontextprotocol/subscriptionId", "io.modelcontextprotocol/related-task",
		"progressToken", "traceparent", "tracestate", "baggage")
}
