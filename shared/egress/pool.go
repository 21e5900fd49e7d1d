package egress

import (
	"context"
	"net/netip"
	"sync"
	"time"
)

// The bounds of the pool. A Lambda process may open 1024 files.
const (
	poolMax     = 256 // connections
	poolEachMax = 64  // connections of one key
)

// key is what two uses of a connection must agree on.
type key struct {
	authority string // the endpoint's
	tls       bool
	addr      netip.AddrPort
	networks  string
	ipv6      bool
	identity  string // the digest of the rules' TLS
}

func (r Route) key(addr netip.AddrPort) key {
	return key{r.endpoint.Authority(), r.endpoint.TLS(), addr, r.networks, r.rules.IPv6, r.rules.identity()}
}

// pool keeps idle connections, the last one released on top.
type pool struct {
	wall            func() time.Time
	idleMax, ageMax time.Duration

	mu     sync.Mutex
	idle   map[key][]*link
	count  int
	sweeps *time.Timer // nil while the pool is empty
	closed bool
}

func newPool(wall func() time.Time, idleMax, ageMax time.Duration) *pool {
	return &pool{wall: wall, idleMax: idleMax, ageMax: ageMax, idle: map[key][]*link{}}
}

// Conn gives a connection to one of the route's addresses: a kept one that is
// young and silent, or a new one, TLS included. Its error is a *call.Refusal:
// connect, tls, cancelled, or the address reason of the second lock.
func (g *Guard) Conn(ctx context.Context, r Route) (*Conn, error) {
	if c := g.Kept(r); c != nil {
		return c, nil
	}
	return g.Fresh(ctx, r)
}

// Kept gives a kept connection that is young and silent, nil where there is
// none. It waits for nothing.
func (g *Guard) Kept(r Route) *Conn {
	for _, addr := range r.addrs {
		if l := g.pool.take(r.key(addr)); l != nil {
			return l.hand(g.pool, true)
		}
	}
	return nil
}

// take gives an idle link that may be used again, nil if there is none.
func (p *pool) take(k key) *link {
	for {
		l := p.pop(k)
		if l == nil || p.usable(l) && l.silent() {
			return l
		}
		l.close()
	}
}

// pop takes the link that was released last.
func (p *pool) pop(k key) *link {
	p.mu.Lock()
	defer p.mu.Unlock()
	links := p.idle[k]
	if len(links) == 0 {
		return nil
	}
	l := links[len(links)-1]
	links[len(links)-1] = nil
	p.idle[k] = links[:len(links)-1]
	p.count--
	return l
}

// usable reports whether a link is young enough.
func (p *pool) usable(l *link) bool {
	now := p.wall()
	return young(now, l.idle, p.idleMax) && young(now, l.born, p.ageMax)
}

// put keeps a link that was used to the end, or closes it.
func (p *pool) put(l *link) {
	l.idle = p.wall()
	if !young(l.idle, l.born, p.ageMax) || !l.drained() || !p.push(l) {
		l.close()
	}
}

// push keeps a link; false when there is no room.
func (p *pool) push(l *link) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed || p.count >= poolMax || len(p.idle[l.key]) >= poolEachMax {
		return false
	}
	p.idle[l.key] = append(p.idle[l.key], l)
	p.count++
	if p.sweeps == nil {
		p.sweeps = time.AfterFunc(p.idleMax, p.sweep)
	}
	return true
}

// sweep closes what grew old without being asked for, so that no server keeps
// a connection for nothing, and comes back while anything is left.
func (p *pool) sweep() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for k, links := range p.idle {
		kept := links[:0]
		for _, l := range links {
			if p.usable(l) {
				kept = append(kept, l)
				continue
			}
			l.close()
			p.count--
		}
		clear(links[len(kept):])
		p.idle[k] = kept
		if len(kept) == 0 {
			delete(p.idle, k)
		}
	}
	p.sweeps = nil
	if p.count > 0 && !p.closed {
		p.sweeps = time.AfterFunc(p.idleMax, p.sweep)
	}
}

// close closes every idle link and keeps none from now on.
func (p *pool) close() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.closed = true
	if p.sweeps != nil {
		p.sweeps.Stop()
	}
	for _, links := range p.idle {
		for _, l := range links {
			l.close()
		}
	}
	clear(p.idle)
	p.count = 0
}
