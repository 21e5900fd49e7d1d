package wire

import "strings"

// variant reports whether name is not one of the reserved names but reads as
// one where case does not count: "Method", "PARAMS", and the two letters
// outside ASCII that fold into it, "paramſ" (U+017F) and "toKen" with the
// Kelvin sign (U+212A). Readers that ignore case, encoding/json among them,
// would take such a member for the reserved one.
func variant(name string, reserved ...string) bool {
	for _, r := range reserved {
		if name == r {
			return false
		}
		if strings.EqualFold(name, r) {
			return true
		}
	}
	return false
}

// variantOfEnvelope is variant for the members of a JSON-RPC message.
func variantOfEnvelope(name string) bool {
	return variant(name, "jsonrpc", "id", "method", "params", "result", "error")
}

// variantOfParams is variant for the parameters that MCP's methods define.
func variantOfParams(name string) bool {
	return variant(name, "name", "uri", "cursor", "arguments", "_meta", "inputResponses", "requestState",
		"ref", "argument", "context", "taskId", "task", "protocolVersion", "capabilities", "clientInfo", "level")
}

// variantOfMeta is variant for the names that MCP reserves in _meta.
func variantOfMeta(name string) bool {
	return variant(name, MetaProtocolVersion, MetaClientInfo, MetaClientCapabilities, MetaServerInfo,
		"io.modelcontextprotocol/logLevel", "io.modelcontextprotocol/subscriptionId", "io.modelcontextprotocol/related-task",
		"progressToken", "traceparent", "tracestate", "baggage")
}
