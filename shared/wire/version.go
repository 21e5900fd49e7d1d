package wire

// The revisions of MCP that the relay speaks.
const (
	Modern = "2026-07-28" // the newest revision and the first stateless one
	Legacy = "2025-11-25" // the newest revision with sessions
)

// Names inside _meta that MCP reserves (2026-07-28, basic).
const (
	MetaProtocolVersion    = "io.modelcontextprotocol/protocolVersion"
	MetaClientInfo         = "io.modelcontextprotocol/clientInfo"
	MetaClientCapabilities = "io.modelcontextprotocol/clientCapabilities"
	MetaServerInfo         = "io.modelcontextprotocol/serverInfo"
	// MetaLogLevel asks for log messages: the agent's to set. It means nothing
	// to a server with sessions.
	MetaLogLevel = "io.modelcontextprotocol/logLevel"
)

// Versions lists the supported revisions, newest first. The caller owns the slice.
func Versions() []string {
	return []string{Modern, Legacy, "2025-06-18", "2025-03-26", "2024-11-05"}
}

// IsModern reports whether v names the first stateless revision or anything
// that sorts after it, supported or not: an unknown future revision must be
// answered with "unsupported version", never served as a legacy one.
func IsModern(v string) bool { return v >= Modern }

// IsLegacy reports whether v is one of the supported revisions with sessions.
func IsLegacy(v string) bool {
	switch v {
	case Legacy, "2025-06-18", "2025-03-26", "2024-11-05":
		return true
	}
	return false
}
