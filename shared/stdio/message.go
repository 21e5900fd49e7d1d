package stdio

import (
	"encoding/json"

	"mcprelay/shared/call"
	"mcprelay/shared/wire"
)

// The methods that the relay sends.
const (
	methodDiscover    = "server/discover"
	methodInitialize  = "initialize"
	methodInitialized = "notifications/initialized"
	methodCancelled   = "notifications/cancelled"
	methodPing        = "ping"
	methodCall        = "tools/call"
)

// methodProgress is the one notification of a server's that is handed on.
const methodProgress = "notifications/progress"

// message is one line to a server, before it is bytes.
type message struct {
	method string
	id     wire.ID // zero: a notification
	also   wire.ID // another id that is as good an answer
	agents bool    // it carries the agent's request, so it is counted

	name        string          // params.name of tools/call
	arguments   json.RawMessage // of tools/call
	cursor      json.RawMessage // of a list: a JSON string, nil for the first page
	meta        json.RawMessage // the agent's
	traceparent string
	params      json.RawMessage // where set, all of the params
}

// compose builds the line. Arguments, cursor and the agent's _meta are the
// bytes they came as, but for line ends between tokens: a line has one line
// end (MCP 2026-07-28, basic/transports/stdio), and a JSON string none.
func (c *child) compose(m *message) ([]byte, *call.Refusal) {
	params := m.params
	if params == nil && !m.id.IsZero() && m.method != methodPing {
		var err error
		if params, err = c.params(m); err != nil {
			return nil, &call.Refusal{Reason: call.BadParams, Detail: "_meta: " + err.Error(), Err: err}
		}
	}
	line := wire.AppendRequest(make([]byte, 0, len(params)+128), m.id, m.method, params)
	for i, b := range line {
		if b == '\n' || b == '\r' {
			line[i] = ' '
		}
	}
	return append(line, '\n'), nil
}

// params builds the params of a request, nil where it has none.
func (c *child) params(m *message) (json.RawMessage, error) {
	meta, err := c.meta(m)
	if err != nil {
		return nil, err
	}
	dst := make([]byte, 0, len(m.arguments)+len(meta)+len(m.name)+64)
	if m.method == methodCall {
		dst = append(dst, `,"name":`...)
		dst = wire.AppendString(dst, m.name)
	}
	for _, member := range []struct {
		name  string
		value json.RawMessage
	}{{"arguments", m.arguments}, {"cursor", m.cursor}, {"_meta", meta}} {
		if member.value != nil {
			dst = append(dst, `,"`+member.name+`":`...)
			dst = append(dst, member.value...)
		}
	}
	if len(dst) == 0 {
		return nil, nil
	}
	dst[0] = '{'
	return append(dst, '}'), nil
}
