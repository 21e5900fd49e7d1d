package egress

import (
	"context"
	"net/netip"
	"sync"
	"time"
)

// The bounds of looking up.
const (
	dnsMax     = 2 * time.Second  // a lookup's share of the time to open
	answersAge = 30 * time.Second // how long an answer is kept, by wall clock
	answersMax = 1024             // hosts kept
)

// answers looks hosts up, one lookup in flight a host, and keeps what it found.
type answers struct {
	lookup Lookup
	wall   func() time.Time

	mu      sync.Mutex
	kept    map[string]answer
	flights map[string]*flight
}

type answer struct {
	addrs []netip.Addr
	at    time.Time
}

// flight is a lookup that others may wait for. Its fields are set before done
// is closed.
type flight struct {
	done  chan struct{}
	addrs []netip.Addr
	err   error
	gone  bool // it failed because its own caller went away
}

func newAnswers(lookup Lookup, wall func() time.Time) *answers {
	return &answers{lookup: lookup, wall: wall, kept: map[string]answer{}, flights: map[string]*flight{}}
}

// of gives the addresses of host, kept or looked up within dnsMax.
func (s *answers) of(ctx context.Context, host string) ([]netip.Addr, error) {
	if addrs, ok := s.recall(host); ok {
		return addrs, nil
	}
	within, cancel := context.WithTimeout(ctx, dnsMax)
	defer cancel()
	for {
		f, leads := s.join(host)
		if leads {
			f.addrs, f.err = s.lookup(within, host)
			f.gone = f.err != nil && ctx.Err() != nil
			s.land(host, f)
			return f.addrs, f.err
		}
		select {
		case <-f.done:
		case <-within.Done():
			return nil, within.Err()
		}
		if !f.gone {
			return f.addrs, f.err
		}
	}
}

// recall gives what is kept of host.
func (s *answers) recall(host string) ([]netip.Addr, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	a, ok := s.kept[host]
	return a.addrs, ok && young(s.wall(), a.at, answersAge)
}

// join gives the flight for host, a new one for its caller to lead or the one
// under way. An answer kept meanwhile is a flight that has landed.
func (s *answers) join(host string) (f *flight, leads bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if a, ok := s.kept[host]; ok && young(s.wall(), a.at, answersAge) {
		f = &flight{done: make(chan struct{}), addrs: a.addrs}
		close(f.done)
		return f, false
	}
	if f, ok := s.flights[host]; ok {
		return f, false
	}
	f = &flight{done: make(chan struct{})}
	s.flights[host] = f
	return f, true
}

// land ends a flight and keeps a good answer.
func (s *answers) land(host string, f *flight) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.flights, host)
	if f.err == nil {
		s.makeRoom()
		s.kept[host] = answer{f.addrs, s.wall()}
	}
	close(f.done)
}

// forget drops an answer that was refused, so that a corrected one is seen at once.
func (s *answers) forget(host string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.kept, host)
}

// makeRoom drops old answers when there are too many, and all of them when
// all are young.
func (s *answers) makeRoom() {
	if len(s.kept) < answersMax {
		return
	}
	now := s.wall()
	for host, a := range s.kept {
		if !young(now, a.at, answersAge) {
			delete(s.kept, host)
		}
	}
	if len(s.kept) >= answersMax {
		clear(s.kept)
	}
}

// young reports whether less than limit passed since then. A clock that was
// set back makes everything old.
func young(now, since time.Time, limit time.Duration) bool {
	age := now.Sub(since)
	return age >= 0 && age < limit
}
