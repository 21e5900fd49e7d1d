package policy

import (
	"fmt"

	"mcprelay/shared/call"
)

// Target is what a call wants to reach.
type Target struct {
	Server       string
	ReversedHost string // the host, last label first
	Process      bool   // a child process, which has no host
	Tool         string // the upstream's own name; empty for the server itself
	Resource     string // the upstream's URI or URI template, for Offers
	Prompt       string // the upstream's own name, for Offers
	References   []Reference
	Effect       call.Effect
}

func (t Target) hostAction() string { return "mcp." + t.Server + ".host." + t.ReversedHost }
func (t Target) toolAction() string { return "mcp." + t.Server + ".tool." + t.Tool }

// Decide says whether op on t may be made, by the rules for its host, its tool
// (of tools/call) and its secrets, in this order. Decision.Rule names the rule
// that decided, or the action that no rule matches. The refusal is no_rule,
// credential_no_rule, denied_by_rule or rule_asks, and not_offered for what
// cannot be asked about.
func Decide(r Rules, op call.Operation, t Target) (call.Decision, *call.Refusal) {
	d := call.Decision{Verdict: call.Deny, Policy: call.PolicyNotRun, Effect: t.Effect}
	if t.Server == "" || t.ReversedHost == "" || !decidable(op, t.Tool) {
		return refuse(d, "", call.Refuse(call.NotOffered, "operation %.32q of a server needs its name, its host and, to call it, a tool", string(op)))
	}
	host := t.hostAction()
	m := r.Match(host)
	if rule, refusal := judge(m, host, "reaching the server"); refusal != nil {
		return refuse(d, rule, refusal)
	}
	d.Rule = m.Rule
	if op == call.OperationToolsCall {
		m = r.Match(t.toolAction())
		if rule, refusal := judge(m, t.toolAction(), "calling the tool"); refusal != nil {
			return refuse(d, rule, refusal)
		}
		d.Rule = m.Rule
	}
	for _, ref := range t.References {
		if rule, refusal := r.use(ref, t.Server, host); refusal != nil {
			return refuse(d, rule, refusal)
		}
	}
	d.Verdict = call.Allow
	return d, nil
}

// Offers reports whether the tool of t is shown to agents: it could be called
// as far as the rules go.
func Offers(r Rules, t Target) bool {
	_, refusal := Decide(r, call.OperationToolsCall, t)
	return refusal == nil
}

// decidable reports whether there are rules for op: on a tool, or on the
// server itself.
func decidable(op call.Operation, tool string) bool {
	switch op {
	case call.OperationDiscover, call.OperationClose:
		return true
	case call.OperationToolsCall:
		return tool != ""
	}
	return false
}

func refuse(d call.Decision, rule string, refusal *call.Refusal) (call.Decision, *call.Refusal) {
	d.Rule = rule
	d.Reasons = []string{refusal.Detail}
	return d, refusal
}

// judge refuses what m does not allow, and names the rule for it.
func judge(m Match, action, what string) (string, *call.Refusal) {
	if !m.Found {
		return action, call.Refuse(call.NoRule, "no rule allows %s", action)
	}
	switch m.Word {
	case Allow:
		return m.Rule, nil
	case Ask:
		return m.Rule, call.Refuse(call.RuleAsks, "the rule %s asks before %s; allow %s would permit it", m.Rule, what, action)
	}
	return m.Rule, call.Refuse(call.DeniedByRule, "the rule %s denies %s", m.Rule, what)
}

// use judges the sending of one secret to the server with the host action.
func (r Rules) use(ref Reference, server, host string) (string, *call.Refusal) {
	action := secretUse + ref.Name
	c := r.credential(ref, host)
	switch {
	case !c.Found:
		return action, call.Refuse(call.CredentialNoRule, "no rule allows %s%s", action, limit(ref, server))
	case c.misses:
		return c.Rule, call.Refuse(call.CredentialNoRule, `the rule %s does not cover server %s: its "to" lacks mcp.%s.*`, c.Rule, server, server)
	}
	return judge(c.Match, action, "sending the secret "+ref.Name)
}

// limit is what else the missing rule must say.
func limit(ref Reference, server string) string {
	if !ref.Shared {
		return ""
	}
	return fmt.Sprintf(` with "to": ["mcp.%s.*"], which a secret of several servers needs`, server)
}
