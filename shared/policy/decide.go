package policy

import (
	"fmt"

	"mcprelay/shared/call"
)

// Target is what a call wants to reach: a server by its host or as a process,
// and at most one of its tools, resources and prompts.
type Target struct {
	Server       string
	ReversedHost string // the host, last label first
	Process      bool   // a child process, which has no host
	Tool         string // the upstream's own name
	Resource     string // the upstream's own URI, or URI template
	Prompt       string // the upstream's own name; of a completion too
	References   []Reference
	Effect       call.Effect
}

// reachable reports whether t says of one server how it is reached.
func (t Target) reachable() bool { return t.Server != "" && (t.ReversedHost != "") != t.Process }

// serverAction is the action of reaching the server, and what that means.
func (t Target) serverAction() (action, what string) {
	if t.Process {
		return "mcp." + t.Server + ".process", "running the server"
	}
	return "mcp." + t.Server + ".host." + t.ReversedHost, "reaching the server"
}

// itemAction is the action of using the one thing that t names of the server,
// and what that means. It is empty where t names nothing, or several things.
func (t Target) itemAction() (action, what string) {
	switch {
	case t.Tool != "" && t.Resource == "" && t.Prompt == "":
		return "mcp." + t.Server + ".tool." + t.Tool, "calling the tool"
	case t.Resource != "" && t.Tool == "" && t.Prompt == "":
		return "mcp." + t.Server + ".resource." + t.Resource, "reading the resource"
	case t.Prompt != "" && t.Tool == "" && t.Resource == "":
		return "mcp." + t.Server + ".prompt." + t.Prompt, "getting the prompt"
	}
	return "", ""
}

// Decide says whether op on t may be made, by the rules for its host or
// process, for its tool, resource or prompt and for its secrets, in this order.
// Decision.Rule names the rule that decided, or the action that no rule
// matches. The refusal is no_rule, credential_no_rule, denied_by_rule or
// rule_asks, and not_offered for what cannot be asked about.
func Decide(r Rules, op call.Operation, t Target) (call.Decision, *call.Refusal) {
	switch {
	case !t.reachable():
	case op == call.OperationDiscover, op == call.OperationClose, op == call.OperationSetLevel:
		return r.decide(t, "", "")
	case t.fits(op):
		if action, what := t.itemAction(); action != "" {
			return r.decide(t, action, what)
		}
	}
	return refuse(undecided(t), "", call.Refuse(call.NotOffered, "operation %.32q of a server needs its name, its host or process and what it is about", string(op)))
}

// fits reports whether t names what op is about. A completion is of the
// arguments of a prompt or of the variables of a resource template, and needs
// the rule of that.
func (t Target) fits(op call.Operation) bool {
	switch op {
	case call.OperationToolsCall:
		return t.Tool != ""
	case call.OperationResourcesRead:
		return t.Resource != ""
	case call.OperationPromptsGet:
		return t.Prompt != ""
	case call.OperationComplete:
		return t.Tool == "" && (t.Resource != "" || t.Prompt != "")
	}
	return false
}

// Offers reports whether the tool, resource or prompt of t is shown to agents:
// it could be used as far as the rules go.
func Offers(r Rules, t Target) bool {
	action, what := t.itemAction()
	if action == "" || !t.reachable() {
		return false
	}
	_, refusal := r.decide(t, action, what)
	return refusal == nil
}

// decide asks about reaching the server, then about the action item, which is
// what says, unless it is empty, then about each secret.
func (r Rules) decide(t Target, item, what string) (call.Decision, *call.Refusal) {
	d := undecided(t)
	server, reaching := t.serverAction()
	m := r.Match(server)
	if rule, refusal := judge(m, server, reaching); refusal != nil {
		return refuse(d, rule, refusal)
	}
	d.Rule = m.Rule
	if item != "" {
		m = r.Match(item)
		if rule, refusal := judge(m, item, what); refusal != nil {
			return refuse(d, rule, refusal)
		}
		d.Rule = m.Rule
	}
	for _, ref := range t.References {
		if rule, refusal := r.use(ref, t.Server, server); refusal != nil {
			return refuse(d, rule, refusal)
		}
	}
	d.Verdict = call.Allow
	return d, nil
}

// undecided is the decision before any rule was asked, which denies.
func undecided(t Target) call.Decision {
	return call.Decision{Verdict: call.Deny, Policy: call.PolicyNotRun, Effect: t.Effect}
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

// use judges the sending of one secret to a server, by the action of reaching
// it.
func (r Rules) use(ref Reference, server, reach string) (string, *call.Refusal) {
	action := secretUse + ref.Name
	c := r.credential(ref, reach)
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
