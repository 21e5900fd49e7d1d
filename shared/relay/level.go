package relay

import (
	"context"
	"sync"

	"mcprelay/shared/call"
)

// SetLevel sets the level of the log messages of c's caller, c.Level, in its
// sessions at the servers of the path: c.Server, or all that it may reach where
// that is empty. Some servers send their logs to nobody who has not set one (MCP
// 2025-11-25, server/utilities/logging). Each server that is known to have log
// messages is a call of its own in the trail; they run side by side, and what
// comes of them does not matter, so that all together take at most 2 s. No
// server is asked what it has for this.
//
// It is false where what each of the servers has is known, and none has log
// messages.
func (r *Relay) SetLevel(ctx context.Context, c call.Call) bool {
	plans := r.along(ctx, c)
	silent := 0
	var running sync.WaitGroup
	for _, p := range plans {
		switch offers := r.see(ctx, p).Catalog.Offers; {
		case offers.Has(call.OffersLogging):
			running.Go(func() { r.setLevel(ctx, c, p.server.Name) })
		case offers.Has(call.Announced):
			silent++
		}
	}
	running.Wait()
	return silent == 0 || silent < len(plans)
}

// along are the servers of a path that c's caller may know of.
func (r *Relay) along(ctx context.Context, c call.Call) []plan {
	if c.Server == "" {
		plans, _ := r.reachable(ctx, c) // none where the registration cannot be read
		return plans
	}
	var t trail
	p, refusal := r.policy(ctx, errand{call: toSee(c, c.Server)}, &t)
	if refusal != nil {
		return nil
	}
	return []plan{p}
}

// setLevel is the call to one server.
func (r *Relay) setLevel(ctx context.Context, c call.Call, server string) {
	now := r.Now()
	answer, _ := r.Run(ctx, call.Call{
		ID: r.NewID(now), At: now, Face: c.Face, Operation: call.OperationSetLevel, Server: server, Level: c.Level,
		Principal: c.Principal, Run: c.Run, Traceparent: c.Traceparent,
	})
	answer.Settle()
}
