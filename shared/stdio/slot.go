package stdio

import (
	"context"
	"time"

	"mcprelay/shared/call"
)

// slot is where the child of one key lives. All but turn belongs to the pool's
// mutex.
type slot struct {
	key    string
	turn   chan struct{} // holds a token while somebody may use the child
	users  int           // who have the turn or wait for it
	used   int64         // when the turn was last given back, in turns of the pool
	child  *child
	had    bool // there was a child before
	closed bool

	// Of the last child that was started, or was to be:
	digest  digest // of its Spec
	since   int64  // how many failures the pool had seen before
	counted bool   // its end was one more
}

// maxSlots is how many keys are remembered. Beyond it those without a child
// are forgotten.
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

// announce wakes those who wait to start a child. The mutex is held.
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

// admit waits until a child may be started in the slot, and takes a place for
// it. A pause after failures that is longer than a start may take is not waited
// for, and one that is excused not at all.
func (p *Pool) admit(ctx context.Context, s *slot, r *Request, excused bool) *call.Refusal {
	d := r.Spec.digest()
	for {
		p.mu.Lock()
		w, closed, changed := (*wait)(nil), s.closed, p.changed
		if !closed {
			w = p.take(s, d, excused)
		}
		p.mu.Unlock()
		switch {
		case closed:
			return closing()
		case w == nil:
			return nil
		case w.left > r.Spec.Startup:
			return w.tooLong()
		}
		if !w.over(ctx, changed) {
			return &call.Refusal{Reason: ended(ctx, w.late), Impact: call.ImpactNone, Detail: w.detail, Err: context.Cause(ctx)}
		}
	}
}

// over waits for a change or the time that is left, and reports whether ctx
// has not ended before.
func (w *wait) over(ctx context.Context, changed <-chan struct{}) bool {
	var due <-chan time.Time
	if w.left > 0 {
		timer := time.NewTimer(w.left)
		defer timer.Stop()
		due = timer.C
	}
	select {
	case <-changed:
	case <-due:
	case <-ctx.Done():
		return false
	}
	return true
}

// take takes one of the [MaxChildren] places, or gives what is in the way. The
// child that has been idle for longest makes room. The mutex is held.
func (p *Pool) take(s *slot, d digest, excused bool) *wait {
	if w := p.due(d); w != nil && !excused {
		return w
	}
	if p.children >= MaxChildren {
		if idle := p.idlest(); idle != nil {
			idle.halt()
		}
		return &wait{late: call.TooManyInFlight, detail: "every process is busy"}
	}
	p.children++
	s.digest, s.since = d, p.fails
	if known := p.pasts[d]; known != nil && known.failures > 0 {
		known.trial = s
	}
	return nil
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
	p.tried(s)
	p.announce()
}
