package call

import "sync"

// table gives each reason its one meaning. The README's refusal table is
// generated from it.
var table = []Row{
	{OK, Answered, StageFinal, ImpactDone, 200, 0, "the server answered", false},
	{ToolError, Answered, StageFinal, ImpactDone, 200, 0, "the tool reported an error", false},
	{RPCError, Answered, StageFinal, ImpactDone, 200, 0, "the server answered with an error", false},

	{BadJSON, Rejected, StageParse, ImpactNone, 400, CodeParse, "the body is not the strict JSON that the relay reads", false},
	{BadRequest, Rejected, StageParse, ImpactNone, 400, CodeInvalidRequest, "the body is not one valid JSON-RPC request", false},
	{BadParams, Rejected, StageParse, ImpactNone, 400, CodeInvalidParams, "the parameters of the request are missing or invalid", false},
	{TooLarge, Rejected, StageParse, ImpactNone, 413, CodeInvalidRequest, "the request is larger than 1 MiB", false},
	{UnsupportedMediaType, Rejected, StageParse, ImpactNone, 415, CodeInvalidRequest, "the content type must be application/json", false},
	{HeaderMismatch, Rejected, StageParse, ImpactNone, 400, CodeHeaderMismatch, "an MCP header is missing, malformed or differs from the body", false},
	{UnsupportedVersion, Rejected, StageParse, ImpactNone, 400, CodeUnsupportedVersion, "the protocol version is not supported", false},
	{MethodNotFound, Rejected, StageParse, ImpactNone, 404, CodeMethodNotFound, "the method does not exist here", false},
	{MethodNotAllowed, Rejected, StageParse, ImpactNone, 405, CodeInvalidRequest, "the HTTP method is not allowed here", false},
	{BadOrigin, Rejected, StageParse, ImpactNone, 403, CodeInvalidRequest, "the origin or host of the request is not allowed", false},
	{NotFound, Rejected, StageParse, ImpactNone, 404, CodeInvalidRequest, "there is nothing at this path", false},
	{StateRefused, Rejected, StageParse, ImpactNone, 400, CodeInvalidParams, "the request state is not one that the relay gave to this caller for this request, or it has expired", false},
	{NoTime, Rejected, StageParse, ImpactNone, 503, CodeIntent, "too little time is left to make the call", false},

	{Unauthenticated, Rejected, StageAuth, ImpactNone, 401, CodeAuth, "the credential is missing, malformed, expired or revoked", false},
	{InsufficientScope, Rejected, StageAuth, ImpactNone, 403, CodeAuth, "the credential lacks a scope that this request needs", false},
	{AuthUnavailable, Rejected, StageAuth, ImpactNone, 503, CodeAuth, "the credential could not be checked now", false},

	{NotOffered, RefusedByPolicy, StagePolicy, ImpactNone, 404, CodeInvalidParams, "no such server, tool, resource or prompt is offered to this caller", false},
	{UnknownServer, RefusedByPolicy, StagePolicy, ImpactNone, 404, CodeInvalidParams, "no server of that name is registered", true},
	{UnknownTool, RefusedByPolicy, StagePolicy, ImpactNone, 404, CodeInvalidParams, "the server has no such tool", true},
	{NoRule, RefusedByPolicy, StagePolicy, ImpactNone, 403, CodePolicy, "no rule allows this", true},
	{DeniedByRule, RefusedByPolicy, StagePolicy, ImpactNone, 403, CodePolicy, "a rule denies this", true},
	{RuleAsks, RefusedByPolicy, StagePolicy, ImpactNone, 403, CodePolicy, "a rule asks for a person's consent and nobody is there to ask", true},
	{EndpointNotAllowed, RefusedByPolicy, StagePolicy, ImpactNone, 403, CodePolicy, "the server's endpoint is not among its allowed endpoints", true},
	{CredentialNoRule, RefusedByPolicy, StagePolicy, ImpactNone, 403, CodePolicy, "no rule lets the server's credential be used for it", false},
	{TooManyServers, RefusedByPolicy, StagePolicy, ImpactNone, 403, CodePolicy, "more servers are registered than one caller is offered", true},
	{PolicyUnavailable, RefusedByPolicy, StagePolicy, ImpactNone, 503, CodePolicy, "the policy could not be read now", false},

	{ToolHeld, RefusedByPolicy, StagePolicy, ImpactNone, 403, CodePolicy, "the tool's description is new or changed and no operator has approved it", false},

	{OutOfScope, RefusedByPolicy, StagePolicy, ImpactNone, 403, CodePolicy, "the caller is not scoped to this server", true},
	{AccessRead, RefusedByPolicy, StagePolicy, ImpactNone, 403, CodePolicy, "the caller may only call tools that are classified as read", true},
	{DeniedByPolicy, RefusedByPolicy, StagePolicy, ImpactNone, 403, CodePolicy, "a policy denies this", false},
	{PolicyFailed, RefusedByPolicy, StagePolicy, ImpactNone, 403, CodePolicy, "a policy could not be evaluated", false},

	{TurnRequired, RefusedByPolicy, StagePolicy, ImpactNone, 403, CodePolicy, "the call needs the authority of a turn and names none", false},
	{TurnUnknown, RefusedByPolicy, StagePolicy, ImpactNone, 403, CodePolicy, "the turn is not known", false},
	{TurnExpired, RefusedByPolicy, StagePolicy, ImpactNone, 403, CodePolicy, "the turn has expired", false},
	{TurnEnded, RefusedByPolicy, StagePolicy, ImpactNone, 403, CodePolicy, "the turn has ended", false},
	{TurnUsed, RefusedByPolicy, StagePolicy, ImpactNone, 403, CodePolicy, "the turn allows one call, which was made", false},
	{TurnForeign, RefusedByPolicy, StagePolicy, ImpactNone, 403, CodePolicy, "the turn is another caller's or another run's", false},
	{TurnNotOffered, RefusedByPolicy, StagePolicy, ImpactNone, 403, CodePolicy, "the turn does not offer this", false},
	{TurnChanged, RefusedByPolicy, StagePolicy, ImpactNone, 403, CodePolicy, "the tool's description is not the one that the turn offers", false},
	{TurnMode, RefusedByPolicy, StagePolicy, ImpactNone, 403, CodePolicy, "the turn's mode does not allow calls that may write", false},
	{TurnUnavailable, RefusedByPolicy, StagePolicy, ImpactNone, 503, CodePolicy, "the turn could not be read now", false},

	{ArgumentsTooLarge, RefusedByPolicy, StagePolicy, ImpactNone, 413, CodePolicy, "the arguments are larger than the tool's limit", false},
	{RateLimited, RefusedByPolicy, StagePolicy, ImpactNone, 429, CodePolicy, "the tool was called as often as it may be in a minute", false},
	{OverBudget, RefusedByPolicy, StagePolicy, ImpactNone, 429, CodePolicy, "the budget of this class of calls is spent", false},
	{BudgetUnavailable, RefusedByPolicy, StagePolicy, ImpactNone, 503, CodePolicy, "the budget could not be counted now", false},

	{AuditUnavailable, NoAnswer, StageIntent, ImpactNone, 503, CodeIntent, "the call could not be recorded, so it was not made", false},

	{SessionsUnavailable, NoAnswer, StageIntent, ImpactNone, 503, CodeIntent, "the open sessions could not be read now", false},

	{KeyReused, Rejected, StageIntent, ImpactNone, 422, CodeIntent, "the idempotency key was used for another request", false},
	{KeyInUse, Rejected, StageIntent, ImpactNone, 409, CodeIntent, "a call with this idempotency key is still running", false},
	{OutcomeUnknown, NoAnswer, StageIntent, ImpactUnknown, 409, CodeIntent, "a call with this idempotency key was made and what it came to is not known", false},
	{IdempotencyUnavailable, NoAnswer, StageIntent, ImpactNone, 503, CodeIntent, "the idempotency key could not be checked now, so the call was not made", false},

	{SecretMissing, NoAnswer, StageCredential, ImpactNone, 502, CodeCredential, "the server's credential is not set", false},
	{SecretUnavailable, NoAnswer, StageCredential, ImpactNone, 503, CodeCredential, "the server's credential could not be read now", false},
	{SecretUnusable, NoAnswer, StageCredential, ImpactNone, 502, CodeCredential, "the server's credential cannot be used as it is stored", false},
	{UpstreamUnauthorized, NoAnswer, StageCredential, ImpactNone, 502, CodeCredential, "the server rejected the relay's credential", false},

	{ProcessFailed, NoAnswer, StageProcess, ImpactNone, 502, CodeProcess, "the server's process could not be started", false},
	{ProcessEnded, NoAnswer, StageProcess, ImpactUnknown, 502, CodeProcess, "the server's process ended before it answered", false},

	{DNS, NoAnswer, StageAddress, ImpactNone, 502, CodeAddress, "the server's name could not be resolved", false},
	{TooManyAddresses, RefusedByAddress, StageAddress, ImpactNone, 502, CodeAddress, "the server's name has more than 16 addresses", false},
	{Loopback, RefusedByAddress, StageAddress, ImpactNone, 502, CodeAddress, "the server's address is a loopback address", false},
	{Metadata, RefusedByAddress, StageAddress, ImpactNone, 502, CodeAddress, "the server's address is a cloud platform's own", false},
	{LinkLocal, RefusedByAddress, StageAddress, ImpactNone, 502, CodeAddress, "the server's address is link-local", false},
	{Unspecified, RefusedByAddress, StageAddress, ImpactNone, 502, CodeAddress, "the server's address is unspecified", false},
	{Multicast, RefusedByAddress, StageAddress, ImpactNone, 502, CodeAddress, "the server's address is multicast", false},
	{PrivateAddress, RefusedByAddress, StageAddress, ImpactNone, 502, CodeAddress, "the server's address is private", false},
	{SpecialUse, RefusedByAddress, StageAddress, ImpactNone, 502, CodeAddress, "the server's address is reserved for a special use", false},
	{NotInNetworks, RefusedByAddress, StageAddress, ImpactNone, 502, CodeAddress, "the server's address is outside its allowed networks", false},
	{NoIPv4, RefusedByAddress, StageAddress, ImpactNone, 502, CodeAddress, "the server has no IPv4 address", false},
	{Loop, RefusedByAddress, StageAddress, ImpactNone, 508, CodeAddress, "the server is a relay that this request already passed", false},

	{TooManyInFlight, NoAnswer, StageConnect, ImpactNone, 503, CodeConnect, "too many calls to the server are in flight", false},
	{Connect, NoAnswer, StageConnect, ImpactNone, 502, CodeConnect, "the server could not be connected to", false},
	{TLS, NoAnswer, StageTLS, ImpactNone, 502, CodeTLS, "the TLS handshake with the server failed", false},
	{InitializeFailed, NoAnswer, StageInitialize, ImpactNone, 502, CodeInitialize, "the server did not complete the MCP handshake", false},
	{NoCommonVersion, NoAnswer, StageInitialize, ImpactNone, 502, CodeInitialize, "the server speaks no protocol version that the relay speaks", false},
	{OpenTimeout, NoAnswer, StageInitialize, ImpactNone, 504, CodeInitialize, "the server did not open in time", false},

	{ListFailed, NoAnswer, StageList, ImpactNone, 502, CodeList, "the server's list could not be read", false},
	{ListTooLong, NoAnswer, StageList, ImpactNone, 502, CodeList, "the server's list is longer than its bound", false},
	{ToolMissing, NoAnswer, StageList, ImpactNone, 502, CodeList, "the server lacks a tool that its registration names", false},
	{ToolUnexpected, NoAnswer, StageList, ImpactNone, 502, CodeList, "the server has a tool that its registration does not name", false},
	{ToolUnusable, NoAnswer, StageList, ImpactNone, 502, CodeList, "the server's description of the tool is unusable", false},

	{InputRequired, NoAnswer, StageCall, ImpactUnknown, 502, CodeCall, "the server asks for input that the relay does not pass on", false},
	{TaskRefused, NoAnswer, StageCall, ImpactUnknown, 502, CodeCall, "the server began a task, which the relay does not pass on", false},
	{HeadersRefused, NoAnswer, StageCall, ImpactNone, 502, CodeCall, "the server refused the headers that repeat the request", false},
	{Redirect, Redirected, StageCall, ImpactUnknown, 502, CodeCall, "the server answered with a redirect, which the relay never follows", false},
	{HeadTimeout, NoAnswer, StageCall, ImpactUnknown, 504, CodeCall, "the server did not begin to answer in time", false},
	{CallTimeout, NoAnswer, StageCall, ImpactUnknown, 504, CodeCall, "the server did not answer in time", false},
	{ResetBeforeHead, NoAnswer, StageCall, ImpactUnknown, 502, CodeCall, "the server closed the connection before it answered", false},
	{StreamEndedEarly, NoAnswer, StageCall, ImpactUnknown, 502, CodeCall, "the server's reply ended before it was complete", false},
	{ReplyTooLarge, NoAnswer, StageCall, ImpactUnknown, 502, CodeCall, "the server's reply is larger than its bound", false},
	{TooManyEvents, NoAnswer, StageCall, ImpactUnknown, 502, CodeCall, "the server's reply has more events than its bound", false},
	{HeadTooLarge, NoAnswer, StageCall, ImpactUnknown, 502, CodeCall, "the head of the server's reply is larger than 64 KiB", false},
	{Encoding, NoAnswer, StageCall, ImpactUnknown, 502, CodeCall, "the server's reply has an encoding that the relay does not read", false},
	{ContentType, NoAnswer, StageCall, ImpactUnknown, 502, CodeCall, "the server's reply is neither JSON nor an event stream", false},
	{Protocol, NoAnswer, StageCall, ImpactUnknown, 502, CodeCall, "the server's reply breaks the protocol", false},
	{UpstreamStatus, NoAnswer, StageCall, ImpactUnknown, 502, CodeCall, "the server answered with an HTTP error", false},
	{SessionLost, NoAnswer, StageCall, ImpactNone, 502, CodeCall, "the server does not keep its sessions", false},
	{Cancelled, NoAnswer, StageCall, ImpactUnknown, 499, CodeCall, "the caller went away before the server answered", false},

	{Interrupted, NoAnswer, StageFinal, ImpactUnknown, 502, CodeInternal, "the relay stopped before the call ended", false},
	{Internal, NoAnswer, StageFinal, ImpactUnknown, 500, CodeInternal, "the relay failed", false},
}

var rows = sync.OnceValue(func() map[Reason]Row {
	byReason := make(map[Reason]Row, len(table))
	for _, row := range table {
		byReason[row.Reason] = row
	}
	return byReason
})

// Reasons lists the whole table, in the order of the stations.
func Reasons() []Row { return append([]Row(nil), table...) }

// Row gives the meaning of r; a reason outside the set is [Internal].
func (r Reason) Row() Row {
	if row, ok := rows()[r]; ok {
		return row
	}
	return rows()[Internal]
}

// Shown is the reason an agent is told: NotOffered for hidden ones, so that
// what is missing and what is forbidden look the same, unless the tenant
// explains its refusals.
func (r Reason) Shown(explain bool) Reason {
	if row := r.Row(); row.Hidden && !explain {
		return NotOffered
	}
	return r.Row().Reason
}
