package relay

import (
	"context"
	"encoding/json"
	"log/slog"
	"slices"
	"time"

	"mcprelay/shared/audit"
	"mcprelay/shared/call"
	"mcprelay/shared/policy"
	"mcprelay/shared/registry"
)

// Question is a call that nobody makes (FEATURES 46). Its JSON is what operators
// write; see [ReadQuestion].
type Question struct {
	CallID string         `json:"-"`
	By     call.Principal `json:"-"` // who asks, of the tenant that is asked about

	Subject string       `json:"subject"`
	Kind    call.Kind    `json:"kind"`   // empty for service_token
	Scopes  []call.Scope `json:"scopes"` // nil for call alone
	Run     string       `json:"run"`

	Server    string          `json:"server"`
	Tool      string          `json:"tool"`     // as offered; one of the three
	Resource  string          `json:"resource"` // the upstream's own URI
	Prompt    string          `json:"prompt"`   // the upstream's own name
	Arguments json.RawMessage `json:"arguments"`

	// Policies are asked beside the saved ones, each in the place of the saved one
	// of its name; with Only no other is. Nothing saves them.
	Policies []Candidate `json:"policies"`
	Only     bool        `json:"only"`
}

// Candidate is a policy that is not saved.
type Candidate struct {
	Name   string `json:"name"`
	Source string `json:"source"`
	Mode   string `json:"mode"` // registry.ModeEnforce where empty, or registry.ModeAudit
}

// Simulation is what a call would come to, as far as the policy station says.
// What is counted, budgets and rates, is not asked.
type Simulation struct {
	Decision call.Verdict       `json:"decision"`
	Policy   call.PolicyVerdict `json:"policy"` // what the Rego policies recommend, or not_run
	// Reason and Detail say why the call would be refused; empty where it would not.
	Reason call.Reason `json:"reason,omitempty"`
	Detail string      `json:"detail,omitempty"`
	// Rule is the action of the rule that decided, Missing the one that no rule
	// matches. Both are empty where no rule was asked.
	Rule     string   `json:"rule,omitempty"`
	Missing  string   `json:"missing_rule,omitempty"`
	Enforced []string `json:"enforced"` // messages of enforcing policies
	Audited  []string `json:"audited"`  // and of those that only watch

	Effect      call.Effect `json:"effect"`
	BudgetClass string      `json:"budget_class"`
	// TurnRequired says that the call needs a turn that offers it; Decision is the
	// one with such a turn.
	TurnRequired bool `json:"turn_required"`
	// Input is the document that policies are asked about, whole.
	Input    json.RawMessage `json:"input"`
	Warnings []string        `json:"warnings"`
}

// Simulate takes q through the stations that decide about a call: the same as a
// call's, up to what is counted. Nothing is sent, counted, spent or recorded but
// a line on the log, unless the question itself is refused, which leaves a record
// of who asked. The refusal is bad_params for a question that makes no
// sense, and policy_unavailable where the registration cannot be read.
func (r *Relay) Simulate(ctx context.Context, q Question) (Simulation, *call.Refusal) {
	s, refusal := r.simulate(ctx, q)
	if refusal != nil {
		return Simulation{}, r.Refuse(ctx, q.asking(r.Now()), refusal)
	}
	return s, nil
}

