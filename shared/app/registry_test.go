package app_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"mcprelay/shared/app"
	"mcprelay/shared/config"
	"mcprelay/shared/registry"
)

// documents is a store whose tenant the test changes.
type documents struct {
	reads atomic.Int64
	mu    sync.Mutex
	docs  []registry.Document
	err   error
	delay time.Duration
}

func (d *documents) Documents(ctx context.Context, _ string) ([]registry.Document, error) {
	d.reads.Add(1)
	if d.delay > 0 {
		select {
		case <-time.After(d.delay):
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.docs, d.err
}

func (d *documents) set(docs []registry.Document, err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.docs, d.err = docs, err
}

func serverNamed(name string) []registry.Document {
	return []registry.Document{
		{Kind: registry.KindTenant, Body: json.RawMessage(`{}`), Rev: 1},
		{Kind: registry.KindServer, Name: name, Rev: 1, Body: json.RawMessage(`{"name":"` + name + `","config":{"endpoint":"https://mcp.example.com/mcp","auth":{"type":"none"}}}`)},
	}
}

func TestARegistrationIsReadAgainAfterItsAge(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &documents{docs: serverNamed("one")}
		r := app.NewStoredRegistry(store, config.Options{}, time.Now)
		for range 3 {
			if tenant, err := r.Tenant(t.Context(), "acme"); err != nil || tenant.Servers["one"] == nil {
				t.Fatalf("got %v, %v", tenant, err)
			}
		}
		if got := store.reads.Load(); got != 1 {
			t.Errorf("%d reads within the age, want 1", got)
		}
		store.set(serverNamed("two"), nil)
		time.Sleep(app.RegistryAge)
		if tenant, err := r.Tenant(t.Context(), "acme"); err != nil || tenant.Servers["two"] == nil || tenant.Servers["one"] != nil {
			t.Errorf("after %v got %v, %v, want the new registration", app.RegistryAge, tenant, err)
		}
	})
}

func TestARegistrationThatCannotBeReadAgainIsNotUsed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &documents{docs: serverNamed("one")}
		r := app.NewStoredRegistry(store, config.Options{}, time.Now)
		if _, err := r.Tenant(t.Context(), "acme"); err != nil {
			t.Fatal(err)
		}
		store.set(nil, errors.New("the store is down"))
		time.Sleep(app.RegistryAge)
		if tenant, err := r.Tenant(t.Context(), "acme"); err == nil {
			t.Errorf("got %v, want an error", tenant)
		}
		store.set([]registry.Document{{Kind: "nonsense"}}, nil)
		if tenant, err := r.Tenant(t.Context(), "acme"); err == nil {
			t.Errorf("an invalid registration gave %v, want an error", tenant)
		}
	})
}

func TestOneReadServesAllWhoWaitAndOutlivesTheFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &documents{docs: serverNamed("one"), delay: time.Second}
		r := app.NewStoredRegistry(store, config.Options{}, time.Now)
		first, cancel := context.WithCancel(t.Context())
		var wg sync.WaitGroup
		for i := range 8 {
			ctx := t.Context()
			if i == 0 {
				ctx = first
			}
			wg.Go(func() {
				if tenant, err := r.Tenant(ctx, "acme"); err != nil || tenant.Servers["one"] == nil {
					t.Errorf("got %v, %v", tenant, err)
				}
			})
			synctest.Wait()
		}
		cancel()
		wg.Wait()
		if got := store.reads.Load(); got != 1 {
			t.Errorf("%d reads, want 1", got)
		}
	})
}

func TestAStoreThatHangsIsGivenUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := app.NewStoredRegistry(&documents{delay: time.Hour}, config.Options{}, time.Now)
		begun := time.Now()
		if _, err := r.Tenant(t.Context(), "acme"); !errors.Is(err, context.DeadlineExceeded) || time.Since(begun) != app.ReadBudget {
			t.Errorf("got %v after %v, want the deadline after %v", err, time.Since(begun), app.ReadBudget)
		}
	})
}

func TestAFileHasOneTenant(t *testing.T) {
	r := app.FileRegistry{Registration: &registry.Tenant{ID: "acme"}}
	if tenant, err := r.Tenant(t.Context(), "acme"); err != nil || tenant.ID != "acme" {
		t.Errorf("got %v, %v", tenant, err)
	}
	if _, err := r.Tenant(t.Context(), "other"); err == nil {
		t.Error("another tenant was found")
	}
}

func TestCallIDsSortByTimeAndDiffer(t *testing.T) {
	at := time.Date(2026, 11, 30, 0, 0, 0, 0, time.UTC)
	seen := map[string]bool{}
	for range 1000 {
		id := app.NewID(at)
		if len(id) != 26 || seen[id] {
			t.Fatalf("id %q is malformed or repeated", id)
		}
		seen[id] = true
		if later := app.NewID(at.Add(time.Millisecond)); later <= id {
			t.Fatalf("%s does not sort after %s", later, id)
		}
	}
}

func TestAnAppWithoutItsStoresIsNotMade(t *testing.T) {
	if _, err := app.New(app.Options{}); err == nil {
		t.Error("an app was made without stores")
	}
}

// Policies that did not change are not compiled again at every reading.
func TestPoliciesAreCompiledOnceForARevision(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		policy := func(word string) []registry.Document {
			body := fmt.Sprintf(`{"name":"p","source":"package mcprelay.policy\n\ndeny contains \"%s\" if true\n"}`, word)
			return append(serverNamed("one"), registry.Document{Kind: registry.KindPolicy, Name: "p", Rev: 1, Body: json.RawMessage(body)})
		}
		store := &documents{docs: policy("no")}
		r := app.NewStoredRegistry(store, config.Options{}, time.Now)
		read := func() *registry.Tenant {
			t.Helper()
			tenant, err := r.Tenant(t.Context(), "acme")
			if err != nil || tenant.Engine == nil {
				t.Fatalf("got %v, %v, want an engine", tenant, err)
			}
			time.Sleep(app.RegistryAge)
			return tenant
		}
		first := read()
		if again := read(); again == first || again.Engine != first.Engine {
			t.Error("the same policies were compiled again, or nothing was read")
		}
		store.set(policy("never"), nil)
		if changed := read(); changed.Engine == first.Engine {
			t.Error("changed policies are the same engine")
		}
	})
}
