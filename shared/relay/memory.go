package relay

import (
	"slices"
	"sync"

	"mcprelay/shared/audit"
	"mcprelay/shared/call"
	"mcprelay/shared/redact"
	"mcprelay/shared/registry"
	"mcprelay/shared/secret"
	"mcprelay/shared/session"
)

// Bounds of what is remembered: of tenants, and of each kind for a tenant.
const (
	maxRemembered = 256
	maxOfTenant   = 1024
)

// memory keeps what follows from a registration alone, so that a call does not
// work it out again: which calls are allowed, the keys of sessions, and how a
// credential is bound. It belongs to one snapshot of a tenant's registration
// and is forgotten with it. The zero memory is ready.
type memory struct {
	mu      sync.Mutex
	tenants map[string]*remembered
}

type remembered struct {
	tenant *registry.Tenant
	plans  map[planKey]plan
	keys   map[sessionOf]session.Key
	bound  map[*registry.Server]bound
}

type planKey struct {
	operation    call.Operation
	server, tool string // as the call names them
	agent        string // whom the registration narrows, empty for anybody else
}

// planKeyOf is the same for callers whom the registration does not tell apart.
func planKeyOf(tenant *registry.Tenant, c call.Call) planKey {
	key := planKey{operation: c.Operation, server: c.Server, tool: c.Tool}
	if _, narrowed := tenant.Narrowed(c.Principal.Subject, c.Principal.Issuer); narrowed {
		key.agent = c.Principal.Subject
	}
	return key
}

type sessionOf struct {
	server               *registry.Server
	domain, subject, run string
}

// bound is a credential, and the versions of the secrets that it was made of.
type bound struct {
	credential credential
	masked     []secret.Value
	masker     *redact.Masker // of masked
	uses       []audit.SecretUse
}

// of gives what is remembered of a snapshot. The caller holds the lock.
func (m *memory) of(tenant *registry.Tenant) *remembered {
	if r, ok := m.tenants[tenant.ID]; ok && r.tenant == tenant {
		return r
	}
	if m.tenants == nil || len(m.tenants) >= maxRemembered {
		m.tenants = make(map[string]*remembered)
	}
	r := &remembered{tenant: tenant, plans: map[planKey]plan{}, keys: map[sessionOf]session.Key{}, bound: map[*registry.Server]bound{}}
	m.tenants[tenant.ID] = r
	return r
}

// plan gives the plan of a call that was allowed before.
func (m *memory) plan(tenant *registry.Tenant, c call.Call) (plan, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	p, ok := m.of(tenant).plans[planKeyOf(tenant, c)]
	return p, ok
}

// allow remembers the plan of a call that was allowed.
func (m *memory) allow(p plan) {
	key := planKeyOf(p.tenant, p.call)
	p.errand = errand{}
	m.mu.Lock()
	defer m.mu.Unlock()
	put(m.of(p.tenant).plans, key, p)
}

// session is the key of the caller's session at the server.
func (m *memory) session(p plan) session.Key {
	of := sessionOf{p.server, p.call.Principal.Domain(), p.call.Principal.Subject, p.call.Run}
	m.mu.Lock()
	defer m.mu.Unlock()
	keys := m.of(p.tenant).keys
	key, ok := keys[of]
	if !ok {
		key = sessionKey(p)
		put(keys, of, key)
	}
	return key
}

// credential gives the server's credential where it was bound to the same
// versions before.
func (m *memory) credential(p plan, uses []secret.Use) (bound, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	b, ok := m.of(p.tenant).bound[p.server]
	return b, ok && slices.Equal(b.credential.uses, uses)
}

func (m *memory) bind(p plan, b bound) {
	m.mu.Lock()
	defer m.mu.Unlock()
	put(m.of(p.tenant).bound, p.server, b)
}

// put keeps a value within the bound: what is over it starts anew.
func put[K comparable, V any](kept map[K]V, key K, value V) {
	if len(kept) >= maxOfTenant {
		clear(kept)
	}
	kept[key] = value
}
