package stdio

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
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
	offer  string // the legacy version that server/discover found, if it did
}

// open finds out how to speak to the child. Unless unprobed, it is asked with
// server/discover first, which has no effect.
func (h *handshake) open(ctx context.Context, unprobed bool) *failure {
	if !unprobed {
		if failed := h.discover(ctx); failed != nil || h.c.era == Modern {
			return failed
		}
	}
	failed := h.initialize(ctx, h.offer)
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
		second := h.discover(ctx)
		if second == nil && h.c.era == Modern || second != nil && !second.again {
			return second
		}
	}
	return failed
}

// agree notes what was found out.
func (h *handshake) agree(era, version string, result json.RawMessage) {
	h.c.era, h.c.version = era, version
	h.c.offers, h.c.instructions = wire.Opening(result, h.r.Mask)
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
			h.c.era, h.offer = "", found.version
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
	reply, failed := c.ask(bounded, h.r, h.f, &message{method: methodDiscover, id: c.probe})
	switch {
	case failed == nil:
		return reply, nil
	case failed.silent && !failed.broken && ctx.Err() == nil:
		h.harmed = true
		return wire.Reply{}, nil
	case failed.refusal.Reason == call.Protocol:
		return wire.Reply{}, nil
	}
	h.harmed = failed.wrote
	return wire.Reply{}, failed
}

// maxOffers is how often initialize is sent to one child: a server that names
// versions and then refuses one of them is not asked a third time.
const maxOffers = 2

// initialize opens a server of 2025-11-25 or older: two messages, and then it
// may be asked (MCP 2025-11-25, basic/lifecycle). It offers the version that
// discover found, or the newest, and takes any that the relay speaks. A server
// that refuses it with a list of its own is offered one of those.
func (h *handshake) initialize(ctx context.Context, offer string) *failure {
	c := h.c
	for range maxOffers {
		c.era, c.version = Legacy, cmp.Or(offer, wire.Legacy)
		reply, failed := c.ask(ctx, h.r, h.f, &message{method: methodInitialize, id: c.nextID(), params: json.RawMessage(
			`{"protocolVersion":"` + c.version + `","capabilities":{},"clientInfo":` + string(c.client) + `}`)})
		if failed != nil {
			return failed
		}
		if reply.Error == nil {
			return h.initialized(ctx, &reply)
		}
		versions := wire.ListedVersions(reply.Error.Data, "supported")
		if versions == nil && reply.Error.Code != call.CodeUnsupportedVersion {
			return fail(call.Refuse(call.InitializeFailed, "initialize: error %d", reply.Error.Code))
		}
		found := choose(versions, c.version)
		switch {
		case found.refusal != nil:
			return fail(call.Refuse(call.NoCommonVersion, "initialize: error %d", reply.Error.Code))
		case found.era == Modern:
			h.agree(Modern, found.version, nil)
			return nil
		}
		offer = found.version
	}
	return fail(call.Refuse(call.NoCommonVersion, "initialize: the server refuses a version that it names"))
}

// initialized completes an opening whose first message was answered.
func (h *handshake) initialized(ctx context.Context, reply *wire.Reply) *failure {
	version, ok := wire.NegotiatedVersion(reply.Result)
	if !ok {
		return fail(&call.Refusal{Reason: call.NoCommonVersion, Detail: "initialize: another protocolVersion", Quote: clip([]byte(version))})
	}
	h.agree(Legacy, version, reply.Result)
	line, _ := h.c.compose(&message{method: methodInitialized})
	if !h.c.tell(line, time.Until(deadline(ctx, h.r.Spec.Startup)), h.f) {
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
