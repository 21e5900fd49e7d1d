package relay

import (
	"context"
	"sync"
	"time"

	"mcprelay/shared/call"
)

// busyRetry is the wait in seconds that a refused caller is told: the shortest
// that Retry-After can say.
const busyRetry = 1

// gates bound the calls that are at a server at the same time, in this process
// (FEATURES max_in_flight). The zero gates is ready. A gate lives while somebody
// is at it, so there are never more than calls.
type gates struct {
	mu   sync.Mutex
	open map[gateKey]*gate
}

type gateKey struct{ tenant, server string }

// gate holds a place for each call at one server.
type gate struct {
	places chan struct{}
	users  int // who holds a place or waits for one
}

// enter takes a place at the server, and waits for one as long as the server
// may take to open. The returned function gives it back. An acquisition that a
// call waits for needs none: the call has its place.
func (r *Relay) enter(ctx context.Context, p plan) (func(), *call.Refusal) {
	if p.within {
		return func() {}, nil
	}
	key := gateKey{p.tenant.ID, p.server.Name}
	g := r.gates.join(key, p.server.Limits.MaxInFlight)
	leave := func() {
		<-g.places
		r.gates.part(key, g)
	}
	select {
	case g.places <- struct{}{}:
		return leave, nil
	default:
	}
	wait := time.NewTimer(p.server.Limits.StartupTimeout)
	defer wait.Stop()
	select {
	case g.places <- struct{}{}:
		return leave, nil
	case <-ctx.Done():
	case <-wait.C:
	}
	r.gates.part(key, g)
	if ctx.Err() == context.Canceled {
		return nil, &call.Refusal{Reason: call.Cancelled, Impact: call.ImpactNone, Err: ctx.Err()}
	}
	refusal := call.Refuse(call.TooManyInFlight, "%d calls are at the server", cap(g.places))
	refusal.RetryAfter = busyRetry
	return nil, refusal
}

// join gives the gate of a server. A changed bound holds once nobody is at the
// old gate any more.
func (s *gates) join(key gateKey, places int) *gate {
	s.mu.Lock()
	defer s.mu.Unlock()
	g, ok := s.open[key]
	if !ok {
		if s.open == nil {
			s.open = make(map[gateKey]*gate)
		}
		g = &gate{places: make(chan struct{}, max(places, 1))}
		s.open[key] = g
	}
	g.users++
	return g
}

func (s *gates) part(key gateKey, g *gate) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if g.users--; g.users == 0 {
		delete(s.open, key)
	}
}
