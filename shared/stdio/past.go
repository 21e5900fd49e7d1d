package stdio

import (
	"context"
	"math"
	"time"

	"mcprelay/shared/call"
)

const (
	// maxPasts is how many Specs are remembered; a relay has a fraction of that
	// many servers. What is lost is a pause before a server that failed.
	maxPasts = 256
	// forgetTime is how long after its pause a failure is remembered: a server
	// that nobody asked for since then may have been mended.
	forgetTime = 10 * time.Minute
)

// past is what is remembered of the children of one Spec, whoever they worked
// for: a server that dies does so for everybody.
type past struct {
	failures  int       // in a row, without an answer in between
	last      int64     // the number of the last one among the pool's failures
	notBefore time.Time // of the next start
	trial     *slot     // where a child is started although the last one failed
	unprobed  time.Time // until then, server/discover is not sent first
}

// past gives what is remembered of a Spec, nil for nothing. The mutex is held.
func (p *Pool) past(d digest) *past {
	if known := p.pasts[d]; known != nil && !known.idle(p.now()) {
		return known
	}
	delete(p.pasts, d)
	return nil
}

// idle reports whether there is nothing to be remembered any more.
func (a *past) idle(now time.Time) bool {
	return a.trial == nil && !now.Before(a.unprobed) && (a.failures == 0 || now.Sub(a.notBefore) >= forgetTime)
}

// remember gives what is remembered of a Spec, for more to be noted. The mutex
// is held.
func (p *Pool) remember(d digest) *past {
	if known := p.past(d); known != nil {
		return known
	}
	if len(p.pasts) >= maxPasts {
		p.overlook()
	}
	p.pasts[d] = &past{}
	return p.pasts[d]
}

// overlook makes room for one more Spec: what is idle goes, else the one whose
// last failure is the longest ago. The mutex is held.
func (p *Pool) overlook() {
	var oldest digest
	last, now := int64(math.MaxInt64), p.now()
	for d, known := range p.pasts {
		if known.idle(now) {
			delete(p.pasts, d)
		} else if known.last < last {
			oldest, last = d, known.last
		}
	}
	if len(p.pasts) >= maxPasts {
		delete(p.pasts, oldest)
	}
}

// giveUp ends a child that cannot be used. It has failed, unless nobody waited
// for it any more.
func (p *Pool) giveUp(ctx context.Context, s *slot, c *child, r *Request) {
	if ctx.Err() == nil {
		p.convict(s, c, r.Spec.Backoff)
	}
	c.halt()
}

// convict blames the slot's child, once.
func (p *Pool) convict(s *slot, c *child, pause time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !c.failed {
		c.failed = true
		p.blame(s, pause)
	}
}

// blame notes the failure of the slot's child: the next one of its Spec waits a
// while. One that was started before the last failure tells nothing new: when a
// server dies, all its children do. The mutex is held.
func (p *Pool) blame(s *slot, pause time.Duration) {
	known := p.remember(s.digest)
	if s.counted = known.last <= s.since; !s.counted {
		return
	}
	p.fails++
	known.failures++
	known.last, known.notBefore = p.fails, p.now().Add(backoff(pause, known.failures))
}

// pardon takes back that the slot's last child failed.
func (p *Pool) pardon(s *slot) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if known := p.pasts[s.digest]; known != nil && s.counted {
		known.failures--
		known.notBefore = time.Time{}
	}
}

// praise forgets the failures before the slot's child, which has answered.
// Those since it was started it says nothing of.
func (p *Pool) praise(s *slot) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if known := p.pasts[s.digest]; known != nil && known.last <= s.since {
		known.failures, known.notBefore = 0, time.Time{}
	}
}

// opened ends the trial of the slot's child, which can be asked: others may be
// started beside it.
func (p *Pool) opened(s *slot) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.tried(s)
	p.announce()
}

// tried ends a trial in the slot, if there is one. The mutex is held.
func (p *Pool) tried(s *slot) {
	if known := p.pasts[s.digest]; known != nil && known.trial == s {
		known.trial = nil
	}
}

// harmed notes that server/discover did the slot's child no good.
func (p *Pool) harmed(s *slot) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.remember(s.digest).unprobed = p.now().Add(unprobedTime)
}

// unprobed reports whether the slot's child is not to be sent server/discover
// first.
func (p *Pool) unprobed(s *slot) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	known := p.past(s.digest)
	return known != nil && p.now().Before(known.unprobed)
}

// wait is why a child cannot be started yet, and what a call is told that
// cannot wait.
type wait struct {
	left     time.Duration // 0: until something changes
	failures int
	late     call.Reason
	detail   string
}

// due gives why a child of the Spec must not be started yet, nil where it may
// be. After a failure one is started to see whether it lives, and only then
// others. The mutex is held.
func (p *Pool) due(d digest) *wait {
	known := p.past(d)
	if known == nil {
		return nil
	}
	if left := known.notBefore.Sub(p.now()); left > 0 {
		return &wait{left, known.failures, call.OpenTimeout, "another process was not due yet"}
	}
	if known.trial != nil {
		return &wait{0, known.failures, call.OpenTimeout, "another process is being tried"}
	}
	return nil
}

// tooLong is the refusal of a pause that is not waited for.
func (w *wait) tooLong() *call.Refusal {
	refusal := call.Refuse(call.ProcessFailed, "%d processes in a row failed", w.failures)
	refusal.RetryAfter = int(math.Ceil(w.left.Seconds()))
	return refusal
}
