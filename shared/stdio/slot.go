package stdio

import (
	"context"
	"time"

	"mcprelay/shared/call"
)

// slot is where the child of one key lives, and what is remembered of those
// before it. All but turn belongs to the pool's mutex.
type slot struct {
	key       string
	turn      chan struct{} // holds a token while somebody may use the child
	users     int           // who have the turn or wait for it
	used      int64         // when the turn was last given back, in turns of the pool
	child     *child
	had       bool // there was a child before
	failures  int  // of children in a row, without an answer in between
	notBefore time.Time
	unprobed  time.Time // until then, server/discover is not sent first
	closed    bool
}

// maxSlots is how many keys are remembered. Beyond it those without a child
// are forgotten: what is lost is a pause before a server that failed.
const maxSlots = 256

// enter waits for the turn of key. Calls come in the order in which they wait.
func (p *Pool) enter(ctx context.Context, key string) (*slot, *call.Refusal) {
	p.mu.Lock()
	if p.closed {
		p.mu.Unlock()
		return nil, closing()
	}
	s := p.slots[key]
	if s == nil {
		p.forget()
		s = &slot{key: key, turn: make(chan struct{}, 1)}
		p.slots[key] = s
	}
	s.users++
	p.wg.Add(1)
	p.mu.Unlock()
	select {
	case s.turn <- struct{}{}:
		return s, nil
	case <-ctx.Done():
	}
	p.mu.Lock()
	s.users--
	p.mu.Unlock()
	p.wg.Done()
	return nil, &call.Refusal{Reason: ended(ctx, call.TooManyInFlight), Impact: call.ImpactNone, Detail: "the process was busy", Err: context.Cause(ctx)}
}

// closing is the refusal of a call for which no child is started any more.
func closing() *call.Refusal {
	return &call.Refusal{Reason: call.ProcessFailed, Impact: call.ImpactNone, Detail: "its processes are being ended"}
}

// leave gives the turn back.
func (p *Pool) leave(s *slot) {
	defer p.wg.Done()
	<-s.turn
	p.mu.Lock()
	defer p.mu.Unlock()
	s.users--
	p.uses++
	s.used = p.uses
	p.announce()
}

// announce wakes those who wait for a place. The mutex is held.
func (p *Pool) announce() {
	close(p.changed)
	p.changed = make(chan struct{})
}

// forget drops slots that hold nothing but memories. The mutex is held.
func (p *Pool) forget() {
	if len(p.slots) < maxSlots {
		return
	}
	for key, s := range p.slots {
		if s.child == nil && s.users == 0 {
			delete(p.slots, key)
		}
	}
}

// end asks for the end of the slot and of its child, which it gives. The
// pool's mutex is held.
func (s *slot) end() *child {
	s.closed = true
	if s.child != nil {
		s.child.halt()
	}
	return s.child
}

// place takes one of the [MaxChildren] places. The child that has been idle
// for longest makes room.
func (p *Pool) place(ctx context.Context, s *slot) *call.Refusal {
	for {
		p.mu.Lock()
		if s.closed {
			p.mu.Unlock()
			return closing()
		}
		if p.children < MaxChildren {
			p.children++
			p.mu.Unlock()
			return nil
		}
		if idle := p.idlest(); idle != nil {
			idle.halt()
		}
		changed := p.changed
		p.mu.Unlock()
		select {
		case <-changed:
		case <-p.closing:
		case <-ctx.Done():
			return &call.Refusal{Reason: ended(ctx, call.TooManyInFlight), Impact: call.ImpactNone, Detail: "every process is busy", Err: context.Cause(ctx)}
		}
	}
}

// idlest is the child that nobody has used for longest and that is not ending
// yet; nil where one is ending already, or all are in use. The mutex is held,
// so that nobody can come for it before it is told to end.
func (p *Pool) idlest() *child {
	for c := range p.living {
		if c.halted() {
			return nil
		}
	}
	var idlest *slot
	for _, s := range p.slots {
		if s.child != nil && s.users == 0 && (idlest == nil || s.used < idlest.used) {
			idlest = s
		}
	}
	if idlest == nil {
		return nil
	}
	return idlest.child
}

// vacate gives a place back, and takes the child that had it, if one came to
// have it, out of its slot.
func (p *Pool) vacate(s *slot, c *child) {
	p.mu.Lock()
	defer p.mu.Unlock()
	s.child = nil
	delete(p.living, c)
	p.children--
	p.announce()
}
