package stdio

import (
	"context"
	"log/slog"
	"syscall"
	"time"
)

// start gives the slot a child that can be asked. One that ended when it was
// asked with server/discover is no failure yet: some servers take initialize
// first or nothing. There is one such start for free.
func (p *Pool) start(ctx context.Context, s *slot, r *Request, f *Facts) (*child, *failure) {
	for free := true; ; free = false {
		if refusal := p.admit(ctx, s, r, !free); refusal != nil {
			return nil, fail(refusal)
		}
		c, failed := p.begin(ctx, s, r, f)
		if failed != nil {
			return nil, failed
		}
		h := handshake{c: c, r: r, f: f}
		if failed = p.shake(ctx, s, &h); failed == nil {
			p.opened(s)
			f.agreed(c)
			return c, nil
		}
		p.giveUp(ctx, s, c, r)
		if !free || !h.harmed || !failed.again || ctx.Err() != nil {
			failed.refusal = opening(failed.refusal)
			return nil, failed
		}
		if refusal := c.departed(ctx); refusal != nil {
			return nil, fail(refusal)
		}
		p.pardon(s)
	}
}

// shake opens a child in time, and remembers what harmed it.
func (p *Pool) shake(ctx context.Context, s *slot, h *handshake) *failure {
	ctx, cancel := context.WithTimeout(ctx, h.r.Spec.Startup)
	defer cancel()
	failed := h.open(ctx, p.unprobed(s))
	if h.harmed {
		p.harmed(s)
	}
	return failed
}

// begin starts a process in the slot, which has a place, and what reads from it.
func (p *Pool) begin(ctx context.Context, s *slot, r *Request, f *Facts) (*child, *failure) {
	proc, failed := p.run(&r.Spec)
	if failed != nil {
		p.mu.Lock()
		p.blame(s, r.Spec.Backoff)
		p.mu.Unlock()
		p.vacate(s, nil)
		return nil, failed
	}
	c := newChild(proc, r)
	c.client = p.client
	f.reached(c, p.seat(s, c))
	p.log.LogAttrs(ctx, slog.LevelInfo, "server process started", slog.String("server", c.server), slog.Int("pid", c.pid))
	pause := r.Spec.Backoff // and no more of r, which is the agent's, for as long as the child lives
	p.wg.Go(c.read)
	p.wg.Go(func() { p.transcribe(c) })
	p.wg.Go(func() { p.keep(s, c, pause) })
	return c, nil
}

// seat puts a child into its slot and says how that came to have one.
func (p *Pool) seat(s *slot, c *child) string {
	p.mu.Lock()
	defer p.mu.Unlock()
	how := SessionNew
	if s.had {
		how = SessionRenewed
	}
	s.child, s.had = c, true
	p.living[c] = true
	if s.closed { // in between
		c.halt()
	}
	return how
}

// drainTime is how long a child's output may still be read after its end: what
// it wrote is in the pipe already, unless a descendant that left its group
// holds the pipe open.
const drainTime = 250 * time.Millisecond

// keep stays with a child until nothing is left of it: however it ends, and
// whoever wants it to, it ends here. A child that ends unasked has failed, even
// while nobody used it, so that a server which dies at once is not started in a
// loop.
func (p *Pool) keep(s *slot, c *child, pause time.Duration) {
	asked := false
	select {
	case <-c.gone:
	case <-c.ended:
	case <-c.stop:
		asked = true
	}
	if !asked { // at once, before anybody starts the next one
		p.convict(s, c, pause)
	}
	c.finish()
	c.drain()
	p.bury(c)
	p.vacate(s, c)
	close(c.over)
}

// bury removes what a child leaves on the relay's side and logs its end.
func (p *Pool) bury(c *child) {
	p.mu.Lock()
	failed := c.failed
	p.mu.Unlock()
	_ = c.stdout.Close()
	_ = c.stderr.Close()
	who := []slog.Attr{slog.String("server", c.server), slog.Int("pid", c.pid)}
	if c.dir != nil && c.dir.remove() != nil { // the error names the relay's folders
		p.log.LogAttrs(context.Background(), slog.LevelWarn, "a server's folder could not be removed", who...)
	}
	p.log.LogAttrs(context.Background(), level(failed), "server process ended", append(who, slog.String("status", c.status))...)
}

// level is that of a record about a child.
func level(failed bool) slog.Level {
	if failed {
		return slog.LevelWarn
	}
	return slog.LevelInfo
}

// finish ends the process (MCP 2026-07-28, basic/transports/stdio, Shutdown):
// half of its time it has to end by itself after its stdin was closed, the
// other half after it was told to.
func (c *child) finish() {
	_ = c.stdin.Close()
	select {
	case <-c.gone: // nobody reads it any more, and a write to it must not hang
		_ = c.stdout.Close()
	default:
	}
	if c.ends(c.grace / 2) {
		return
	}
	c.signal(syscall.SIGTERM)
	if c.ends(c.grace / 2) {
		return
	}
	c.signal(syscall.SIGKILL)
	<-c.ended
}

// ends reports whether the process ended in time.
func (c *child) ends(limit time.Duration) bool {
	late := time.NewTimer(limit)
	defer late.Stop()
	select {
	case <-c.ended:
		return true
	case <-c.kill:
	case <-late.C:
	}
	return false
}

// drain ends the reading of a child that has ended.
func (c *child) drain() {
	_ = c.stderr.SetReadDeadline(time.Now().Add(drainTime))
	late := time.NewTimer(drainTime)
	defer late.Stop()
	select {
	case <-c.gone:
	case <-late.C:
		_ = c.stdout.SetReadDeadline(time.Unix(1, 0))
		<-c.gone
	}
	<-c.quiet
}
