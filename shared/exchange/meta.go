package exchange

import (
	"bytes"
	"encoding/json"
	"errors"
	"slices"

	"github.com/go-json-experiment/json/jsontext"

	"mcprelay/shared/session"
	"mcprelay/shared/wire"
)

var errMeta = errors.New("_meta is not a JSON object")

// appendMeta appends `,"_meta":{...}`: the agent's members as they came, but
// for those that speak of the client, which are the relay's own to say. A
// modern server gets the relay's; for a legacy one an empty _meta is left out.
// The trace is the relay's where the agent's _meta names none.
func appendMeta(dst []byte, m *message, client json.RawMessage) ([]byte, error) {
	s, traced := m.state, m.trace == ""
	start := len(dst)
	dst = append(dst, `,"_meta":{`...)
	empty := len(dst)
	if s.Era == session.Modern {
		dst = append(dst, `"`+wire.MetaProtocolVersion+`":"`...)
		dst = append(dst, s.Version...)
		dst = append(dst, `","`+wire.MetaClientCapabilities+`":`...)
		dst = append(dst, m.offered()...)
		dst = append(dst, `,"`+wire.MetaClientInfo+`":`...)
		dst = append(dst, client...)
	}
	for rest := []byte(m.meta); len(rest) > 0; {
		name, member, after, err := nextMember(rest)
		if err != nil {
			return nil, err
		}
		if rest = after; member == nil {
			continue
		}
		if name = unescaped(name); restamped(name, s.Era) {
			continue
		}
		traced = traced || string(name) == "traceparent"
		if len(dst) > empty {
			dst = append(dst, ',')
		}
		dst = append(dst, member...)
	}
	if !traced {
		if len(dst) > empty {
			dst = append(dst, ',')
		}
		dst = append(dst, `"traceparent":"`...)
		dst = append(dst, m.trace...)
		dst = append(dst, '"')
	}
	if len(dst) == empty {
		return dst[:start], nil
	}
	return append(dst, '}'), nil
}

// offered is what the server may ask the agent for.
func (m *message) offered() json.RawMessage {
	if m.capabilities == nil {
		return json.RawMessage(`{}`)
	}
	return m.capabilities
}

// unescaped is what a JSON string says; one that says nothing says
// protocolVersion, which is dropped.
func unescaped(name []byte) []byte {
	if !slices.Contains(name, '\\') {
		return name[1 : len(name)-1]
	}
	plain, err := jsontext.AppendUnquote(nil, name)
	if err != nil {
		return []byte(wire.MetaProtocolVersion)
	}
	return plain
}

// restamped reports whether the agent's member of that name is replaced or
// dropped.
func restamped(name []byte, era session.Era) bool {
	switch string(name) {
	case wire.MetaProtocolVersion, wire.MetaClientCapabilities, wire.MetaClientInfo:
		return true
	case wire.MetaLogLevel:
		return era != session.Modern
	}
	return false
}

// nextMember takes one member off an object that was checked when it was read:
// rest begins with the brace or the comma before it. The member is nil at the
// end of the object.
func nextMember(rest []byte) (name, member, after []byte, err error) {
	rest = bytes.TrimLeft(rest, " \t\r\n{,")
	if len(rest) > 0 && rest[0] == '}' {
		return nil, nil, nil, nil
	}
	end := stringEnd(rest)
	if end < 0 {
		return nil, nil, nil, errMeta
	}
	name = rest[:end]
	for depth := 0; end < len(rest); end++ {
		switch rest[end] {
		case '"':
			n := stringEnd(rest[end:])
			if n < 0 {
				return nil, nil, nil, errMeta
			}
			end += n - 1
		case '{', '[':
			depth++
		case '}', ']', ',':
			if depth == 0 {
				return name, bytes.TrimRight(rest[:end], " \t\r\n"), rest[end:], nil
			}
			if rest[end] != ',' {
				depth--
			}
		}
	}
	return nil, nil, nil, errMeta
}

// stringEnd is the length of the JSON string that b begins with, -1 for none.
func stringEnd(b []byte) int {
	if len(b) == 0 || b[0] != '"' {
		return -1
	}
	for i := 1; i < len(b); i++ {
		switch b[i] {
		case '\\':
			i++
		case '"':
			return i + 1
		}
	}
	return -1
}
