package stdio

import (
	"bytes"
	"encoding/json"
	"strconv"

	"mcprelay/shared/wire"
)

// metaTraceparent is what _meta may hold besides the names in wire.
const metaTraceparent = "traceparent"

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
	capabilities := `{}`
	if m.capabilities != nil {
		capabilities = string(m.capabilities)
	}
	for _, member := range [][2]string{
		{wire.MetaProtocolVersion, strconv.Quote(c.version)},
		{wire.MetaClientCapabilities, capabilities},
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
