package relay

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"slices"

	"mcprelay/shared/audit"
	"mcprelay/shared/call"
	"mcprelay/shared/catalog"
	"mcprelay/shared/egress"
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
	call     call.Call
	tenant   *registry.Tenant
	server   *registry.Server
	tool     string // the upstream's own name
	decision call.Decision
}

// trail is what the stations leave behind for the final.
type trail struct {
	record audit.Record
	values []secret.Value // every version that was sent
	masker *redact.Masker // of values; nil masks nothing
}

// Answer is what an upstream answered. Result and Error are its bytes, masked.
type Answer struct {
	CallID string
	Result json.RawMessage // of tools/call
	Error  json.RawMessage // the upstream's JSON-RPC error object, whole
	Tools  []catalog.Tool  // of an acquisition
	Skips  []catalog.Skip
	Facts  exchange.Facts
	// Settle must be called once after the reply's last byte; it writes the
	// final where the tenant records it after the reply.
	Settle func()

	isError bool
	code    int64
	tenant  *registry.Tenant // of an acquisition: the snapshot it was made with
	server  *registry.Server
}

// Offered are the descriptors of an acquisition that callers are shown, under
// their offered names, in the server's order.
func (a Answer) Offered() []json.RawMessage {
	shown := []json.RawMessage{}
	for _, tool := range a.Tools {
		if !offers(a.tenant, a.server, tool.Name) {
			continue
		}
		if descriptor, err := tool.Renamed(a.server.Offered(tool.Name)); err == nil {
			shown = append(shown, descriptor)
		}
	}
	return shown
}

// policy: may they?
func (r *Relay) policy(ctx context.Context, c call.Call, t *trail) (plan, *call.Refusal) {
	p := plan{call: c}
	tenant, err := r.Registry.Tenant(ctx, c.Principal.Tenant)
	if err != nil {
		return p, &call.Refusal{Reason: call.PolicyUnavailable, Detail: "the registration could not be read", Err: err}
	}
	p.tenant = tenant
	server, refusal := find(tenant, c.Server)
	if refusal != nil {
		return p, refusal
	}
	p.server, t.record.Host = server, server.Endpoint.Host()
	if c.Operation == call.OperationToolsCall {
		tool, ok := server.Upstream(c.Tool)
		if !ok || !server.HasTool(tool) || registry.ToolName(tool) != nil {
			return p, call.Refuse(call.UnknownTool, "server %s registers no tool of that name", server.Name)
		}
		p.tool = tool
	}
	p.decision, refusal = policy.Decide(tenant.Rules, c.Operation, target(tenant, server, p.tool))
	t.record.Decide(p.tool, p.decision)
	t.record.BudgetClass, t.record.PolicyMetadata = server.BudgetClass(p.tool), server.Metadata(p.tool)
	return p, refusal
}

// find gives a server of a tenant whose endpoint is among its allowed ones.
func find(tenant *registry.Tenant, name string) (*registry.Server, *call.Refusal) {
	server, ok := tenant.Servers[name]
	if !ok {
		return nil, call.Refuse(call.UnknownServer, "no server of that name is registered")
	}
	if !server.AllowsEndpoint() {
		return nil, call.Refuse(call.EndpointNotAllowed, "endpoint of %s is not in allowed_endpoints", name)
	}
	return server, nil
}

// target is what the policy is asked about: a tool of a server, or with an
// empty tool the server itself.
func target(tenant *registry.Tenant, server *registry.Server, tool string) policy.Target {
	asked := policy.Target{Server: server.Name, ReversedHost: server.Endpoint.ReversedHost(), Tool: tool, Effect: call.EffectRead}
	if tool != "" {
		asked.Effect = server.Effect(tool)
	}
	for _, ref := range server.Auth.References() {
		asked.References = append(asked.References, policy.Reference{Name: ref, Shared: tenant.Shared(ref)})
	}
	return asked
}

