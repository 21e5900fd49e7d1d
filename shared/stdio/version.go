package stdio

import (
	"slices"
	"strings"
	"time"

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
			return choose(wire.ListedVersions(reply.Error.Data, "supported"), version)
		case call.CodeHeaderMismatch, codeMissingCapability:
			return finding{era: Modern, version: version}
		}
		return finding{era: Legacy}
	}
	versions := wire.ListedVersions(reply.Result, "supportedVersions")
	switch {
	case versions == nil && reply.ResultType == "":
		return finding{era: Legacy} // it answers anything with a result
	case versions == nil:
		return finding{era: Modern, version: version}
	}
	return choose(versions, "")
}

// choose takes the newest version that both sides speak. A server that refused
// a version does not speak it, whatever it lists.
func choose(versions []string, refused string) finding {
	version, ok := wire.ChooseVersion(versions, refused)
	switch {
	case !ok:
		return finding{refusal: call.Refuse(call.NoCommonVersion, "the server names %d versions", len(versions))}
	case wire.IsModern(version):
		return finding{era: Modern, version: version}
	}
	return finding{era: Legacy, version: version}
}

// refusesVersion reports whether the server did not execute a request of c's
// because of its version, and finds one to ask in. Here no status tells a
// server's refusal from a tool's error, and what is written again may run
// twice: when in doubt, the error is the answer. So the request must have named
// its version, which those to a legacy server do not, the error must list
// others, and it has the protocol's own code (MCP 2026-07-28, basic/versioning)
// or is what the SDKs say.
func (c *child) refusesVersion(e *wire.RPCError) (finding, bool) {
	if e == nil || c.era != Modern {
		return finding{}, false
	}
	versions := wire.ListedVersions(e.Data, "supported")
	if len(versions) == 0 || e.Code != call.CodeUnsupportedVersion && !c.saysUnsupported(e, versions) {
		return finding{}, false
	}
	return choose(versions, c.version), true
}

// unsupported is what the SDKs begin with, in whatever case, where they refuse a
// version without the code that is for it, and badRequest what some of them put
// before it (MCP 2025-11-25, basic/lifecycle, Error Handling).
const (
	unsupported = "unsupported protocol version"
	badRequest  = "bad request: "
)

// saysUnsupported reports whether an error without the code of its own is
// unmistakably a refusal of c's version: the code of a request that is not
// understood, the SDKs' words, and a list of nothing but revisions of MCP that
// lacks the one that was asked in.
func (c *child) saysUnsupported(e *wire.RPCError, versions []string) bool {
	if e.Code != call.CodeInvalidParams && e.Code != call.CodeInvalidRequest || slices.Contains(versions, c.version) {
		return false
	}
	words := strings.ToLower(e.Message[:min(len(e.Message), len(badRequest)+len(unsupported))])
	if !strings.HasPrefix(strings.TrimPrefix(words, badRequest), unsupported) {
		return false
	}
	return !slices.ContainsFunc(versions, func(v string) bool {
		_, err := time.Parse(time.DateOnly, v) // which is how revisions are named
		return err != nil
	})
}
