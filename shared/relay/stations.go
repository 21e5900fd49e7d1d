package relay

import (
	"context"
	"encoding/json"
	"errors"

	"mcprelay/shared/audit"
	"mcprelay/shared/budget"
	"mcprelay/shared/call"
	"mcprelay/shared/catalog"
	"mcprelay/shared/exchange"
	"mcprelay/shared/policy"
	"mcprelay/shared/redact"
	"mcprelay/shared/registry"
	"mcprelay/shared/secret"
	"mcprelay/shared/session"
)

// plan is what the policy station made of a call: one snapshot of the
// registration that every later station uses.
type plan struct {
	errand
	tenant   *registry.Tenant
	server   *registry.Server
	tool     string // the upstream's own name
	refs     []string
	origin   session.Key     // of what is known of the server, whoever calls
	state    json.RawMessage // the server's own, that the agent gave back sealed
	after    string          // the call whose question the state is from
	decision call.Decision
}

// trail is what the stations leave behind for the final.
type trail struct {
	record  audit.Record
	outcome policy.Outcome              // of policies in Rego
	values  []secret.Value              // every version that was sent
	ids     []secret.Value              // of the server's sessions
	masker  *redact.Masker              // of values; nil masks nothing
	taken   []budget.Taken              // of budgets and rates
	release func(context.Context) error // gives back the turn of one call; nil for none
}

// Answer is what an upstream answered. Result and Error are its bytes, masked.
type Answer struct {
	CallID string
	Result json.RawMessage
	Error  json.RawMessage // the upstream's JSON-RPC error object, whole
	Code   int64           // of Error
	Tools  []catalog.Tool  // of an acquisition of tools
	Items  []catalog.Item  // of one of another list
	Skips  []catalog.Skip
	Facts  exchange.Facts
	// ResultType is input_required where the server asks the agent for something
	// before it goes on; empty otherwise. State is then the sealed requestState,
	// which takes the place of the server's; empty where it gave none.
	ResultType string
	State      string
	// Settle must be called once after the reply's last byte; it writes the
	// final where the tenant records it after the reply.
	Settle func()

	isError bool
	list    call.List
	tenant  *registry.Tenant // of an acquisition: the snapshot it was made with
	server  *registry.Server
}

// Legacy reports whether the server is one of 2025-11-25 or older.
func (a Answer) Legacy() bool { return a.Facts.Era == session.Legacy }

// policy: may they?
func (r *Relay) policy(ctx context.Context, e errand, t *trail) (plan, *call.Refusal) {
	p, c := plan{errand: e}, e.call
	tenant, err := r.Registry.Tenant(ctx, c.Principal.Tenant)
	if err != nil {
		return p, &call.Refusal{Reason: call.PolicyUnavailable, Detail: "the registration could not be read", Err: err}
	}
	// What is remembered has few names. A server's resources have any number.
	memorable := e.session == nil && c.Resource == "" && c.Prompt == ""
	if kept, ok := r.memory.plan(tenant, c); ok && memorable {
		kept.errand = e
		kept.note(&t.record)
		return kept, nil
	}
	p.tenant = tenant
	caller := narrowing(tenant, c)
	server, refusal := find(tenant, caller, c.Server)
	if refusal != nil {
		return p, refusal
	}
	p.server, p.refs = server, server.References()
	p.origin = session.OriginKey(tenant.ID, server.Name, server.Endpoint.String())
	if e.session != nil && sessionKey(p) != e.session.Key {
		return p, call.Refuse(call.EndpointNotAllowed, "server %s is registered otherwise than when the session was opened", server.Name)
	}
	if c.Operation == call.OperationToolsCall {
		tool, ok := server.Upstream(c.Tool)
		if !ok || !server.HasTool(tool) || registry.ToolName(tool) != nil {
			return p, call.Refuse(call.UnknownTool, "server %s registers no tool of that name", server.Name)
		}
		p.tool = tool
	}
	asked := target(tenant, server, p.tool)
	asked.Resource, asked.Prompt = c.Resource, c.Prompt
	p.decision, refusal = policy.Decide(tenant.Rules, c.Operation, asked)
	if refusal == nil {
		if refusal = caller.Permits(c.Operation, asked); refusal != nil {
			p.decision.Verdict, p.decision.Reasons = call.Deny, []string{refusal.Detail}
		}
	}
	p.note(&t.record)
	if refusal == nil && memorable {
		r.memory.allow(p)
	}
	return p, refusal
}

