package auth

import (
	"context"
	"errors"
	"sync"
	"time"

	"mcprelay/shared/token"
)

const (
	// CacheTTL is the longest that a token's record, or the lack of one, is
	// used without asking the store again: the longest that a revocation can
	// take to be heard of. The same holds for an issuer's registration.
	CacheTTL = 15 * time.Second

	// maxKept bounds what is kept, and apart from it the keys that nothing is
	// registered under: whoever invents key ids with valid checksums must not
	// push out the tokens in use.
	maxKept = 4096

	// MaxUnknown bounds how many keys that were never seen before the store is
	// asked for in a second, those that it turned out to know not counted: a
	// checksum is no secret, so whoever invents tokens can make the relay ask.
	MaxUnknown = 256
)

// errFlood is the answer about a key that was never seen, where too many of
// those came to nothing within the second.
var errFlood = errors.New("too many unknown credentials within a second")

// lookup keeps what the store said of keys, for a short time.
type lookup[T any] struct {
	ask func(ctx context.Context, key string) (T, error)
	now func() time.Time

	mu      sync.Mutex
	known   map[string]kept[T]
	unknown map[string]kept[T]
	second  time.Time // the one that spent counts in
	spent   int
}

type kept[T any] struct {
	value T
	until time.Time
}

func newLookup[T any](ask func(context.Context, string) (T, error), now func() time.Time) *lookup[T] {
	return &lookup[T]{ask: ask, now: now, known: make(map[string]kept[T]), unknown: make(map[string]kept[T])}
}

// find gives what is registered under a key. Its error wraps
// [token.ErrUnknown], or says that the store could not be asked, which is not
// kept.
func (l *lookup[T]) find(ctx context.Context, key string) (T, error) {
	var none T
	if l.ask == nil {
		return none, token.ErrUnknown
	}
	asked := l.now()
	l.mu.Lock()
	seen, known := l.known[key]
	missing, unknown := l.unknown[key]
	switch {
	case known && asked.Before(seen.until):
		l.mu.Unlock()
		return seen.value, nil
	case unknown && asked.Before(missing.until):
		l.mu.Unlock()
		return none, token.ErrUnknown
	case !known && !l.spend(asked):
		l.mu.Unlock()
		return none, errFlood
	}
	l.mu.Unlock()
	found, err := l.ask(ctx, key)
	if err != nil && !errors.Is(err, token.ErrUnknown) {
		return none, err
	}
	l.keep(key, kept[T]{found, asked.Add(CacheTTL)}, err == nil)
	return found, err
}

// spend takes one of the second's questions about keys never seen; false
// where none is left.
func (l *lookup[T]) spend(now time.Time) bool {
	if second := now.Truncate(time.Second); !second.Equal(l.second) {
		l.second, l.spent = second, 0
	}
	if l.spent >= MaxUnknown {
		return false
	}
	l.spent++
	return true
}

// keep remembers what the store said, from the moment it was asked.
func (l *lookup[T]) keep(key string, k kept[T], known bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	to, from := l.known, l.unknown
	if !known {
		to, from = l.unknown, l.known
	}
	delete(from, key)
	_, there := to[key]
	if known && !there && l.spent > 0 {
		l.spent-- // it was nobody's invention
	}
	if !there && len(to) >= maxKept {
		shrink(to, l.now())
	}
	to[key] = k
}

// shrink drops what is no longer used and, where a quarter of the room is not
// free then, others at random: a flood pays for one sweep in a thousand.
func shrink[T any](m map[string]kept[T], now time.Time) {
	for key, k := range m {
		if !now.Before(k.until) {
			delete(m, key)
		}
	}
	for key := range m {
		if len(m) <= maxKept/4*3 {
			return
		}
		delete(m, key)
	}
}
