package stdio

import (
	"bytes"
	"encoding/json"
	"strconv"
	"strings"

	"mcprelay/shared/wire"
)

// What _meta may hold besides the names in wire.
const (
	metaLogLevel      = "io.modelcontextprotocol/logLevel" // the agent's to set, for a modern server only
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
	if _, has := wire.Member(meta, metaTraceparent); !has && traced(m.traceparent) {
		if meta, err = wire.SetMember(meta, metaTraceparent, quote(m.traceparent)); err != nil {
			return nil, err
		}
	}
	if c.era != Modern {
		meta, err = wire.DeleteMember(meta, metaLogLevel)
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

// traced reports whether s is a traceparent: version, trace id, parent id and
// flags in lower-case hexadecimal, no id all zeros. A version that is not known
// yet may have more behind a hyphen (W3C Trace Context, section 3.2).
func traced(s string) bool {
	const length, longest = 55, 256
	if len(s) < length || len(s) > longest || len(s) > length && (s[:2] == "00" || s[length] != '-') {
		return false
	}
	parts := strings.Split(s[:length], "-")
	if len(parts) != 4 || parts[0] == "ff" {
		return false
	}
	for i, size := range []int{2, 32, 16, 2} {
		if len(parts[i]) != size || strings.Trim(parts[i], "0123456789abcdef") != "" {
			return false
		}
	}
	odd := func(r rune) bool { return r <= ' ' || r > '~' || r == '"' || r == '\\' }
	return strings.Trim(parts[1], "0") != "" && strings.Trim(parts[2], "0") != "" && !strings.ContainsFunc(s[length:], odd)
}

// sameToken reports whether params of a notifications/progress are about the
// request whose _meta holds token: a server may send a number back as a string.
func sameToken(params, token json.RawMessage) bool {
	given, ok := wire.Member(params, metaProgressToken)
	return ok && token != nil && bytes.Equal(bytes.Trim(given, `"`), bytes.Trim(token, `"`))
}
