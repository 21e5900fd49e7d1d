package wire

import (
	"bytes"
	"unicode/utf8"
)

// variant reports whether name is not one of the reserved names but reads as
// one where case does not count: "Method", "PARAMS", and the two letters
// outside ASCII that fold into it, "paramſ" (U+017F) and "toKen" with the
// Kelvin sign (U+212A). Readers that ignore case, encoding/json among them,
// would take such a member for the reserved one.
func variant(name []byte, reserved ...string) bool {
	letters := utf8.RuneCount(name)
	for _, r := range reserved {
		if string(name) == r {
			return false
		}
		// Reserved names are ASCII, and what folds into a letter is one too.
		if letters == len(r) && bytes.EqualFold(name, []byte(r)) {
			return true
		}
	}
	return false
}

// variantOfEnvelope is variant for the members of a JSON-RPC message.
func variantOfEnvelope(name []byte) bool {
	return variant(name, "jsonrpc", "id", "method", "params", "result", "error")
}

// variantOfParams is variant for the parameters that MCP's methods define.
func variantOfParams(name []byte) bool {
	return variant(name, "name", "uri", "cursor", "arguments", "_meta", "inputResponses", "requestState",
		"ref", "argument", "context", "taskId", "task", "protocolVersion", "capabilities", "clientInfo", "level")
}

// variantOfRef is variant for what names the subject of a completion.
func variantOfRef(name []byte) bool { return variant(name, "type", "name", "uri") }

// variantOfArgument is variant for the argument that is being completed.
func variantOfArgument(name []byte) bool { return variant(name, "name", "value") }

// variantOfMeta is variant for the names that MCP reserves in _meta.
func variantOfMeta(name []byte) bool {
	return variant(name, MetaProtocolVersion, MetaClientInfo, MetaClientCapabilities, MetaServerInfo,
		MetaLogLevel, "io.modelcontextprotocol/subscriptionId", "io.modelcontextprotocol/related-task",
		"progressToken", "traceparent", "tracestate", "baggage")
}

// constant gives content as a string. For the texts that nearly all messages
// hold it does without an allocation.
func constant(content []byte) string {
	switch string(content) {
	case "2.0":
		return "2.0"
	case "tools/call":
		return "tools/call"
	case "tools/list":
		return "tools/list"
	case "server/discover":
		return "server/discover"
	case "initialize":
		return "initialize"
	case "notifications/initialized":
		return "notifications/initialized"
	case "notifications/progress":
		return "notifications/progress"
	case "complete":
		return "complete"
	case Modern:
		return Modern
	case Legacy:
		return Legacy
	}
	return string(content)
}
