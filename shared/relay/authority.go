package relay

import (
	"context"
	"encoding/json"

	"mcprelay/shared/budget"
	"mcprelay/shared/call"
	"mcprelay/shared/policy"
	"mcprelay/shared/registry"
	"mcprelay/shared/turn"
)

// authority is the part of the policy station that depends on the very call:
// pins, the turn, limits, policies, and last what is counted, so that a call
// which something else refuses spends nothing. Whatever it takes is given back
// where the call provably did not run.
func (r *Relay) authority(ctx context.Context, p *plan, t *trail) *call.Refusal {
	if !p.call.Operation.Asks() {
		return nil
	}
	present, asked, refusal := r.allowed(ctx, p, t)
	if refusal != nil {
		return refusal
	}
	if refusal := r.count(ctx, *p, t); refusal != nil {
		return refusal
	}
	if present.Single {
		// Also where nobody knows whether the turn is taken now.
		t.release = func(ctx context.Context) error { return turn.GiveBack(ctx, r.Turns, present.ID, asked) }
	}
	return turn.Spend(ctx, r.Turns, present, asked)
}

// allowed is what of authority counts and spends nothing, so that a simulation
// asks the same. It gives the turn that is to be spent, if any.
func (r *Relay) allowed(ctx context.Context, p *plan, t *trail) (turn.Turn, turn.Asked, *call.Refusal) {
	if refusal := r.held(ctx, *p); refusal != nil {
		return turn.Turn{}, turn.Asked{}, refusal
	}
	// Which call this one goes on with is in the state. What is wrong with it is
	// said last: who may not call learns nothing of it.
	var stale *call.Refusal
	p.state, p.after, stale = r.unseal(*p)
	present, asked, refusal := r.turn(ctx, *p)
	if refusal != nil {
		return present, asked, refusal
	}
	if refusal = limited(*p); refusal != nil {
		return present, asked, refusal
	}
	if refusal = r.policies(ctx, *p, t); refusal != nil {
		return present, asked, refusal
	}
	return present, asked, stale
}

// turn judges the authority that the call names, or has to name: the zero Turn
// where it needs none and names none.
func (r *Relay) turn(ctx context.Context, p plan) (turn.Turn, turn.Asked, *call.Refusal) {
	if p.call.Turn == "" {
		required := p.tenant.RequiresTurn(p.server, p.decision.Effect)
		switch {
		case required && p.supposed && p.call.Tool == "": // no turn offers what is no tool
			return turn.Turn{}, turn.Asked{}, call.Refuse(call.TurnNotOffered, "%.64q of %.64q", "", p.server.Name)
		case required && !p.supposed:
			return turn.Turn{}, turn.Asked{}, call.Refuse(call.TurnRequired, "server %s wants a turn for calls of effect %s", p.server.Name, orElse(p.decision.Effect, call.EffectWrite))
		}
		return turn.Turn{}, turn.Asked{}, nil
	}
	asked := turn.Asked{
		Key:    turn.KeyOf(p.tenant.ID, p.call.Principal.Domain(), p.call.Principal.Subject, p.call.Run),
		Server: p.server.Name, Tool: p.call.Tool, Effect: p.decision.Effect, Now: r.Now(),
		Call: p.call.ID, After: p.after, Repeats: p.repeats,
	}
	if tool, ok := r.known(ctx, p).catalog.Tool(p.tool); ok {
		asked.Digest = tool.Digest
	}
	present, refusal := turn.Check(ctx, r.Turns, p.call.Turn, asked)
	return present, asked, refusal
}

// limited refuses arguments over the tool's own bound.
func limited(p plan) *call.Refusal {
	limit := p.server.ToolLimits[p.tool]
	if n := int64(len(p.call.Arguments)); limit.ArgumentsBytes > 0 && n > limit.ArgumentsBytes {
		return call.Refuse(call.ArgumentsTooLarge, "%d bytes, the tool takes %d", n, limit.ArgumentsBytes)
	}
	return nil
}

