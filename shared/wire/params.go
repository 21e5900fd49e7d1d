package wire

import "encoding/json"

// Param is an argument of a tool that the tool's description wants repeated in
// a header (MCP 2026-07-28, basic/transports/streamable-http, x-mcp-header).
type Param struct {
	Header string   // what follows "Mcp-Param-", a token
	Path   []string // the names that lead to the argument, outermost first
	Type   string   // string, integer or boolean
}

// Params reads the x-mcp-header annotations of a tool's inputSchema. The error
// is of an annotation that makes the tool invalid, so that a client must not
// offer it: a name that is no token or that another annotation has in any
// case, a type other than string, integer and boolean, a place that is not
// reached through properties alone. It never quotes the schema.
func Params(inputSchema json.RawMessage) ([]Param, error) { return nil, nil }

// Value is the header's value for a call with these arguments; ok is false
// where the argument is absent or null, so that no header is sent. The error
// is of an argument that is not of the parameter's type, or of an integer
// beyond 2^53-1 either way. It never quotes the argument.
func (p Param) Value(arguments json.RawMessage) (value string, ok bool, err error) {
	return "", false, nil
}
