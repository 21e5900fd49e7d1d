package exchange

import (
	"context"
	"fmt"
	"net/http"
	"slices"

	"mcprelay/shared/call"
	"mcprelay/shared/session"
	"mcprelay/shared/wire"
)

// codeMissingCapability is the third error that only modern servers know
// (MCP 2026-07-28, basic/transports/streamable-http).
const codeMissingCapability = -32021

// probe finds the server's era with server/discover, which has no effect. What
// it gives for a legacy server is not yet a verdict: initialize must succeed.
func (x *Exchange) probe(ctx context.Context, r *Request) (session.State, *call.Refusal) {
	version, again := wire.Modern, false
	for range len(wire.Versions()) + 1 {
		a, refusal := x.tell(ctx, r, methodDiscover, session.State{Era: session.Modern, Version: version})
		if refusal != nil && !oddSuccess(refusal) {
			return session.State{}, refusal
		}
		found := finding{era: session.Legacy}
		if refusal == nil {
			found = a.era(version)
		}
		switch {
		case found.named && !again:
			again = true
		case found.refusal != nil:
			return session.State{}, found.refusal
		case found.era == session.Modern && found.version != version:
			version = found.version
		case found.era == session.Modern:
			s := session.State{Era: session.Modern, Version: version}
			s.Offers, s.Instructions = wire.Opening(a.reply.Result, r.Mask)
			return x.judge(ctx, r, s), nil
		default:
			return session.State{Era: session.Legacy}, nil
		}
	}
	return session.State{}, call.Refuse(call.NoCommonVersion, "the server refuses each version that it names")
}

// oddSuccess reports whether a refusal is of a 2xx reply that makes no sense:
// what a server may say to a method it has never heard of.
func oddSuccess(refusal *call.Refusal) bool {
	return refusal.Status/100 == 2 && (refusal.Reason == call.ContentType || refusal.Reason == call.Protocol)
}

// finding is what an answer to server/discover says. A version that differs
// from the one that was asked in is to be tried next.
type finding struct {
	era     session.Era
	version string
	refusal *call.Refusal
	named   bool // refused, and yet named as one that the server speaks
}

// era reads the answer to a server/discover that was asked in version.
func (a *answer) era(version string) finding {
	switch {
	case a.isError() && a.reply.Error.Code == call.CodeUnsupportedVersion:
		named := wire.ListedVersions(a.reply.Error.Data, "supported")
		found := choose(named, version)
		// Behind one address there may be two servers, one of them newer: a
		// question without an effect may be put again.
		found.named = found.refusal != nil && slices.Contains(named, version)
		return found
	case a.isError() && (a.reply.Error.Code == call.CodeHeaderMismatch || a.reply.Error.Code == codeMissingCapability):
		return finding{era: session.Modern, version: version}
	case a.noEvidence():
		return finding{refusal: a.failure("server/discover")}
	case a.isError() || !a.ok():
		return finding{era: session.Legacy}
	}
	versions := wire.ListedVersions(a.reply.Result, "supportedVersions")
	if versions == nil && a.reply.ResultType == "" {
		return finding{era: session.Legacy} // it answers anything with a result
	}
	if versions == nil {
		return finding{era: session.Modern, version: version}
	}
	return choose(versions, "")
}

// noEvidence reports whether the status says nothing about the era: a server
// that is down, busy or slow is not an old one.
func (a *answer) noEvidence() bool {
	return a.status/100 == 5 || a.status == http.StatusTooManyRequests || a.status == http.StatusRequestTimeout
}

// choose takes the newest version that both sides speak. A server that refused
// a version does not speak it, whatever it lists.
func choose(versions []string, refused string) finding {
	version, ok := wire.ChooseVersion(versions, refused)
	switch {
	case !ok:
		return finding{refusal: call.Refuse(call.NoCommonVersion, "the server names %d versions", len(versions))}
	case wire.IsModern(version):
		return finding{era: session.Modern, version: version}
	}
	return finding{era: session.Legacy, version: version}
}

// failure is the refusal where a method of the handshake was not answered with
// a result.
func (a *answer) failure(method string) *call.Refusal {
	detail := fmt.Sprintf("%s: status %d", method, a.status)
	if a.isError() {
		detail = fmt.Sprintf("%s: status %d, error %d", method, a.status, a.reply.Error.Code)
	}
	return &call.Refusal{Reason: call.InitializeFailed, Detail: detail, Quote: a.said(), Status: a.status, RetryAfter: a.retryAfter}
}
