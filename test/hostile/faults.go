package hostile

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"mcprelay/shared/wire"
)

// faults lists what the protocol or the house forbids in r. A correct relay
// sends nothing of the kind, whatever its server did before.
func (s *Server) faults(r Request) []string {
	var found []string
	fault := func(format string, args ...any) {
		found = append(found, r.Key()+": "+fmt.Sprintf(format, args...))
	}
	if r.Host != s.Authority() || r.Target != s.options.Path {
		fault("sent to %s%s, want %s%s", r.Host, r.Target, s.Authority(), s.options.Path)
	}
	for name, values := range r.Header {
		if len(values) > 1 {
			fault("header %s comes %d times", name, len(values))
		}
		if forbidden(name) {
			fault("header %s must not be sent", name)
		}
	}
	switch r.Verb {
	case http.MethodPost:
		for _, text := range s.postFaults(r) {
			fault("%s", text)
		}
	case http.MethodDelete:
		if id := r.Header.Get("Mcp-Session-Id"); id == "" || len(r.Body) > 0 {
			fault("ends no session, or has a body")
		}
	default:
		fault("a request that the relay never makes")
	}
	return found
}

// forbidden reports whether the relay must not send a header: the agent's own
// and those that speak of a proxy (SECURITY 4.1).
func forbidden(name string) bool {
	switch name {
	case "Origin", "Referer", "Cookie", "Forwarded", "Idempotency-Key", "X-Idempotency-Key", "Transfer-Encoding", "Expect", "Upgrade", "Last-Event-Id":
		return true
	}
	for _, prefix := range []string{"X-Forwarded-", "X-Relay-", "Proxy-", "X-Amz"} {
		if strings.HasPrefix(name, prefix) {
			return true
		}
	}
	return false
}

func (s *Server) postFaults(r Request) []string {
	var found []string
	want := func(holds bool, format string, args ...any) {
		if !holds {
			found = append(found, fmt.Sprintf(format, args...))
		}
	}
	accept := r.Header.Get("Accept")
	want(strings.Contains(accept, "application/json") && strings.Contains(accept, "text/event-stream"), "Accept is %q", accept)
	want(r.Header.Get("Content-Type") == "application/json", "Content-Type is %q", r.Header.Get("Content-Type"))
	want(r.Header.Get("Accept-Encoding") == "identity", "Accept-Encoding is %q", r.Header.Get("Accept-Encoding"))
	var message map[string]json.RawMessage
	want(json.Unmarshal(r.Body, &message) == nil && string(message["jsonrpc"]) == `"2.0"`, "the body is no JSON-RPC message")
	want(r.Method != "", "the relay answers a request of the server's")
	want((r.ID == "") == strings.HasPrefix(r.Method, "notifications/"), "id %s", r.ID)
	header := r.Header.Get("MCP-Protocol-Version")
	want(slices.Contains(wire.Versions(), header), "MCP-Protocol-Version is %q", header)
	if wire.IsModern(header) {
		return append(found, modernFaults(r, header)...)
	}
	want(r.Meta(wire.MetaProtocolVersion) == "" && r.Meta(wire.MetaClientCapabilities) == "", "a legacy message with a modern _meta")
	want(!slices.Contains([]Era{Legacy, Sessionless}, s.options.Era) || r.Method == "initialize" || header == s.options.Version,
		"MCP-Protocol-Version is %q, negotiated was %q", header, s.options.Version)
	want(r.Method != "initialize" || r.Header.Get("Mcp-Session-Id") == "", "initialize with a session id")
	return found
}

// modernFaults are those against MCP 2026-07-28, basic/transports.
func modernFaults(r Request, version string) []string {
	var found []string
	want := func(name, got, expected string) {
		if got != expected {
			found = append(found, fmt.Sprintf("%s is %q, the body says %q", name, got, expected))
		}
	}
	want("MCP-Protocol-Version", `"`+version+`"`, r.Meta(wire.MetaProtocolVersion))
	want("Mcp-Method", r.Header.Get("Mcp-Method"), r.Method)
	want("Mcp-Name", decoded(r.Header.Get("Mcp-Name")), r.Name)
	want("Mcp-Session-Id", r.Header.Get("Mcp-Session-Id"), "")
	if r.Meta(wire.MetaClientCapabilities) != "{}" || r.Meta(wire.MetaClientInfo) == "" {
		found = append(found, "_meta lacks the client's own members")
	}
	return found
}

// decoded reads the Base64 form of a name: =?base64?...?=.
func decoded(value string) string {
	text, ok := strings.CutPrefix(value, "=?base64?")
	if !ok {
		return value
	}
	plain, err := base64.StdEncoding.DecodeString(strings.TrimSuffix(text, "?="))
	if err != nil {
		return value
	}
	return string(plain)
}

// Faults are what the relay did that it must not do.
func (s *Server) Faults() []string {
	s.log.mu.Lock()
	defer s.log.mu.Unlock()
	return slices.Clone(s.log.faults)
}

// judge fails the test for the faults of the relay.
func (s *Server) judge() {
	s.t.Helper()
	if s.options.Lenient {
		return
	}
	for _, fault := range s.Faults() {
		s.t.Errorf("hostile: the relay sent what it must not: %s", fault)
	}
}
