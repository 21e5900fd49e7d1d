package tenants_test

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"mcprelay/shared/audit"
	"mcprelay/shared/exchange"
	"mcprelay/shared/idempotency"
	"mcprelay/shared/registry"
	"mcprelay/shared/relay"
	"mcprelay/shared/secret"
	"mcprelay/test/kit"
)

// world is one relay with empty stores, and what it leaves behind.
type world struct {
	pool    *pool
	tenants map[string]*registry.Tenant
	config  relay.Config
	ids     int

	mu      sync.Mutex
	records []audit.Record
	reads   []string // tenants whose secrets were read
}

// world has no secrets unless it answers, so that a call which is allowed ends
// before anything is dialled.
func (p *pool) world(tenants map[string]*registry.Tenant, answers bool) *world {
	w := &world{pool: p, tenants: tenants}
	now := func() time.Time { return p.now }
	sessions := &kit.Sessions{}
	w.config = relay.Config{
		Registry: w, Secrets: secret.NewCache(w.reader(answers), now), Guard: p.guard,
		Exchange: exchange.New(exchange.Config{Guard: p.guard, Sessions: sessions, Now: now, Name: "test", Version: "1"}),
		Sessions: sessions, Open: sessions, Catalogs: w, Recorder: w, Keys: &keys{}, Turns: &kit.Turns{}, Counters: &spent{},
		NewID: w.id, Lines: audit.NewLog(nil, 0), Log: slog.New(slog.DiscardHandler), Now: now,
	}
	return w
}

func (w *world) relay() *relay.Relay { return relay.New(w.config) }

// Tenant gives a registration.
func (w *world) Tenant(_ context.Context, id string) (*registry.Tenant, error) {
	return w.tenants[id], nil
}

func (w *world) reader(answers bool) secret.Reader {
	return func(_ context.Context, tenant string, s secret.Source) (secret.Value, error) {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.reads = append(w.reads, tenant+" "+s.Env)
		if !answers {
			return secret.Value{}, secret.ErrNotFound
		}
		return secret.NewValue([]byte("token-of-"+tenant), tenant), nil
	}
}

func (w *world) id(time.Time) string {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.ids++
	return fmt.Sprintf("own-%d", w.ids)
}

// Intent keeps a record.
func (w *world) Intent(ctx context.Context, r audit.Record) error { return w.Final(ctx, r) }

// Final keeps a record.
func (w *world) Final(_ context.Context, r audit.Record) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.records = append(w.records, r)
	return nil
}

// spent counts and gives nothing back, so that budgets end soon.
type spent struct{ kit.Counters }

// Sub takes nothing back.
func (*spent) Sub(context.Context, string) error { return nil }

// keys remember calls in memory.
type keys struct {
	mu   sync.Mutex
	kept map[idempotency.Key]idempotency.Record
}

// BeginKey keeps a record where none is.
func (k *keys) BeginKey(_ context.Context, key idempotency.Key, r idempotency.Record) (idempotency.Record, bool, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if old, ok := k.kept[key]; ok {
		return old, false, nil
	}
	if k.kept == nil {
		k.kept = map[idempotency.Key]idempotency.Record{}
	}
	k.kept[key] = r
	return r, true, nil
}

// EndKey replaces a record, or forgets it.
func (k *keys) EndKey(_ context.Context, key idempotency.Key, r idempotency.Record) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	if r.State == "" {
		delete(k.kept, key)
		return nil
	}
	r.Reply = bytes.Clone(r.Reply)
	k.kept[key] = r
	return nil
}
