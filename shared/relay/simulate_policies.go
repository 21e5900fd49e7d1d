package relay

import (
	"errors"
	"slices"

	"mcprelay/shared/call"
	"mcprelay/shared/policy"
	"mcprelay/shared/registry"
)

// Bounds of simulations: what they compile and evaluate is not saved by anybody
// and takes up to a second of a core for each candidate.
const (
	maxSimulations = 2 // at once in a process
	maxCandidates  = 8 // of one question
)

// simulation takes one of the places for simulations, and gives how to leave it.
func (r *Relay) simulation() (leave func(), refusal *call.Refusal) {
	select {
	case r.simulations <- struct{}{}:
		return func() { <-r.simulations }, nil
	default:
		refusal := call.Refuse(call.TooManyInFlight, "%d simulations are running", maxSimulations)
		refusal.RetryAfter = 1
		return nil, refusal
	}
}

// suppose is the tenant as it would be with the policies of q, and what is
// doubtful about these. The registration itself stays as it is. A policy that
// cannot be used is refused with its place in the source.
func (q Question) suppose(tenant *registry.Tenant) (*registry.Tenant, []string, *call.Refusal) {
	if len(q.Policies) > maxCandidates {
		return nil, nil, call.Refuse(call.BadParams, "there are more than %d policies", maxCandidates)
	}
	if len(q.Policies) == 0 && !q.Only {
		return tenant, nil, nil
	}
	sources, refusal := q.sources(tenant)
	if refusal != nil {
		return nil, nil, refusal
	}
	with := *tenant
	with.Engine = nil
	if len(sources) == 0 {
		return &with, nil, nil
	}
	engine, warnings, err := policy.NewEngine(sources)
	if where := new(policy.CompileError); errors.As(err, &where) {
		return nil, nil, &call.Refusal{Reason: call.BadParams, Detail: where.Error(), Err: err}
	}
	with.Engine = engine
	var doubts []string
	for _, w := range warnings {
		doubts = append(doubts, "policy "+w.Policy+": "+w.Text)
	}
	return &with, doubts, nil
}

// sources are the policies that are asked: those of q, and the saved ones.
func (q Question) sources(tenant *registry.Tenant) ([]policy.Source, *call.Refusal) {
	var sources []policy.Source
	if !q.Only {
		for _, saved := range tenant.Policies {
			if saved.Enabled {
				sources = append(sources, policy.Source{Name: saved.Name, Text: saved.Source, Audit: saved.Mode == registry.ModeAudit})
			}
		}
	}
	var seen []string
	for _, c := range q.Policies {
		switch {
		case registry.PolicyName(c.Name) != nil:
			return nil, call.Refuse(call.BadParams, "the name of a policy is missing, too long or malformed")
		case slices.Contains(seen, c.Name):
			return nil, call.Refuse(call.BadParams, "two policies are named %s", c.Name)
		case c.Mode != "" && c.Mode != registry.ModeEnforce && c.Mode != registry.ModeAudit:
			return nil, call.Refuse(call.BadParams, "the mode of policy %s is neither enforce nor audit", c.Name)
		}
		seen = append(seen, c.Name)
		sources = slices.DeleteFunc(sources, func(s policy.Source) bool { return s.Name == c.Name })
		sources = append(sources, policy.Source{Name: c.Name, Text: c.Source, Audit: c.Mode == registry.ModeAudit})
	}
	return sources, nil
}
