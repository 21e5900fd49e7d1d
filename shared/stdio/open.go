package stdio

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"mcprelay/shared/call"
	"mcprelay/shared/wire"
)

const (
	// probeTime is how long a child may be silent about server/discover before
	// it is asked to initialize too: some servers say nothing to what they do
	// not know (MCP 2026-07-28, basic/transports/stdio, Backward Compatibility).
	// A server that is merely slow to start may answer either one later.
	probeTime = 3 * time.Second
	// unprobedTime is how long a server that did not take server/discover well
	// is asked to initialize first, as long as a legacy verdict is believed.
	unprobedTime = 24 * time.Hour
	// codeMissingCapability is the third error that only modern servers know
	// (MCP 2026-07-28, basic).
	codeMissingCapability = -32021
)

// handshake opens one child.
type handshake struct {
	c *child
	r *Request
	f *Facts
	// harmed is set where server/discover did not come to an answer.
	harmed bool
}

// open finds out how to speak to the child. Unless unprobed, it is asked with
// server/discover first, which has no effect.
func (h *handshake) open(ctx context.Context, unprobed bool) *failure {
	if !unprobed {
		if failed := h.discover(ctx); failed != nil || h.c.era == Modern {
			return failed
		}
	}
	failed := h.initialize(ctx)
	if failed == nil || failed.broken || failed.silent {
		return failed
	}
	if h.c.late != nil { // it answered server/discover after all
		if found := era(h.c.late, wire.Modern); found.era == Modern && found.version == wire.Modern {
			h.agree(Modern, wire.Modern, h.c.late.Result)
			return nil
		}
	}
	if unprobed { // it may have left the legacy era
		if again := h.discover(ctx); again != nil || h.c.era == Modern {
			return again
		}
	}
	return failed
}

// agree notes what was found out.
func (h *handshake) agree(era, version string, result json.RawMessage) {
	h.c.era, h.c.version = era, version
	if h.c.capabilities, _ = wire.Member(result, "capabilities"); !bytes.HasPrefix(h.c.capabilities, []byte("{")) {
		h.c.capabilities = nil // it did not say
	}
}

// discover asks for the child's era and leaves it unset where it is no modern
// server, which initialize has to confirm.
func (h *handshake) discover(ctx context.Context) *failure {
	version := wire.Modern
	for range len(wire.Versions()) {
		reply, failed := h.probe(ctx, version)
		if failed != nil {
			return failed
		}
		found := era(&reply, version)
		switch {
		case found.refusal != nil:
			return fail(found.refusal)
		case found.era == Modern && found.version != version:
			version = found.version
		case found.era == Modern:
			h.agree(Modern, version, reply.Result)
			return nil
		default:
			h.c.era = ""
			return nil
		}
	}
	return fail(call.Refuse(call.NoCommonVersion, "the server refuses each version that it names"))
}

// probe is one server/discover. No answer in time, and an answer that makes no
// sense, come back as an empty one: so speak servers that do not know it.
func (h *handshake) probe(ctx context.Context, version string) (wire.Reply, *failure) {
	c := h.c
	c.era, c.version, c.probe = Modern, version, c.nextID()
	bounded, cancel := context.WithTimeout(ctx, min(probeTime, h.r.Spec.Startup/2))
	defer cancel()
	c.probing.Store(true)
	reply, failed := c.ask(bounded, h.r, h.f, &message{method: methodDiscover, id: c.probe})
	if failed != nil && failed.again {
		h.harmed = true // probing stays set for whoever looks at its end
		return wire.Reply{}, failed
	}
	c.probing.Store(false)
	switch {
	case failed == nil:
		return reply, nil
	case failed.silent && !failed.broken && ctx.Err() == nil:
		h.harmed = true
		return wire.Reply{}, nil
	case failed.refusal.Reason == call.Protocol:
		return wire.Reply{}, nil
	}
	return wire.Reply{}, failed
}

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

// initialize opens a server of 2025-11-25 or older: two messages, and then it
// may be asked (MCP 2025-11-25, basic/lifecycle).
func (h *handshake) initialize(ctx context.Context) *failure {
	c := h.c
	c.era, c.version = Legacy, wire.Legacy
	reply, failed := c.ask(ctx, h.r, h.f, &message{method: methodInitialize, id: c.nextID(), params: json.RawMessage(
		`{"protocolVersion":"` + wire.Legacy + `","capabilities":{},"clientInfo":` + string(c.client) + `}`)})
	if failed != nil {
		return failed
	}
	if e := reply.Error; e != nil {
		reason := call.InitializeFailed
		if e.Code == call.CodeUnsupportedVersion || listed(e.Data, "supported") != nil {
			reason = call.NoCommonVersion
		}
		return fail(call.Refuse(reason, "initialize: error %d", e.Code))
	}
	version, ok := negotiated(reply.Result)
	if !ok {
		return fail(&call.Refusal{Reason: call.NoCommonVersion, Detail: "initialize: another protocolVersion", Quote: clip([]byte(version))})
	}
	h.agree(Legacy, version, reply.Result)
	line, _ := c.compose(&message{method: methodInitialized})
	if !c.tell(line, time.Until(deadline(ctx, h.r.Spec.Startup)), h.f) {
		return &failure{refusal: call.Refuse(call.ProcessFailed, "it did not take notifications/initialized"), again: true, broken: true}
	}
	return nil
}

// deadline is when ctx ends, or a time from now where it has no end.
func deadline(ctx context.Context, otherwise time.Duration) time.Time {
	if at, ok := ctx.Deadline(); ok {
		return at
	}
	return time.Now().Add(otherwise)
}

// negotiated is the version of an initialize result, and whether the relay
// speaks it with a handshake.
func negotiated(result json.RawMessage) (string, bool) {
	var version string
	raw, _ := wire.Member(result, "protocolVersion")
	if json.Unmarshal(raw, &version) != nil {
		return string(raw), false
	}
	return version, wire.IsLegacy(version)
}

// opening is the refusal of a failure before the agent's request was written:
// nothing of it ran. Where the child spoke, or should have, it is the handshake
// that failed.
func opening(refusal *call.Refusal) *call.Refusal {
	told := *refusal
	told.Impact = call.ImpactNone
	if refusal.Row().Stage != call.StageCall {
		return &told
	}
	switch refusal.Reason {
	case call.Cancelled:
	case call.CallTimeout:
		told.Reason, told.Err = call.OpenTimeout, refusal
	default:
		told.Reason, told.Detail, told.Err = call.InitializeFailed, fmt.Sprint(refusal), refusal
	}
	return &told
}