// note records what was decided, and what the registration says of the tool.
func (p plan) note(record *audit.Record) {
	if p.server.Process == nil {
		record.Host = p.server.Endpoint.Host()
	}
	record.Decide(p.tool, p.decision)
	record.BudgetClass, record.PolicyMetadata = p.server.BudgetClass(p.tool), p.server.Metadata(p.tool)
}

// find gives a server of a tenant that the caller is scoped to and whose endpoint
// is among its allowed ones.
func find(tenant *registry.Tenant, caller policy.Caller, name string) (*registry.Server, *call.Refusal) {
	server, ok := tenant.Servers[name]
	if !ok {
		return nil, call.Refuse(call.UnknownServer, "no server of that name is registered")
	}
	if refusal := caller.Scoped(name); refusal != nil {
		return nil, refusal
	}
	if before := ahead(tenant, caller, name); before >= tenant.Settings.MaxServers {
		return nil, call.Refuse(call.TooManyServers, "%d servers come before %s, max_servers is %d", before, name, tenant.Settings.MaxServers)
	}
	if server.Process == nil && !server.AllowsEndpoint() {
		return nil, call.Refuse(call.EndpointNotAllowed, "endpoint of %s is not in allowed_endpoints", name)
	}
	return server, nil
}

// ahead counts the servers of a caller's scope whose names come before name:
// those that it is offered first.
func ahead(tenant *registry.Tenant, caller policy.Caller, name string) int {
	n := 0
	for other := range tenant.Servers {
		if other < name && policy.Narrow(caller.Servers, other) {
			n++
		}
	}
	return n
}

// target is what the policy is asked about: a tool of a server, or with an
// empty tool the server itself.
func target(tenant *registry.Tenant, server *registry.Server, tool string) policy.Target {
	asked := policy.Target{Server: server.Name, Tool: tool, Effect: call.EffectRead, Process: server.Process != nil}
	if !asked.Process {
		asked.ReversedHost = server.Endpoint.ReversedHost()
	}
	if tool != "" {
		asked.Effect = server.Effect(tool)
	}
	for _, ref := range server.References() {
		asked.References = append(asked.References, policy.Reference{Name: ref, Shared: tenant.Shared(ref)})
	}
	return asked
}

// itemTarget is what the policy is asked about an item of a list that is not
// one of tools.
func itemTarget(tenant *registry.Tenant, server *registry.Server, list call.List, name string) policy.Target {
	asked := target(tenant, server, "")
	if list == call.ListPrompts {
		asked.Prompt = name
	} else {
		asked.Resource = name
	}
	return asked
}

// offers reports whether a tool is shown to callers whom nothing narrows. A tool whose own name is
// what another one is offered under could not be called, so it is not shown.
func offers(tenant *registry.Tenant, server *registry.Server, tool string) bool {
	return callable(server, tool) && policy.Offers(tenant.Rules, target(tenant, server, tool))
}

// callable reports whether what a tool is offered under leads to it.
func callable(server *registry.Server, tool string) bool {
	upstream, ok := server.Upstream(server.Offered(tool))
	return ok && upstream == tool
}

// intent: recorded before anything is sent. Calls classified as read leave a
// line on the log, every other a durable record.
func (r *Relay) intent(ctx context.Context, p plan, t *trail) *call.Refusal {
	record := t.record
	record.State = audit.StateIntent
	if p.decision.Effect == call.EffectRead && p.tenant.Settings.AuditIntent != registry.IntentAll {
		if err := r.Lines.Record(&record); err != nil {
			return &call.Refusal{Reason: call.AuditUnavailable, Detail: "the intent could not be logged", Err: err}
		}
		return nil
	}
	bounded, cancel := detached(ctx)
	defer cancel()
	if err := r.Recorder.Intent(bounded, record); err != nil {
		return &call.Refusal{Reason: call.AuditUnavailable, Detail: "the intent could not be written", Err: err}
	}
	return nil
}

func asRefusal(err error) *call.Refusal {
	var refusal *call.Refusal
	if errors.As(err, &refusal) {
		return refusal
	}
	return &call.Refusal{Reason: call.Internal, Detail: "an unexpected error", Err: err}
}

func orElse[T comparable](value, otherwise T) T {
	var zero T
	if value == zero {
		return otherwise
	}
	return value
}
