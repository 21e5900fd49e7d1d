package relay

import (
	"context"
	"maps"
	"slices"

	"mcprelay/shared/call"
)

// Status says whether a server is usable as far as can be told without
// reaching it. Refusal is nil where it is.
type Status struct {
	Server  string
	Refusal *call.Refusal
}

// Ready asks policy and credential of every server of a tenant, in the order
// of their names, so that a missing rule or secret is reported before the
// first call instead of failing it. It sends nothing and records nothing.
func (r *Relay) Ready(ctx context.Context, tenantID string) ([]Status, error) {
	tenant, err := r.Registry.Tenant(ctx, tenantID)
	if err != nil {
		return nil, err
	}
	statuses := make([]Status, 0, len(tenant.Servers))
	for _, name := range slices.Sorted(maps.Keys(tenant.Servers)) {
		c := call.Call{Principal: call.Principal{Tenant: tenantID}, Server: name, Operation: call.OperationDiscover}
		var t trail
		p, refusal := r.policy(ctx, errand{call: c}, &t)
		if refusal == nil {
			_, refusal = r.secret(ctx, p, &t)
		}
		statuses = append(statuses, Status{Server: name, Refusal: refusal})
	}
	return statuses, nil
}
