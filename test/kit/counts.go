package kit

import (
	"context"
	"errors"
	"sync"
	"time"

	"mcprelay/shared/turn"
)

// Turns keep turns in memory.
type Turns struct {
	Fail bool

	mu   sync.Mutex
	kept map[turn.Key]turn.Turn
}

// Turn gives the present turn of a key.
func (s *Turns) Turn(_ context.Context, key turn.Key) (turn.Turn, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.Fail {
		return turn.Turn{}, errors.New("the store is down")
	}
	return s.kept[key], nil
}

// PutTurn keeps a turn over the one that it was derived from.
func (s *Turns) PutTurn(_ context.Context, key turn.Key, t turn.Turn) (turn.Turn, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.Fail:
		return turn.Turn{}, errors.New("the store is down")
	case s.kept[key].Ver != t.Ver:
		return turn.Turn{}, turn.ErrConflict
	case s.kept == nil:
		s.kept = map[turn.Key]turn.Turn{}
	}
	t.Ver++
	s.kept[key] = t
	return t, nil
}

// Counters count in memory.
type Counters struct {
	Fail bool

	mu     sync.Mutex
	counts map[string]int
}

// Add counts one more below max.
func (c *Counters) Add(_ context.Context, key string, max int, _ time.Time) (bool, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case c.Fail:
		return false, errors.New("the store is down")
	case c.counts[key] >= max:
		return false, nil
	case c.counts == nil:
		c.counts = map[string]int{}
	}
	c.counts[key]++
	return true, nil
}

// Sub takes one back.
func (c *Counters) Sub(_ context.Context, key string) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.counts[key] > 0 {
		c.counts[key]--
	}
	return nil
}

// Total is the sum of all counts.
func (c *Counters) Total() (n int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, count := range c.counts {
		n += count
	}
	return n
}
