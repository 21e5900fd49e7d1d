package stdio

import (
	"encoding/json"
	"slices"
	"strings"

	"mcprelay/shared/call"
	"mcprelay/shared/wire"
)

// finding is what an answer to server/discover says. A version that differs
// from the one that was asked in is to be tried next.
type finding struct {
	era     string
	version string
	refusal *call.Refusal
}

// era reads the answer to a server/discover that was asked in version. Any
// error but the three that modern servers know is a legacy server's.
func era(reply *wire.Reply, version string) finding {
	if reply.Error != nil {
		switch reply.Error.Code {
		case call.CodeUnsupportedVersion:
			return choose(listed(reply.Error.Data, "supported"), version, true)
		case call.CodeHeaderMismatch, codeMissingCapability:
			return finding{era: Modern, version: version}
		}
		return finding{era: Legacy}
	}
	versions := listed(reply.Result, "supportedVersions")
	switch {
	case versions == nil && reply.ResultType == "":
		return finding{era: Legacy} // it answers anything with a result
	case versions == nil:
		return finding{era: Modern, version: version}
	}
	return choose(versions, version, false)
}

// choose takes the newest version that both sides speak. A server that refused
// asked does not speak it, whatever it lists.
func choose(versions []string, asked string, refused bool) finding {
	for _, ours := range wire.Versions() {
		if !slices.Contains(versions, ours) || refused && ours == asked {
			continue
		}
		if wire.IsModern(ours) {
			return finding{era: Modern, version: ours}
		}
		return finding{era: Legacy, version: ours}
	}
	return finding{refusal: call.Refuse(call.NoCommonVersion, "the server names %d versions", len(versions))}
}

// listed reads a member that is a list of versions, nil where it is none.
func listed(object json.RawMessage, name string) []string {
	raw, ok := wire.Member(object, name)
	versions := []string{}
	if !ok || json.Unmarshal(raw, &versions) != nil {
		return nil
	}
	return versions
}

// refusesVersion reports whether the server did not execute a request of c's
// because of its version, and finds one to ask in. The protocol has a code for
// it (MCP 2026-07-28, basic/versioning); servers before it have words, which
// count only beside a list of versions: a tool may say them too.
func (c *child) refusesVersion(e *wire.RPCError) (finding, bool) {
	if e == nil {
		return finding{}, false
	}
	versions := listed(e.Data, "supported")
	if e.Code == call.CodeUnsupportedVersion && c.era == Modern || len(versions) > 0 && aboutVersion(e.Message) {
		return choose(versions, c.version, true), true
	}
	return finding{}, false
}

// maxText is how far into an error's message the words are looked for.
const maxText = 1 << 10

// aboutVersion reports whether words refuse a protocol version. Each SDK has
// its own; a tool that validates an argument of that name has others.
func aboutVersion(text string) bool {
	text = strings.ToLower(text[:min(len(text), maxText)])
	return strings.Contains(text, "protocol version") &&
		(strings.Contains(text, "unsupported") || strings.Contains(text, "not supported"))
}
