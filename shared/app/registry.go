package app

import (
	"context"
	"errors"
	"sync"
	"time"

	"golang.org/x/sync/singleflight"

	"mcprelay/shared/config"
	"mcprelay/shared/registry"
)

var errUnknownTenant = errors.New("app: no such tenant")

// RegistryAge is the longest a registration is used before it is read again,
// so a change or a revocation reaches a warm process within it.
const RegistryAge = 15 * time.Second

// ReadBudget bounds one read of a registration.
const ReadBudget = 3 * time.Second

// MaxTenants bounds the registrations kept in a process.
const MaxTenants = 256

// Documents gives a tenant's registration as it is stored.
type Documents interface {
	Documents(ctx context.Context, tenant string) ([]registry.Document, error)
}

// StoredRegistry is a relay.Registry over a store, kept at most [RegistryAge].
// A registration that cannot be read again is not used any longer: the relay
// fails closed.
type StoredRegistry struct {
	store   Documents
	options config.Options
	now     func() time.Time
	flight  singleflight.Group

	mu   sync.Mutex
	kept map[string]keptTenant
}

type keptTenant struct {
	tenant *registry.Tenant
	until  time.Time
}

// NewStoredRegistry makes a registry over a store.
func NewStoredRegistry(store Documents, o config.Options, now func() time.Time) *StoredRegistry {
	return &StoredRegistry{store: store, options: o, now: now, kept: map[string]keptTenant{}}
}

// Tenant gives the checked registration of a tenant. One read a tenant is in
// flight; the others wait for it.
func (s *StoredRegistry) Tenant(ctx context.Context, id string) (*registry.Tenant, error) {
	now := s.now()
	s.mu.Lock()
	kept, ok := s.kept[id]
	s.mu.Unlock()
	if ok && now.Before(kept.until) {
		return kept.tenant, nil
	}
	read := func() (any, error) { return s.read(ctx, id, now) }
	tenant, err, _ := s.flight.Do(id, read)
	if err != nil {
		return nil, err
	}
	return tenant.(*registry.Tenant), nil
}

func (s *StoredRegistry) read(ctx context.Context, id string, now time.Time) (*registry.Tenant, error) {
	// The read serves every caller that waits, so it outlives the first one.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), ReadBudget)
	defer cancel()
	documents, err := s.store.Documents(ctx, id)
	if err != nil {
		return nil, err
	}
	options := s.options
	s.mu.Lock()
	options.Before = s.kept[id].tenant
	s.mu.Unlock()
	tenant, err := config.Build(id, documents, options)
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.kept) >= MaxTenants {
		clear(s.kept)
	}
	s.kept[id] = keptTenant{tenant: tenant, until: now.Add(RegistryAge)}
	return tenant, nil
}

// FileRegistry is a relay.Registry of the one tenant that a config file describes.
type FileRegistry struct{ Registration *registry.Tenant }

// Tenant gives the file's tenant.
func (f FileRegistry) Tenant(_ context.Context, id string) (*registry.Tenant, error) {
	if id != f.Registration.ID {
		return nil, errUnknownTenant
	}
	return f.Registration, nil
}
