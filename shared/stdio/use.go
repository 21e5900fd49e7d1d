package stdio

import (
	"context"

	"mcprelay/shared/call"
	"mcprelay/shared/wire"
)

// use has do speak to the child of r's key while nobody else does. Another
// child is tried where nothing of the agent's request was written to the first.
func (p *Pool) use(ctx context.Context, r *Request, f *Facts, do func(context.Context, *child) *failure) *call.Refusal {
	s, refusal := p.enter(ctx, r.Key)
	if refusal != nil {
		return refusal
	}
	for attempts := r.Spec.Attempts; ; attempts-- {
		c, failed := p.ready(ctx, s, r, f)
		if failed == nil {
			if failed = do(ctx, c); failed == nil {
				p.praise(s)
				p.leave(s)
				return nil
			}
			if !failed.pending.IsZero() {
				p.wg.Go(func() { p.settle(s, c, failed.pending) })
				return failed.refusal
			}
			if failed.broken {
				p.giveUp(ctx, s, c, r)
			}
		}
		if !failed.again || attempts <= 0 || ctx.Err() != nil {
			p.leave(s)
			return failed.refusal
		}
	}
}

// ready gives the child of the slot, started where there is none or where it
// is not what r's Spec says.
func (p *Pool) ready(ctx context.Context, s *slot, r *Request, f *Facts) (*child, *failure) {
	if ctx.Err() != nil { // its turn came too late
		return nil, fail(&call.Refusal{Reason: ended(ctx, call.TooManyInFlight), Impact: call.ImpactNone, Err: context.Cause(ctx)})
	}
	for {
		p.mu.Lock()
		c, closed := s.child, s.closed
		fits := c != nil && !c.halted() && c.digest == r.Spec.digest()
		if c != nil && !fits {
			c.halt()
		}
		p.mu.Unlock()
		switch {
		case closed:
			return nil, fail(closing())
		case fits:
			f.reached(c, SessionReused)
			return c, nil
		case c == nil:
			return p.start(ctx, s, r, f)
		}
		if refusal := c.departed(ctx); refusal != nil {
			return nil, fail(refusal)
		}
	}
}

// departed waits until nothing is left of a child that is ending: two children
// of one key would be in each other's way.
func (c *child) departed(ctx context.Context) *call.Refusal {
	select {
	case <-c.over:
		return nil
	case <-ctx.Done():
		return &call.Refusal{Reason: ended(ctx, call.OpenTimeout), Impact: call.ImpactNone, Detail: "the process before is ending", Err: context.Cause(ctx)}
	}
}

// reached notes the child that a call came by.
func (f *Facts) reached(c *child, how string) {
	f.Session, f.PID = how, c.pid
	f.agreed(c)
}

// agreed notes what the handshake with a child came to.
func (f *Facts) agreed(c *child) {
	f.Era, f.Version, f.Offers, f.Instructions = c.era, c.version, c.offers, c.instructions
}

// settle waits for a child to get back from a request that was cancelled: it
// answers that one, or a question of the relay's. One that does neither in
// time is ended. The turn passes on after that.
func (p *Pool) settle(s *slot, c *child, pending wire.ID) {
	defer p.leave(s)
	ctx, cancel := context.WithTimeout(context.Background(), c.grace)
	defer cancel()
	m := message{method: methodPing, id: c.nextID(), also: pending}
	if c.era == Modern {
		m.method = methodDiscover // which every modern server has, and ping none
	}
	r := Request{Spec: Spec{Result: c.frame}}
	if _, failed := c.ask(ctx, &r, &Facts{}, &m); failed != nil {
		c.halt()
	}
}

// put is the agent's request, and once more only where the server said that it
// did not execute it because of its version.
func (c *child) put(ctx context.Context, r *Request, f *Facts, m *message) (wire.Reply, *failure) {
	if failed := c.unasked(m); failed != nil {
		return wire.Reply{}, failed
	}
	m.agents, m.id = true, c.nextID()
	reply, failed := c.ask(ctx, r, f, m)
	if failed != nil {
		return reply, failed
	}
	found, refuses := c.refusesVersion(reply.Error)
	if !refuses {
		return reply, nil
	}
	if failed = c.turn(ctx, r, f, found); failed != nil {
		return wire.Reply{}, failed
	}
	if failed = c.unasked(m); failed != nil {
		return wire.Reply{}, failed
	}
	m.id = c.nextID()
	if reply, failed = c.ask(ctx, r, f, m); failed != nil {
		return reply, failed
	}
	if _, refuses = c.refusesVersion(reply.Error); refuses {
		return wire.Reply{}, fail(&call.Refusal{Reason: call.NoCommonVersion, Impact: call.ImpactNone, Detail: "the server refuses a version that it names"})
	}
	return reply, nil
}

// unasked is the failure of an answer to what the child cannot have asked for: a
// legacy server would run what the agent may have declined.
func (c *child) unasked(m *message) *failure {
	if c.era == Modern || !m.ask.Answers() {
		return nil
	}
	return fail(call.Refuse(call.StateRefused, "the server speaks %s and has asked for nothing", c.version))
}

// turn changes to the version that was found when the server refused the one
// that was agreed.
func (c *child) turn(ctx context.Context, r *Request, f *Facts, found finding) *failure {
	switch {
	case found.refusal != nil:
		return fail(opening(found.refusal))
	case found.era == Modern:
		c.era, c.version = Modern, found.version
	default:
		h := handshake{c: c, r: r, f: f}
		bounded, cancel := context.WithTimeout(ctx, r.Spec.Startup)
		defer cancel()
		if failed := h.initialize(bounded, found.version); failed != nil {
			failed.refusal, failed.again = opening(failed.refusal), false
			failed.broken = true // it has half a handshake
			return failed
		}
	}
	f.agreed(c)
	return nil
}
