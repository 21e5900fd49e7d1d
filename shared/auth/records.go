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
	// take to be heard of.
	CacheTTL = 15 * time.Second

	// maxKept bounds the records that are kept, and apart from them the key
	// ids without a record: whoever invents key ids with valid checksums must
	// not push out the tokens in use.
	maxKept = 4096
)

// records keeps what the store said of key ids, for a short time.
type records struct {
	tokens Tokens
	now    func() time.Time

	mu      sync.Mutex
	known   map[string]kept
	unknown map[string]kept
}

type kept struct {
	record token.Record
	until  time.Time
}

func newRecords(tokens Tokens, now func() time.Time) *records {
	return &records{tokens: tokens, now: now, known: make(map[string]kept), unknown: make(map[string]kept)}
}

// find gives the record of a key id. Its error wraps [token.ErrUnknown], or is
// that of a store that could not be asked, which is not kept.
func (r *records) find(ctx context.Context, keyID string) (token.Record, error) {
	if r.tokens == nil {
		return token.Record{}, token.ErrUnknown
	}
	asked := r.now()
	r.mu.Lock()
	record, known := r.known[keyID]
	missing, unknown := r.unknown[keyID]
	r.mu.Unlock()
	if known && asked.Before(record.until) {
		return record.record, nil
	}
	if unknown && asked.Before(missing.until) {
		return token.Record{}, token.ErrUnknown
	}
	found, err := r.tokens.Token(ctx, keyID)
	if err != nil && !errors.Is(err, token.ErrUnknown) {
		return token.Record{}, err
	}
	r.keep(keyID, kept{found, asked.Add(CacheTTL)}, err == nil)
	return found, err
}

// keep remembers what the store said, from the moment it was asked.
func (r *records) keep(keyID string, k kept, known bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	to, from := r.known, r.unknown
	if !known {
		to, from = r.unknown, r.known
	}
	delete(from, keyID)
	if _, there := to[keyID]; !there && len(to) >= maxKept {
		shrink(to, r.now())
	}
	to[keyID] = k
}

// shrink drops what is no longer used and, where a quarter of the room is not
// free then, others at random: a flood pays for one sweep in a thousand.
func shrink(m map[string]kept, now time.Time) {
	for keyID, k := range m {
		if !now.Before(k.until) {
			delete(m, keyID)
		}
	}
	for keyID := range m {
		if len(m) <= maxKept/4*3 {
			return
		}
		delete(m, keyID)
	}
}
