package secret

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync"
	"time"

	"mcprelay/shared/call"
)

const (
	// TTL is how long a value is used without asking its source again, at most.
	TTL = 5 * time.Minute
	// Jitter is how much is taken off the TTL by chance, at most, so that the
	// processes of a fleet do not ask all at once.
	Jitter = 30 * time.Second

	// StaleFor is how old a value may grow while its source cannot be asked.
	// The source may say so for an hour; the upstream, which knows best
	// whether a value is still good, can say otherwise at every call.
	StaleFor = time.Hour

	// StalePause is the time between two attempts to reach a source that was
	// down, during which a stale value is used.
	StalePause = 10 * time.Second

	// RenewPause is how long a renewal that found nothing newer is believed,
	// so that a server that rejects everything does not drive the source.
	RenewPause = 5 * time.Second

	// ReadTime bounds one question to a source: a third of what a call has to
	// open its upstream.
	ReadTime = 3 * time.Second

	// MaxEntries bounds the cache. The oldest value makes room for a new one.
	MaxEntries = 1024
)

// Reader reads one secret of a tenant. An error that wraps [ErrNotFound] says
// that there is none; any other says that the source could not be asked.
type Reader func(ctx context.Context, tenant string, s Source) (Value, error)

// Key names a cached secret. Server is part of it so that a value is never
// handed from one server's entry to another's.
type Key struct {
	Tenant string
	Server string
	Ref    string
}

// slot is where a value is kept. The source is part of it: a reference that
// was given another source must not get the value of the old one.
type slot struct {
	key    Key
	source Source
}

type entry struct {
	value  Value
	read   time.Time // when the source was asked
	fresh  time.Time // until when it is not asked again
	barren time.Time // when a renewal last found nothing newer
}

// Cache keeps secrets for [TTL]. At most one question a secret is under way at
// any time; its asker waits for the answer, and so do all who want the same.
type Cache struct {
	read Reader
	now  func() time.Time

	mu      sync.Mutex
	entries map[slot]entry
	flights map[slot]*flight
}

// NewCache makes a cache over read.
func NewCache(read Reader, now func() time.Time) *Cache {
	return &Cache{read: read, now: now, entries: make(map[slot]entry), flights: make(map[slot]*flight)}
}

// Get gives the secret of k. It is at most [TTL] old, or [StaleFor] where its
// source cannot be asked. The refusal is secret_missing or secret_unavailable.
func (c *Cache) Get(ctx context.Context, k Key, s Source) (Value, *call.Refusal) {
	return c.get(ctx, slot{k, s}, func(e entry) bool { return c.now().Before(e.fresh) })
}

// Renew asks the source again, after an upstream rejected the cached value.
// The value it gives is the old one where the source has no newer, cannot be
// asked, or was asked to renew it within [RenewPause].
func (c *Cache) Renew(ctx context.Context, k Key, s Source) (Value, *call.Refusal) {
	return c.get(ctx, slot{k, s}, func(e entry) bool { return c.now().Before(e.barren.Add(RenewPause)) })
}

// get gives the kept value where good says so, joins a question under way, or
// asks. A joined question whose asker left before the answer is asked again.
func (c *Cache) get(ctx context.Context, at slot, good func(entry) bool) (Value, *call.Refusal) {
	for {
		c.mu.Lock()
		if e, ok := c.entries[at]; ok && good(e) {
			c.mu.Unlock()
			return e.value, nil
		}
		f, joined := c.flights[at]
		if !joined {
			f = newFlight(at)
			c.flights[at] = f
		}
		c.mu.Unlock()
		if !joined {
			c.ask(ctx, at, f)
			return f.value, f.refusal
		}
		select {
		case <-f.done:
		case <-ctx.Done():
			return Value{}, unavailable(at, ctx.Err())
		}
		if !f.abandoned {
			return f.value, f.refusal
		}
	}
}

// ask puts the question and lands the flight, whatever the reader does.
func (c *Cache) ask(ctx context.Context, at slot, f *flight) {
	defer c.land(at, f)
	asked := c.now()
	bounded, cancel := context.WithTimeout(ctx, ReadTime)
	defer cancel()
	value, err := c.read(bounded, at.key.Tenant, at.source)
	f.abandoned = err != nil && ctx.Err() != nil
	if f.abandoned {
		f.refusal = unavailable(at, ctx.Err())
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	old, kept := c.entries[at]
	switch {
	case errors.Is(err, ErrNotFound), err == nil && value.Len() == 0:
		delete(c.entries, at)
		f.refusal = missing(at, err)
	case err == nil:
		f.value, f.refusal = value, nil
		c.keep(at, asked, value, old)
	case kept && asked.Before(old.read.Add(StaleFor)):
		f.value, f.refusal = old.value, nil
		old.fresh, old.barren = asked.Add(StalePause), asked
		c.entries[at] = old
	default:
		f.refusal = unavailable(at, err)
	}
}

// keep stores a value that was read. The lock is held.
func (c *Cache) keep(at slot, asked time.Time, value Value, old entry) {
	e := entry{value: value, read: asked, fresh: asked.Add(TTL - rand.N(Jitter))}
	if value.Same(old.value) {
		e.barren = asked
	}
	if _, ok := c.entries[at]; !ok && len(c.entries) >= MaxEntries {
		c.evict()
	}
	c.entries[at] = e
}

// evict drops the value that was read first. The lock is held.
func (c *Cache) evict() {
	var oldest slot
	var read time.Time
	for at, e := range c.entries {
		if read.IsZero() || e.read.Before(read) {
			oldest, read = at, e.read
		}
	}
	delete(c.entries, oldest)
}