func (r *Relay) simulate(ctx context.Context, q Question) (Simulation, *call.Refusal) {
	if refusal := q.check(); refusal != nil {
		return Simulation{}, refusal
	}
	leave, busy := r.simulation()
	if busy != nil {
		return Simulation{}, busy
	}
	defer leave()
	c := q.call()
	c.At = r.Now()
	t := trail{record: audit.Begin(c)}
	p, refusal := r.policy(ctx, errand{call: c, supposed: true}, &t)
	if p.tenant == nil {
		return Simulation{}, r.refusal(ctx, t, p, refusal)
	}
	tenant, doubts, unusable := q.suppose(p.tenant)
	if unusable != nil {
		return Simulation{}, unusable
	}
	p.tenant = tenant
	if !c.Principal.May(call.ScopeCall) { // a call is refused before the rules are asked
		t.record, refusal = audit.Begin(c), call.Refuse(call.InsufficientScope, "scope %s is missing", call.ScopeCall)
		t.record.Decision = call.Deny
	}
	if refusal == nil {
		_, _, refusal = r.allowed(ctx, &p, &t)
	}
	if refusal != nil {
		refusal = r.refusal(ctx, t, p, refusal)
	}
	s := simulated(p.described(), t, refusal)
	s.Warnings = append(append(s.Warnings, r.doubts(ctx, p, q)...), doubts...)
	r.Log.LogAttrs(ctx, slog.LevelInfo, "simulated",
		slog.String("call_id", q.CallID), slog.String("tenant", tenant.ID), slog.String("by", q.By.Subject),
		slog.String("agent", q.Subject), slog.String("server", q.Server), slog.String("about", t.record.About),
		slog.String("decision", string(s.Decision)), slog.String("policy", string(s.Policy)), slog.String("reason", string(s.Reason)))
	return s, nil
}

// asking is the asking of q.
func (q Question) asking(now time.Time) call.Call {
	return call.Call{ID: q.CallID, At: now, Face: call.FacePlain, Operation: call.OperationSimulate, Principal: q.By}
}

// call is the call that q is about, without a turn.
func (q Question) call() call.Call {
	c := call.Call{
		ID: q.CallID, Face: call.FaceMCP, Operation: call.OperationToolsCall, Run: q.Run,
		Server: q.Server, Tool: q.Tool, Resource: q.Resource, Prompt: q.Prompt, Arguments: q.Arguments, Params: q.params(),
		Principal: call.Principal{Tenant: q.By.Tenant, Subject: q.Subject, Kind: orElse(q.Kind, call.KindServiceToken), Scopes: q.Scopes},
	}
	switch {
	case q.Resource != "":
		c.Operation = call.OperationResourcesRead
	case q.Prompt != "":
		c.Operation = call.OperationPromptsGet
	}
	if q.Scopes == nil {
		c.Principal.Scopes = []call.Scope{call.ScopeCall}
	}
	return c
}

// described is p with what the registration says of what was asked, also where
// the policy station ended before it looked: an operator may see it.
func (p plan) described() plan {
	if p.server == nil {
		p.server = orElse(p.tenant.Servers[p.call.Server], &registry.Server{Name: p.call.Server})
	}
	if p.tool == "" && p.call.Tool != "" {
		p.tool = p.call.Tool
		if upstream, ok := p.server.Upstream(p.call.Tool); ok {
			p.tool = upstream
		}
	}
	if p.decision.Effect = call.EffectRead; p.tool != "" {
		p.decision.Effect = orElse(p.server.Effect(p.tool), call.EffectWrite)
	}
	return p
}

// simulated is what the record of the call would say.
func simulated(p plan, t trail, refusal *call.Refusal) Simulation {
	record := t.record
	s := Simulation{
		Enforced: append([]string{}, t.outcome.Deny...), Audited: append([]string{}, t.outcome.Audited...),
		Effect: p.decision.Effect, BudgetClass: p.server.BudgetClass(p.tool),
		TurnRequired: p.tenant.RequiresTurn(p.server, p.decision.Effect), Warnings: []string{},
	}
	if refusal != nil {
		record.Refuse(refusal)
		s.Reason, s.Detail = refusal.Reason, refusal.Detail
	}
	s.Decision, s.Policy = record.Decision, record.Policy
	if s.Rule = record.Rule; !ruled(p.tenant.Rules, record.Rule) {
		s.Rule, s.Missing = "", record.Rule
	}
	for _, err := range []error{t.outcome.Err, t.outcome.AuditErr} {
		if err != nil {
			s.Warnings = append(s.Warnings, err.Error())
		}
	}
	if input, err := document(p).Document(); err == nil {
		s.Input = input
	}
	return s
}

// ruled reports whether an action is one of a rule.
func ruled(rules policy.Rules, action string) bool {
	return slices.ContainsFunc(rules.Table(), func(rule policy.Rule) bool { return rule.Action == action })
}
