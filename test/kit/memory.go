package kit

import (
	"context"
	"errors"
	"sync"
	"time"

	"mcprelay/shared/catalog"
	"mcprelay/shared/session"
)

// Sessions keep states in memory where Keep is set; otherwise nothing, so that
// every call opens.
type Sessions struct {
	Keep bool
	Fail bool // of the lists of what has to be closed

	mu   sync.Mutex
	kept map[session.Key]session.State
}

// Load gives what is kept and has not expired.
func (s *Sessions) Load(_ context.Context, key session.Key) (session.State, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if state := s.kept[key]; state.Live(time.Now()) {
		return state, nil
	}
	return session.State{}, nil
}

// Save keeps a state over the one that it was derived from.
func (s *Sessions) Save(_ context.Context, key session.Key, state session.State) (session.State, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.Keep {
		state.Ver++
		return state, nil
	}
	if s.kept[key].Ver != state.Ver {
		return session.State{}, session.ErrConflict
	}
	if state.Ver++; s.kept == nil {
		s.kept = map[session.Key]session.State{}
	}
	s.kept[key] = state
	return state, nil
}

// SessionsOfRun gives the open sessions of a run.
func (s *Sessions) SessionsOfRun(_ context.Context, run session.Key) ([]session.Entry, error) {
	return s.open(func(state session.State) bool { return state.RunKey() == run })
}

// SessionsExpired gives the open sessions that expired.
func (s *Sessions) SessionsExpired(_ context.Context, before time.Time, limit int) ([]session.Entry, error) {
	entries, err := s.open(func(state session.State) bool { return !state.Expires.After(before) })
	return entries[:min(len(entries), limit)], err
}

func (s *Sessions) open(wanted func(session.State) bool) ([]session.Entry, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.Fail {
		return nil, errors.New("the store is down")
	}
	var entries []session.Entry
	for key, state := range s.kept {
		if state.SessionID != "" && wanted(state) {
			entries = append(entries, session.Entry{Key: key, State: state})
		}
	}
	return entries, nil
}

// Expire ends the time of every state an hour ago.
func (s *Sessions) Expire() { s.ExpireAt(time.Now().Add(-time.Hour)) }

// ExpireAt ends the time of every state.
func (s *Sessions) ExpireAt(at time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for key, state := range s.kept {
		state.Expires = at
		s.kept[key] = state
	}
}

// Catalogs keep what servers offer, in memory.
type Catalogs struct {
	mu   sync.Mutex
	kept map[string]catalog.Catalog
}

// Catalog gives what is kept.
func (c *Catalogs) Catalog(_ context.Context, tenant, server string) (catalog.Catalog, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.kept[tenant+"/"+server], nil
}

// PutCatalog replaces what has the same version.
func (c *Catalogs) PutCatalog(_ context.Context, tenant, server string, put catalog.Catalog) (catalog.Catalog, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.kept[tenant+"/"+server].Version != put.Version {
		return catalog.Catalog{}, catalog.ErrConflict
	}
	if put.Version++; c.kept == nil {
		c.kept = map[string]catalog.Catalog{}
	}
	c.kept[tenant+"/"+server] = put
	return put, nil
}
