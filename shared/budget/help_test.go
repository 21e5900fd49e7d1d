package budget_test

import (
	"context"
	"errors"
	"sync"
	"time"
)

// memory counts in memory, and fails as a test says.
type memory struct {
	mu      sync.Mutex
	counts  map[string]int
	expires map[string]time.Time
	failAt  int // the Add that fails, counted from 1; 0 for none
	adds    int
	fail    error // of every Sub
}

func newMemory() *memory {
	return &memory{counts: map[string]int{}, expires: map[string]time.Time{}}
}

var errStore = errors.New("the store is down")

func (m *memory) Add(ctx context.Context, key string, most int, expires time.Time) (bool, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.adds++; m.adds == m.failAt {
		return false, errStore
	}
	if err := ctx.Err(); err != nil {
		return false, err
	}
	if m.counts[key] >= most {
		return false, nil
	}
	m.counts[key]++
	m.expires[key] = expires
	return true, nil
}

func (m *memory) Sub(ctx context.Context, key string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.fail != nil {
		return m.fail
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	m.counts[key]--
	return nil
}

// total is what is counted in all windows together.
func (m *memory) total() (n int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, count := range m.counts {
		n += count
	}
	return n
}
