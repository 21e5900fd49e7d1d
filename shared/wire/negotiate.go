package wire

import (
	"encoding/json"
	"slices"
	"strings"
)

// ChooseVersion takes the newest version that the relay and the peer, who
// speaks versions, have in common; false where there is none. A peer that
// refused asked does not speak it, whatever it lists; asked is empty where
// nothing was refused.
func ChooseVersion(versions []string, asked string) (string, bool) {
	for _, ours := range Versions() {
		if ours != asked && slices.Contains(versions, ours) {
			return ours, true
		}
	}
	return "", false
}

// ListedVersions reads the member called name that is a list of strings, nil
// where there is none: supportedVersions of a result of server/discover,
// supported of an error's data.
func ListedVersions(object json.RawMessage, name string) []string {
	raw, ok := Member(object, name)
	versions := []string{}
	if !ok || json.Unmarshal(raw, &versions) != nil {
		return nil
	}
	return versions
}

// NegotiatedVersion is the version in a result of initialize, and whether the
// relay speaks it with a handshake. Where it is no string it is what came.
func NegotiatedVersion(result json.RawMessage) (string, bool) {
	var version string
	raw, _ := Member(result, "protocolVersion")
	if json.Unmarshal(raw, &version) != nil {
		return string(raw), false
	}
	return version, IsLegacy(version)
}

// maxRefusal is how far into a text [RefusesVersion] looks, in bytes: the
// longest sentence seen, with a list of versions, has about 200.
const maxRefusal = 1 << 10

// RefusesVersion reports whether words refuse a protocol version. Each SDK has
// its own, and a tool that validates an argument of that name may have the
// same: they prove nothing without a status or a list beside them.
func RefusesVersion(text string) bool {
	text = strings.ToLower(text[:min(len(text), maxRefusal)])
	refused := strings.Contains(text, "unsupported") || strings.Contains(text, "not supported")
	switch {
	case strings.Contains(text, "mcp-protocol-version"):
		return refused || strings.Contains(text, "invalid") || strings.Contains(text, "unknown")
	case strings.Contains(text, "protocol version"):
		return refused
	}
	return false
}

// ClientInfo is how a client describes itself when it opens a server. A name
// that is not UTF-8 is written with replacement characters.
func ClientInfo(name, version string) json.RawMessage {
	dst := AppendString([]byte(`{"name":`), name)
	dst = append(dst, `,"version":`...)
	return append(AppendString(dst, version), '}')
}
