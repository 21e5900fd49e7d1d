package wire

import (
	"bytes"
	"encoding/json"

	"mcprelay/shared/call"
)

const (
	// MaxName bounds methods, names and the servers' own URIs, in bytes: they
	// travel in headers upstream, a third longer in base64, and common servers
	// stop at 8 or 16 KiB for the whole head.
	MaxName = 4096
	// MaxURI bounds a URI as an agent gives it, in bytes. One of MaxName may be
	// shown with each byte percent-encoded, behind the name of its server.
	MaxURI = 3*MaxName + 128
)

// firstByte is the first byte after a byte order mark and blanks, 0 for none.
func firstByte(body []byte) byte {
	body = bytes.TrimPrefix(body, []byte(mark))
	if i := blanks(body, 0); i < len(body) {
		return body[i]
	}
	return 0
}

// badJSON is the refusal for a text that the scanner gave up on.
func badJSON(err error) *call.Refusal { return call.Refuse(call.BadJSON, "%s", err) }

// refuse keeps the first refusal about meaning.
func (p *requestReader) refuse(reason call.Reason, format string, args ...any) {
	if p.refusal == nil {
		p.refusal = call.Refuse(reason, format, args...)
	}
}

// id reads the id: a string or an integer without fraction and exponent
// (JSON-RPC 2.0 section 4; MCP forbids null).
func (p *requestReader) id() error {
	kind := p.kind()
	raw, err := p.value()
	switch {
	case err != nil:
		return err
	case kind != '"' && kind != '0', kind == '0' && bytes.ContainsAny(raw, ".eE"):
		p.refuse(call.BadRequest, "the id is neither a string nor an integer")
	case len(raw) > MaxID:
		p.refuse(call.BadRequest, "the id is longer than %d bytes", MaxID)
	default:
		p.ID = ID{string(raw)}
	}
	return nil
}

// text reads a string, refusing others with reason. null counts as absent
// among the parameters.
func (p *requestReader) text(reason call.Reason, what string) (string, error) {
	kind := p.kind()
	raw, err := p.value()
	switch {
	case err != nil:
		return "", err
	case kind == '"':
		return constant(unquote(raw)), nil
	case kind != 'n' || reason != call.BadParams:
		p.refuse(reason, "%s is not a string", what)
	}
	return "", nil
}

// optional reads an object with visit, or without one; null is nil.
func (p *requestReader) optional(what string, visit func([]byte) error) (json.RawMessage, error) {
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
func (p *requestReader) progressToken() (json.RawMessage, error) {
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
func (p *requestReader) complete() *call.Refusal {
	switch {
	case p.version != "2.0":
		return call.Refuse(call.BadRequest, "jsonrpc is not 2.0")
	case p.Method == "" || !plain(p.Method):
		return call.Refuse(call.BadRequest, "the method is missing, too long or holds control characters")
	case !plain(p.Name) || !plain(p.Ref.Name) || !within(p.URI, MaxURI) || !within(p.Ref.URI, MaxURI):
		return call.Refuse(call.BadParams, "name or uri is too long or holds control characters")
	case p.Method == "completion/complete" && !p.completes():
		return call.Refuse(call.BadParams, "completion/complete without a ref or an argument that it can be of")
	}
	if target, named := p.target(); named && target == "" {
		return call.Refuse(call.BadParams, "%s without its target", p.Method)
	}
	return nil
}

// plain reports whether s may name something.
func plain(s string) bool { return within(s, MaxName) }

// within reports whether s has no control characters, which no catalog holds
// and terminals obey, and is short enough for a header.
func within(s string, bound int) bool {
	for i := range len(s) {
		if s[i] < ' ' || s[i] == 0x7f {
			return false
		}
	}
	return len(s) <= bound
}

// target is what Mcp-Name repeats, for the methods that have it (2026-07-28,
// basic/transports).
func (r Request) target() (name string, named bool) {
	switch r.Method {
	case "tools/call", "prompts/get":
		return r.Name, true
	case "resources/read":
		return r.URI, true
	}
	return "", false
}
