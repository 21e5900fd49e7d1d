package exchange

import (
	"strconv"
	"strings"

	"mcprelay/shared/call"
	"mcprelay/shared/session"
	"mcprelay/shared/wire"
)

// accepted are the headers that every POST carries whatever it says (MCP
// 2026-07-28, basic/transports/streamable-http). Identity, because a reply that
// needs no decoder cannot be a bomb.
const accepted = "Content-Type: application/json\r\n" +
	"Accept: application/json, text/event-stream\r\n" +
	"Accept-Encoding: identity\r\n"

// maxJoined is the largest body that is sent in one write with its head, in
// bytes: below it a copy costs less than a second write.
const maxJoined = 16 << 10

// appendRequest builds the whole request in s.out, or its head there and its
// body in s.body.
func (x *Exchange) appendRequest(s *scratch, r *Request, m *message) *call.Refusal {
	s.body = s.body[:0]
	if m.verb == "POST" {
		body, refusal := x.appendBody(s.body, m)
		if refusal != nil {
			return refusal
		}
		s.body = body
	}
	endpoint := r.Route.Endpoint()
	out := append(s.out[:0], m.verb...)
	out = append(out, ' ')
	out = append(out, endpoint.RequestURI()...)
	out = append(out, " HTTP/1.1\r\n"...)
	out, refusal := appendHeader(out, nil, "Host", endpoint.Authority())
	if m.verb == "POST" {
		out = append(out, accepted...)
		out = append(out, "Content-Length: "...)
		out = strconv.AppendInt(out, int64(len(s.body)), 10)
		out = append(out, "\r\n"...)
	}
	out, refusal = x.appendProtocol(out, refusal, m)
	out, refusal = x.appendCredential(out, refusal, s, r)
	out = append(out, "\r\n"...)
	if s.out = out; len(s.body) <= maxJoined {
		s.out, s.body = append(out, s.body...), s.body[:0]
	}
	return refusal
}

// appendProtocol appends the headers that repeat what the body says: they come
// from the body that is sent, never from the agent's own headers.
func (x *Exchange) appendProtocol(out []byte, refusal *call.Refusal, m *message) ([]byte, *call.Refusal) {
	out, refusal = appendHeader(out, refusal, "MCP-Protocol-Version", m.state.Version)
	if m.state.Era == session.Modern {
		out, refusal = appendHeader(out, refusal, "Mcp-Method", m.method)
		if name := m.ask.Mirrored(); name != "" {
			out, refusal = appendHeader(out, refusal, "Mcp-Name", wire.EncodeName(name))
		}
		return appendMirrored(out, refusal, m)
	}
	if m.state.SessionID != "" {
		out, refusal = appendHeader(out, refusal, "Mcp-Session-Id", m.state.SessionID)
	}
	return out, refusal
}

// appendMirrored appends the arguments that the tool's description wants in
// headers, from the arguments that are sent.
func appendMirrored(out []byte, refusal *call.Refusal, m *message) ([]byte, *call.Refusal) {
	for _, p := range m.params {
		value, ok, err := p.Value(m.ask.Arguments)
		if err != nil && refusal == nil {
			refusal = &call.Refusal{Reason: call.BadParams, Impact: call.ImpactNone, Detail: err.Error(), Err: err}
		}
		if err := wire.FieldName(p.Header); err != nil && refusal == nil {
			refusal = &call.Refusal{Reason: call.Internal, Impact: call.ImpactNone, Detail: "unusable name of a mirrored argument", Err: err}
		}
		if ok {
			out = append(out, "Mcp-Param-"...)
			out, refusal = appendHeader(out, refusal, p.Header, value)
		}
	}
	return out, refusal
}

// appendCredential appends what Authorize sets. Names on the deny list of
// [wire.HeaderName] and bytes that a header cannot carry refuse the call: they
// would be trimmed or dropped by a lenient writer.
func (x *Exchange) appendCredential(out []byte, refusal *call.Refusal, s *scratch, r *Request) ([]byte, *call.Refusal) {
	if r.Authorize != nil {
		r.Authorize(s.header)
	}
	named := false // as whom the relay calls
	for name, values := range s.header {
		named = named || strings.EqualFold(name, "User-Agent")
		if err := wire.HeaderName(name); err != nil && refusal == nil {
			refusal = &call.Refusal{Reason: call.SecretUnusable, Detail: "the credential's header name is not allowed", Err: err}
		}
		for _, value := range values {
			if err := wire.HeaderValue(value); err != nil && refusal == nil {
				refusal = &call.Refusal{Reason: call.SecretUnusable, Detail: "a credential header holds a byte that it cannot carry", Err: err}
			}
			out = appendLine(out, name, value)
		}
	}
	out = appendLine(out, "Via", wire.Via)
	if !named {
		out, refusal = appendHeader(out, refusal, "User-Agent", x.agent)
	}
	return out, refusal
}

// appendHeader appends a header of the relay's own. The first refusal is kept.
func appendHeader(out []byte, refusal *call.Refusal, name, value string) ([]byte, *call.Refusal) {
	if err := wire.HeaderValue(value); err != nil && refusal == nil {
		refusal = &call.Refusal{Reason: call.Internal, Impact: call.ImpactNone, Detail: "unusable value of " + name, Err: err}
	}
	return appendLine(out, name, value), refusal
}

func appendLine(out []byte, name, value string) []byte {
	out = append(out, name...)
	out = append(out, ": "...)
	out = append(out, value...)
	return append(out, "\r\n"...)
}
