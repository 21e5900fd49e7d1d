package egress

import (
	"net/netip"
	"time"

	"mcprelay/shared/endpoint"
)

// Unchecked makes a route past the first lock.
func Unchecked(u endpoint.URL, r Rules, addrs ...netip.AddrPort) Route {
	_, spelled := u.Loopback()
	return Route{endpoint: u, addrs: addrs, rules: r, networks: networksKey(r.Networks), spelled: spelled}
}

// Share is the division of the time to connect.
func Share(now, deadline time.Time, left int) time.Time { return share(now, deadline, left) }

// Idle counts the connections that the pool keeps.
func (g *Guard) Idle() int {
	g.pool.mu.Lock()
	defer g.pool.mu.Unlock()
	return g.pool.count
}

// AllSilent reports whether every idle connection would pass the peek.
func (g *Guard) AllSilent() bool {
	g.pool.mu.Lock()
	defer g.pool.mu.Unlock()
	for _, links := range g.pool.idle {
		for _, l := range links {
			if !l.silent() {
				return false
			}
		}
	}
	return true
}

// Sweep runs the pool's cleaning now.
func (g *Guard) Sweep() { g.pool.sweep() }

// Socket is the connection's file descriptor, for looking at its options.
func (c *Conn) Socket(look func(fd int)) error {
	return c.link.raw.Control(func(fd uintptr) { look(int(fd)) })
}

// The bounds that tests count up to.
const (
	PoolMax     = poolMax
	PoolEachMax = poolEachMax
	AnswersMax  = answersMax
)

// KeptAnswers counts the hosts whose answers are kept.
func (g *Guard) KeptAnswers() int {
	g.answers.mu.Lock()
	defer g.answers.mu.Unlock()
	return len(g.answers.kept)
}
