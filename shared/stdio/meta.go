package stdio

import (
	"bytes"
	"encoding/json"
	"strconv"

	"mcprelay/shared/wire"
)

// What _meta may hold besides the names in wire.
const (
	metaProgressToken = "progressToken"
	metaTraceparent   = "traceparent"
)

// meta is the _meta of a message to c: the agent's members as they came, but
// for those that speak of the client, which are the relay's own to say. For a
// legacy server an empty one is nil.
func (c *child) meta(m *message) (json.RawMessage, error) {
	meta := m.meta
	if meta == nil {
		meta = json.RawMessage(`{}`)
	}
	var err error
	for _, name := range []string{wire.MetaProtocolVersion, wire.MetaClientCapabilities, wire.MetaClientInfo} {
		if meta, err = wire.DeleteMember(meta, name); err != nil {
			return nil, err
		}
	}
	if _, has := wire.Member(meta, metaTraceparent); !has && wire.Traceparent(m.traceparent) {
		if meta, err = wire.SetMember(meta, metaTraceparent, wire.AppendString(nil, m.traceparent)); err != nil {
			return nil, err
		}
	}
	if c.era != Modern {
		meta, err = wire.DeleteMember(meta, wire.MetaLogLevel)
		if err != nil || hollow(meta) {
			return nil, err
		}
		return meta, nil
	}
	for _, member := range [][2]string{
		{wire.MetaProtocolVersion, strconv.Quote(c.version)},
		{wire.MetaClientCapabilities, `{}`},
		{wire.MetaClientInfo, string(c.client)},
	} {
		if meta, err = wire.SetMember(meta, member[0], json.RawMessage(member[1])); err != nil {
			return nil, err
		}
	}
	return meta, nil
}

// hollow reports whether an object has no members.
func hollow(object json.RawMessage) bool {
	inner := bytes.Trim(object, " \t\r\n{")
	return string(inner) == "}"
}

// sameToken reports whether params of a notifications/progress are about the
// request whose _meta holds token: a server may send a number back as a string.
func sameToken(params, token json.RawMessage) bool {
	given, ok := wire.Member(params, metaProgressToken)
	return ok && token != nil && bytes.Equal(bytes.Trim(given, `"`), bytes.Trim(token, `"`))
}