// policies asks the tenant's Rego policies. What they recommend is recorded
// apart from what is done.
func (r *Relay) policies(ctx context.Context, p plan, t *trail) *call.Refusal {
	if p.tenant.Engine == nil {
		return nil
	}
	outcome := p.tenant.Engine.Evaluate(ctx, document(p))
	t.outcome = outcome
	if !p.supposed { // who simulates a call has made up its arguments
		outcome = sayable(outcome, p, *t)
	}
	t.record.Note(outcome.Verdict, outcome.Deny, outcome.Audited)
	if outcome.Err != nil || outcome.AuditErr != nil {
		r.complain(ctx, p.call.ID, call.PolicyFailed, firstOf(outcome.Err, outcome.AuditErr), plainly)
	}
	return outcome.Refusal(p.tenant.Settings.OnPolicyError == registry.PolicyErrorAllow)
}

func firstOf(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

// document is what policies are asked about a call (FEATURES 42).
func document(p plan) policy.Input {
	scopes := make([]string, len(p.call.Principal.Scopes))
	for i, scope := range p.call.Principal.Scopes {
		scopes[i] = string(scope)
	}
	return policy.Input{
		Subject: p.call.Principal.Subject, Issuer: p.call.Principal.Issuer, Kind: string(p.call.Principal.Kind), Scopes: scopes,
		Backend: p.server.Name, Tool: p.tool, URI: p.call.Resource, Prompt: p.call.Prompt,
		Method: string(p.call.Operation), Params: params(p),
		Tenant: p.tenant.ID, Run: p.call.Run, Turn: p.call.Turn,
		Effect: p.decision.Effect, Metadata: p.server.Metadata(p.tool), BudgetClass: p.server.BudgetClass(p.tool),
	}
}

// params are the agent's own, whole. A call of the plain face has only the
// arguments of a tool.
func params(p plan) json.RawMessage {
	if p.call.Params != nil || p.call.Arguments == nil {
		return p.call.Params
	}
	whole := append([]byte(`{"arguments":`), p.call.Arguments...)
	return append(whole, '}')
}

// count counts the call against its tool's rate and its class's budget. What
// goes on with a call that the server asked for input in is of that one in the
// budget; the rate bounds how often an answer can be given.
func (r *Relay) count(ctx context.Context, p plan, t *trail) *call.Refusal {
	now := r.Now()
	if rate := p.server.ToolLimits[p.tool].PerMinute; rate > 0 {
		taken, refusal, err := budget.Take(ctx, r.Counters, budget.OfTool(p.tenant.ID, p.server.Name, p.tool), budget.Limits(rate, 0, 0), now)
		switch {
		case err != nil:
			return &call.Refusal{Reason: call.BudgetUnavailable, Detail: "the rate of the tool could not be counted", Err: err}
		case refusal != nil:
			refusal.Reason = call.RateLimited
			return refusal
		}
		t.taken = append(t.taken, taken)
	}
	class := p.server.BudgetClass(p.tool)
	b, ok := p.tenant.Budgets[class]
	if !ok || class == "" || p.after != "" {
		return nil
	}
	taken, refusal, err := budget.Take(ctx, r.Counters, budget.Of(p.tenant.ID, class), budget.Limits(b.PerMinute, b.PerHour, b.PerDay), now)
	switch {
	case err != nil && b.OnError == registry.OnErrorAllow:
		r.complain(ctx, p.call.ID, call.BudgetUnavailable, err, plainly)
		return nil
	case err != nil:
		return &call.Refusal{Reason: call.BudgetUnavailable, Detail: "the budget of class " + class + " could not be counted", Err: err}
	}
	t.taken = append(t.taken, taken)
	return refusal
}

// giveBack gives back what a call took that provably did not run.
func (t *trail) giveBack(ctx context.Context, refusal *call.Refusal) {
	if refusal == nil || refusal.MayHaveRun() != call.ImpactNone {
		return
	}
	for _, taken := range t.taken {
		taken.GiveBack(ctx)
	}
	if t.release != nil {
		bounded, cancel := detached(ctx)
		defer cancel()
		_ = t.release(bounded) // what cannot be given back stays used
	}
}

// narrowing is what the registration says of the call's agent.
func narrowing(tenant *registry.Tenant, c call.Call) policy.Caller {
	agent := tenant.Agent(c.Principal.Subject, c.Principal.Issuer)
	return policy.Caller{Servers: agent.Servers, Access: policy.Access(agent.Access)}
}
