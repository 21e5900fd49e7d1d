package wire

import (
	"net/http"
	"strings"

	"mcprelay/shared/call"
)

// CheckHeaders compares the headers that repeat parts of a modern request with
// the request itself (2026-07-28, basic/transports): MCP-Protocol-Version,
// Mcp-Method and, for tools/call, prompts/get and resources/read, Mcp-Name,
// compared after decoding. Each must be there once and say the same; else the
// refusal is HeaderMismatch. A request is modern if either its _meta or its
// header says so; one that says so in the header alone lacks a required
// member: BadParams. The revision defines no headers for notifications, so
// theirs may be absent, but may not lie.
//
// A legacy request must only not repeat a header or contradict its own _meta:
// nothing here ever decides by a header.
func CheckHeaders(h http.Header, r Request) *call.Refusal {
	version, refusal := single(h, "MCP-Protocol-Version")
	if refusal != nil {
		return refusal
	}
	method, refusal := single(h, "Mcp-Method")
	if refusal != nil {
		return refusal
	}
	name, refusal := single(h, "Mcp-Name")
	if refusal != nil {
		return refusal
	}
	switch {
	case version != "" && r.ProtocolVersion != "" && version != r.ProtocolVersion:
		return mismatch("MCP-Protocol-Version differs from _meta")
	case !r.Modern() && !IsModern(version):
		return nil
	case r.ProtocolVersion == "" && !r.Notification():
		return call.Refuse(call.BadParams, "_meta lacks %s", MetaProtocolVersion)
	case version == "" && !r.Notification():
		return mismatch("MCP-Protocol-Version is missing")
	case method != r.Method && (method != "" || !r.Notification()):
		return mismatch("Mcp-Method is missing or differs from the method")
	}
	return checkName(name, r)
}

// checkName compares Mcp-Name, for the methods that have it.
func checkName(header string, r Request) *call.Refusal {
	want, named := r.target()
	if !named {
		return nil
	}
	got, err := DecodeName(header)
	switch {
	case err != nil:
		return mismatch("Mcp-Name is malformed")
	case got != want:
		return mismatch("Mcp-Name is missing or differs from the name or uri")
	}
	return nil
}

// single gives the one value of a header without the blanks around it, which
// are no part of it (RFC 9110 section 5.5), or "" for none.
func single(h http.Header, name string) (string, *call.Refusal) {
	values := h.Values(name)
	switch len(values) {
	case 0:
		return "", nil
	case 1:
		return strings.Trim(values[0], " \t"), nil
	}
	return "", mismatch(name + " is there more than once")
}

// mismatch is the refusal of -32020.
func mismatch(detail string) *call.Refusal { return call.Refuse(call.HeaderMismatch, "%s", detail) }