// offers reports whether a tool is shown to callers. A tool whose own name is
// what another one is offered under could not be called, so it is not shown.
func offers(tenant *registry.Tenant, server *registry.Server, tool string) bool {
	if upstream, ok := server.Upstream(server.Offered(tool)); !ok || upstream != tool {
		return false
	}
	return policy.Offers(tenant.Rules, target(tenant, server, tool))
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

// secret: with what?
func (r *Relay) secret(ctx context.Context, p plan, t *trail) (secret.Binding, *call.Refusal) {
	return r.bind(ctx, p, t, r.Secrets.Get)
}

type readSecret func(context.Context, secret.Key, secret.Source) (secret.Value, *call.Refusal)

func (r *Relay) bind(ctx context.Context, p plan, t *trail, read readSecret) (secret.Binding, *call.Refusal) {
	refs := p.server.Auth.References()
	values := make(map[string]secret.Value, len(refs))
	for _, ref := range refs {
		key := secret.Key{Tenant: p.tenant.ID, Server: p.server.Name, Ref: ref}
		value, refusal := read(ctx, key, p.server.Secrets[ref])
		if refusal != nil {
			return secret.Binding{}, refusal
		}
		values[ref] = value
	}
	binding, refusal := secret.Bind(p.server.Auth, values)
	if refusal != nil {
		return secret.Binding{}, refusal
	}
	t.values = append(t.values, binding.Values()...)
	t.masker = r.maskers.For(t.values...)
	for _, use := range binding.Uses() {
		t.record.Secrets = append(t.record.Secrets, audit.SecretUse{Ref: use.Ref, Version: use.Version})
	}
	return binding, nil
}

// egress: where exactly?
func (r *Relay) egress(ctx context.Context, p plan, t *trail) (egress.Route, *call.Refusal) {
	route, err := r.Guard.Resolve(ctx, p.server.Endpoint, egress.Rules{Networks: p.server.Networks})
	if err != nil {
		return egress.Route{}, asRefusal(err)
	}
	return route, nil
}

// exchange: one POST. A credential that the upstream rejected is read once
// more, and only a newer version is tried: a 401 proves the first did not run.
func (r *Relay) exchange(ctx context.Context, p plan, b secret.Binding, route egress.Route, t *trail) (Answer, *call.Refusal) {
	answer, refusal := r.ask(ctx, p, b, route, t)
	if refusal == nil || refusal.Reason != call.UpstreamUnauthorized || refusal.Status != http.StatusUnauthorized || len(b.Uses()) == 0 {
		return answer, refusal
	}
	newer, failed := r.bind(ctx, p, t, r.Secrets.Renew)
	if failed != nil || slices.Equal(newer.Uses(), b.Uses()) {
		return answer, refusal
	}
	t.record.SecretRenewed = true
	return r.ask(ctx, p, newer, route, t)
}

func (r *Relay) ask(ctx context.Context, p plan, b secret.Binding, route egress.Route, t *trail) (Answer, *call.Refusal) {
	request := exchange.Request{
		Tenant:    p.tenant.ID,
		Server:    p.server.Name,
		Route:     route,
		Authorize: b.Apply,
		Session:   sessionKey(p),
		Origin:    session.OriginKey(p.tenant.ID, p.server.Name, p.server.Endpoint.String()),
		Operation: p.call.Operation,
		Tool:      p.tool,
		Arguments: p.call.Arguments,
		Meta:      p.call.Meta,
		Open:      orElse(p.server.Limits.StartupTimeout, OpenBudget),
		Limits: exchange.Limits{
			ResultBytes: p.server.Limits.MaxResultBytes,
			Pages:       p.server.Limits.MaxToolPages,
			Items:       p.server.Limits.MaxTools,
		},
	}
	if p.call.Operation == call.OperationDiscover {
		return r.list(ctx, p, request, t)
	}
	reply, err := r.Exchange.Call(ctx, request)
	noteFacts(&t.record, reply.Facts)
	if err != nil {
		return Answer{Facts: reply.Facts}, asRefusal(err)
	}
	return answered(reply)
}

func (r *Relay) list(ctx context.Context, p plan, request exchange.Request, t *trail) (Answer, *call.Refusal) {
	raw, facts, err := r.Exchange.List(ctx, request)
	noteFacts(&t.record, facts)
	if err != nil {
		return Answer{Facts: facts}, asRefusal(err)
	}
	tools, skips := catalog.Tools(raw, catalog.Bounds{Bytes: p.server.Limits.MaxDescriptorBytes, Name: registry.ToolName})
	tools, refusal := catalog.Exact(tools, p.server.AllowedTools, p.server.UnexpectedTools == registry.UnexpectedHide)
	return Answer{Tools: tools, Skips: skips, Facts: facts, tenant: p.tenant, server: p.server}, refusal
}

func sessionKey(p plan) session.Key {
	grant := ""
	for _, ref := range p.server.Auth.References() {
		grant += ref + "\n"
	}
	return session.KeyOf(session.Parts{
		Tenant:    p.tenant.ID,
		Server:    p.server.Name,
		Endpoint:  p.server.Endpoint.String(),
		Grant:     grant,
		Principal: string(p.call.Principal.Kind) + "\n" + p.call.Principal.Subject,
		Run:       p.call.Run,
	})
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
