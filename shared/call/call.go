// Package call is the vocabulary of the relay: what a call is, who makes it,
// what was decided about it, and every way it can end.
//
// It promises that each way of ending has one [Reason], and that one table
// gives the reason its outcome, stage, sentence, HTTP status and JSON-RPC
// code. It refuses to know how any of it is done: it imports the standard
// library only.
package call

import (
	"encoding/json"
	"strings"
	"time"
)

// Kind says what sort of caller a principal is.
type Kind string

// The kinds of caller. The zero Kind is not valid.
const (
	KindUser          Kind = "user"
	KindServiceToken  Kind = "service_token"
	KindTrustedIssuer Kind = "trusted_issuer"
	KindOther         Kind = "other"
)

// Valid reports whether k is one of the known kinds.
func (k Kind) Valid() bool {
	switch k {
	case KindUser, KindServiceToken, KindTrustedIssuer, KindOther:
		return true
	}
	return false
}

// Scope is one authority of a caller. No scope implies another.
type Scope string

// The scopes.
const (
	ScopeCall       Scope = "call"
	ScopeAuditRead  Scope = "audit:read"
	ScopeAdminRead  Scope = "admin:read"
	ScopeAdminWrite Scope = "admin:write"
)

// Valid reports whether s is one of the known scopes.
func (s Scope) Valid() bool {
	switch s {
	case ScopeCall, ScopeAuditRead, ScopeAdminRead, ScopeAdminWrite:
		return true
	}
	return false
}

// Principal is an authenticated caller. The zero Principal is nobody.
type Principal struct {
	Tenant  string
	Subject string
	Kind    Kind
	Scopes  []Scope
	KeyID   string // of the service token, empty for other credentials
	// Issuer is who named Subject, of a JWT whose subject is mapped to nobody
	// here; empty where the tenant itself did.
	Issuer string
	// TokenIssuer is who issued the JWT that was shown, whether or not its
	// subject is mapped; empty for other credentials. It is recorded, and
	// decides nothing.
	TokenIssuer string
	// Path is the only path that the credential is for; empty for every one.
	Path string
}

// For reports whether the credential of p is for requests of path.
func (p Principal) For(path string) bool { return p.Path == "" || p.Path == path }

// Domain is what Subject is unique in within the tenant: its kind, and the
// issuer that named it. No two domains have one spelling, since no kind and no
// issuer holds a blank.
func (p Principal) Domain() string {
	if p.Issuer == "" {
		return string(p.Kind)
	}
	return string(p.Kind) + " " + p.Issuer
}

// SplitDomain gives the kind and the issuer of a [Principal.Domain].
func SplitDomain(domain string) (Kind, string) {
	kind, issuer, _ := strings.Cut(domain, " ")
	return Kind(kind), issuer
}

// Known reports whether p names a caller.
func (p Principal) Known() bool { return p.Tenant != "" && p.Subject != "" }

// May reports whether p was given scope s.
func (p Principal) May(s Scope) bool {
	for _, have := range p.Scopes {
		if have == s {
			return true
		}
	}
	return false
}

// Effect classifies a tool by configuration. Anything but [EffectRead] counts
// as a write; upstream annotations are never consulted.
type Effect string

// The effects. The zero Effect means nobody classified the tool.
const (
	EffectUnclassified Effect = ""
	EffectRead         Effect = "read"
	EffectWrite        Effect = "write"
)

// Operation is what a call asks of a server, in MCP's own method names.
type Operation string

// The operations that reach an upstream.
const (
	OperationDiscover      Operation = "discover" // an acquisition: the relay reads a server's lists
	OperationToolsCall     Operation = "tools/call"
	OperationResourcesRead Operation = "resources/read"
	OperationPromptsGet    Operation = "prompts/get"
	OperationComplete      Operation = "completion/complete"
	OperationSetLevel      Operation = "logging/setLevel" // of the caller's session at a server
	OperationClose         Operation = "close"            // the relay ends an upstream session
)

// Asks reports whether o carries an agent's request to a server.
func (o Operation) Asks() bool {
	switch o {
	case OperationToolsCall, OperationResourcesRead, OperationPromptsGet, OperationComplete:
		return true
	}
	return false
}

// OperationApprove pins tools of a server as they are described. It is an
// operator's, and reaches no upstream.
const OperationApprove Operation = "approve"

// OperationTurn opens or ends the turn of a run. It is between the relay and a
// runtime: no server is asked.
const OperationTurn Operation = "turn"

// OperationSimulate asks what a call would come to. It is an operator's, and no
// server is asked.
const OperationSimulate Operation = "simulate"

// List names one of a server's lists.
type List string

// The lists. The zero List means tools.
const (
	ListTools     List = "tools"
	ListResources List = "resources"
	ListTemplates List = "resource_templates"
	ListPrompts   List = "prompts"
)

// Call is one request of one caller to one server. Arguments are the bytes
// that were parsed, never re-encoded.
type Call struct {
	ID          string // ULID, made by the relay
	At          time.Time
	Principal   Principal
	Operation   Operation
	Server      string
	Tool        string          // as offered to the agent; of tools/call
	Resource    string          // the upstream's URI; for a completion, a template
	Prompt      string          // the upstream's name; of prompts/get and completions
	List        List            // of discover: which list is read
	Arguments   json.RawMessage // the agent's object, or nil for none
	Argument    json.RawMessage // of a completion: params.argument
	Context     json.RawMessage // of a completion: params.context, or nil
	Level       string          // of logging/setLevel: one of the eight
	Meta        json.RawMessage // the agent's params._meta object, or nil
	Params      json.RawMessage // the agent's params, whole; nil on the plain face
	Face        Face
	Run         string // X-Relay-Run, empty for none
	Turn        string // X-Relay-Turn, empty for none
	Traceparent string // W3C trace context of the request, empty for none

	// Modern says that the agent speaks 2026-07-28, so that it can be asked for
	// input; Capabilities is what it can be asked for, nil for nothing.
	Modern         bool
	Capabilities   json.RawMessage
	InputResponses json.RawMessage // what the agent answers to such a question, or nil
	RequestState   string          // sealed, as the agent gave it back; empty for none

	// IdempotencyKey makes a repeat of the call get the first one's outcome;
	// empty for none.
	IdempotencyKey string

	// Notify is given each notification that the server sends about the call as
	// it comes, masked, while the call runs: progress with the call's own token,
	// and log messages. The bytes are valid during the call of the function only.
	// Nil drops them.
	Notify func(method string, params json.RawMessage)
}

// About names what the call is about in the audit trail: the tool, the
// resource, the prompt, "discover", "close", "logging/setLevel" or "approve".
func (c Call) About() string {
	switch c.Operation {
	case OperationToolsCall:
		return c.Tool
	case OperationResourcesRead:
		return c.Resource
	case OperationPromptsGet:
		return c.Prompt
	case OperationComplete:
		return c.Prompt + c.Resource // a completion is of one of the two
	}
	return string(c.Operation)
}

// Face is the surface a call came in by.
type Face string

// The faces.
const (
	FaceMCP      Face = "mcp"
	FacePlain    Face = "plain"
	FaceInternal Face = "internal" // the relay's own acquisitions and the operator's command
)
