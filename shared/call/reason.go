package call

// Reason is one way a call can end. The set is closed: [Reasons] lists it, and
// a value outside it behaves as [Internal].
type Reason string

// Row is what a reason means on every face.
type Row struct {
	Reason   Reason
	Outcome  Outcome
	Stage    Stage
	Impact   Impact
	Status   int    // of the plain face; on the MCP face only parse and auth use it
	Code     int    // JSON-RPC error code
	Sentence string // the constant text an agent sees; the call id is added to it
	Hidden   bool   // shown to agents as NotOffered unless the tenant explains refusals
}

// JSON-RPC and MCP error codes. The relay's own lie outside -32768..-32000,
// one a stage (MCP 2026-07-28, basic/transports).
const (
	CodeParse              = -32700
	CodeInvalidRequest     = -32600
	CodeMethodNotFound     = -32601
	CodeInvalidParams      = -32602
	CodeInternal           = -32603
	CodeHeaderMismatch     = -32020
	CodeUnsupportedVersion = -32022
	CodeAuth               = -31001
	CodePolicy             = -31002
	CodeIntent             = -31003
	CodeCredential         = -31004
	CodeAddress            = -31005
	CodeConnect            = -31006
	CodeTLS                = -31007
	CodeInitialize         = -31008
	CodeList               = -31009
	CodeCall               = -31010
	CodeProcess            = -31011

	// CodeMissingCapability and CodeNoResource are a server's own: what the agent
	// cannot be asked for, and, of 2025-11-25 and older, a URI without a resource.
	CodeMissingCapability = -32021
	CodeNoResource        = -32002
)

// The reasons. Their rows are in table.go.
const (
	OK        Reason = "ok"
	ToolError Reason = "tool_error" // the upstream answered with isError
	RPCError  Reason = "rpc_error"  // the upstream answered with a JSON-RPC error

	BadJSON              Reason = "bad_json"
	BadRequest           Reason = "bad_request"
	BadParams            Reason = "bad_params"
	TooLarge             Reason = "too_large"
	UnsupportedMediaType Reason = "unsupported_media_type"
	HeaderMismatch       Reason = "header_mismatch"
	UnsupportedVersion   Reason = "unsupported_version"
	MethodNotFound       Reason = "method_not_found"
	MethodNotAllowed     Reason = "method_not_allowed"
	BadOrigin            Reason = "bad_origin"
	NotFound             Reason = "not_found"
	StateRefused         Reason = "state_refused"

	Unauthenticated   Reason = "unauthenticated"
	InsufficientScope Reason = "insufficient_scope"
	AuthUnavailable   Reason = "auth_unavailable"
	NoTime            Reason = "no_time"

	NotOffered         Reason = "not_offered"
	UnknownServer      Reason = "unknown_server"
	UnknownTool        Reason = "unknown_tool"
	NoRule             Reason = "no_rule"
	DeniedByRule       Reason = "denied_by_rule"
	RuleAsks           Reason = "rule_asks"
	EndpointNotAllowed Reason = "endpoint_not_allowed"
	TooManyServers     Reason = "too_many_servers"
	PolicyUnavailable  Reason = "policy_unavailable"
	ToolHeld           Reason = "tool_held"
	OutOfScope         Reason = "out_of_scope"
	AccessRead         Reason = "access_read"
	DeniedByPolicy     Reason = "denied_by_policy"
	PolicyFailed       Reason = "policy_failed"

	TurnRequired    Reason = "turn_required"
	TurnUnknown     Reason = "turn_unknown"
	TurnExpired     Reason = "turn_expired"
	TurnEnded       Reason = "turn_ended"
	TurnUsed        Reason = "turn_used"
	TurnForeign     Reason = "turn_foreign"
	TurnNotOffered  Reason = "turn_not_offered"
	TurnChanged     Reason = "turn_changed"
	TurnMode        Reason = "turn_mode"
	TurnUnavailable Reason = "turn_unavailable"

	ArgumentsTooLarge Reason = "arguments_too_large"
	RateLimited       Reason = "rate_limited"
	OverBudget        Reason = "over_budget"
	BudgetUnavailable Reason = "budget_unavailable"
	CredentialNoRule  Reason = "credential_no_rule"

	AuditUnavailable    Reason = "audit_unavailable"
	SessionsUnavailable Reason = "sessions_unavailable"

	KeyReused              Reason = "key_reused"
	KeyInUse               Reason = "key_in_use"
	OutcomeUnknown         Reason = "outcome_unknown"
	IdempotencyUnavailable Reason = "idempotency_unavailable"

	SecretMissing        Reason = "secret_missing"
	SecretUnavailable    Reason = "secret_unavailable"
	SecretUnusable       Reason = "secret_unusable"
	UpstreamUnauthorized Reason = "upstream_unauthorized"

	ProcessFailed Reason = "process"
	ProcessEnded  Reason = "process_ended"

	DNS              Reason = "dns"
	TooManyAddresses Reason = "too_many_addresses"
	Loopback         Reason = "loopback"
	Metadata         Reason = "metadata"
	LinkLocal        Reason = "link_local"
	Unspecified      Reason = "unspecified"
	Multicast        Reason = "multicast"
	PrivateAddress   Reason = "private"
	SpecialUse       Reason = "special_use"
	NotInNetworks    Reason = "not_in_allowed_networks"
	NoIPv4           Reason = "no_ipv4"
	Loop             Reason = "loop"

	TooManyInFlight  Reason = "too_many_in_flight"
	Connect          Reason = "connect"
	TLS              Reason = "tls"
	InitializeFailed Reason = "initialize_failed"
	NoCommonVersion  Reason = "no_common_version"
	OpenTimeout      Reason = "open_timeout"

	ListFailed     Reason = "list_failed"
	ListTooLong    Reason = "list_too_long"
	ToolMissing    Reason = "tool_missing"
	ToolUnexpected Reason = "tool_unexpected"
	ToolUnusable   Reason = "tool_unusable"

	InputRequired    Reason = "input_required"
	TaskRefused      Reason = "task_refused"
	HeadersRefused   Reason = "headers_refused"
	Redirect         Reason = "redirect"
	HeadTimeout      Reason = "head_timeout"
	CallTimeout      Reason = "call_timeout"
	ResetBeforeHead  Reason = "reset_before_head"
	StreamEndedEarly Reason = "stream_ended_early"
	ReplyTooLarge    Reason = "reply_too_large"
	TooManyEvents    Reason = "too_many_events"
	HeadTooLarge     Reason = "head_too_large"
	Encoding         Reason = "encoding"
	ContentType      Reason = "content_type"
	Protocol         Reason = "protocol"
	UpstreamStatus   Reason = "upstream_status"
	SessionLost      Reason = "no_session"
	Cancelled        Reason = "cancelled"

	Interrupted Reason = "interrupted"
	Internal    Reason = "internal"
)
