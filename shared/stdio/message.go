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
)

// message is one line to a server, before it is bytes.
type message struct {
	method string
	id     wire.ID // zero: a notification
	also   wire.ID // another id that is as good an answer
	agents bool    // it carries the agent's request, so it is counted

	ask          wire.Ask        // the agent's request, but for _meta; zero for lists and the relay's own
	cursor       json.RawMessage // of a list: a JSON string, nil for the first page
	meta         json.RawMessage // the agent's
	capabilities json.RawMessage // what a modern server may ask the agent for, nil for nothing
	traceparent  string
	params       json.RawMessage // where set, all of the params
}

// compose builds the line. What is raw in it, as arguments and the agent's _meta
// are, is the bytes it came as, but for line ends between tokens: a line has one line
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
	dst := make([]byte, 0, len(m.ask.Arguments)+len(meta)+128)
	if m.ask.Operation != "" {
		dst = m.ask.Append(dst, c.era == Modern)
	}
	for _, member := range []struct {
		name  string
		value json.RawMessage
	}{{"cursor", m.cursor}, {"_meta", meta}} {
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
