package contract_test

import (
	"context"
	"encoding/json"
	"errors"
	"testing"
	"time"

	"mcprelay/shared/catalog"
	"mcprelay/shared/registry"
	"mcprelay/shared/secret"
	"mcprelay/shared/session"
)

func failureChecks() []check {
	return []check{
		{"an ended context is an error of every method", nothing, endedContext},
		{"a write does not outlive its deadline where the store hangs", nothing, writeDeadline},
		{"a store that is down is an error and not a wait", nothing, storeDown},
	}
}

// methods calls every method that may wait.
func methods(s store) map[string]func(context.Context) error {
	r := intent(newTenant(), now())
	return map[string]func(context.Context) error{
		"Intent": func(ctx context.Context) error { return s.Intent(ctx, r) },
		"Final":  func(ctx context.Context) error { return s.Final(ctx, final(r)) },
		"Audit":  func(ctx context.Context) error { _, _, err := s.Audit(ctx, lately(r.Tenant)); return err },
		"Load":   func(ctx context.Context) error { _, err := s.Load(ctx, newKey()); return err },
		"Save":   func(ctx context.Context) error { _, err := s.Save(ctx, newKey(), opened()); return err },
		"Token":  func(ctx context.Context) error { _, err := s.Token(ctx, "Nobody00"); return err },
		"Documents": func(ctx context.Context) error {
			_, err := s.Documents(ctx, r.Tenant)
			return err
		},
		"PutDocument": func(ctx context.Context) error {
			_, err := s.PutDocument(ctx, r.Tenant, registry.Document{Kind: registry.KindRules, Body: json.RawMessage(`[]`)})
			return err
		},
		"SessionsOfRun": func(ctx context.Context) error {
			_, err := s.SessionsOfRun(ctx, session.RunKey(r.Tenant, "user", "ci", "run-1"))
			return err
		},
		"SessionsExpired": func(ctx context.Context) error {
			_, err := s.SessionsExpired(ctx, now(), 10)
			return err
		},
		"Catalog":  func(ctx context.Context) error { _, err := s.Catalog(ctx, r.Tenant, "docs"); return err },
		"BeginKey": func(ctx context.Context) error { _, _, err := s.BeginKey(ctx, freshKey(), begun()); return err },
		"EndKey":   func(ctx context.Context) error { return s.EndKey(ctx, freshKey(), doneWith(begun(), "x")) },
		"Turn":     func(ctx context.Context) error { _, err := s.Turn(ctx, freshTurn().Key()); return err },
		"PutTurn": func(ctx context.Context) error {
			_, err := s.PutTurn(ctx, freshTurn().Key(), freshTurn())
			return err
		},
		"Add": func(ctx context.Context) error { _, err := s.Add(ctx, freshCounter(), 1, soon()); return err },
		"Sub": func(ctx context.Context) error { return s.Sub(ctx, freshCounter()) },
		"PutCatalog": func(ctx context.Context) error {
			_, err := s.PutCatalog(ctx, r.Tenant, "docs", catalog.Catalog{Tools: tools(2, "x")})
			return err
		},
	}
}

func endedContext(t *testing.T, p peer, s store) {
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	for name, call := range methods(s) {
		if err := call(ended); !errors.Is(err, context.Canceled) {
			t.Errorf("%s: got %v, want %v", name, err, context.Canceled)
		}
	}
	if p.has(secrets) && p.name != "sqlite" { // the environment does not wait
		_, err := s.Secret(ended, "t", secret.Source{Secret: secretPrefix + "t/x"})
		wantErr(t, err, context.Canceled)
	}
}

// writes are the methods for which a locked SQLite file hangs; it can be read.
func writes(s store) map[string]func(context.Context) error {
	all := methods(s)
	return map[string]func(context.Context) error{
		"Intent": all["Intent"], "Final": all["Final"], "Save": all["Save"], "PutDocument": all["PutDocument"],
		"PutCatalog": all["PutCatalog"], "BeginKey": all["BeginKey"], "EndKey": all["EndKey"],
		"PutTurn": all["PutTurn"], "Add": all["Add"], "Sub": all["Sub"],
	}
}

func writeDeadline(t *testing.T, p peer, _ store) {
	hanging := p.hang(t)
	for name, call := range writes(hanging) {
		ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
		began := time.Now()
		err := call(ctx)
		cancel()
		if !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("%s: got %v, want %v", name, err, context.DeadlineExceeded)
		}
		// Generous: the machine may be busy. Without a deadline it takes 2 s.
		if took := time.Since(began); took > 1500*time.Millisecond {
			t.Errorf("%s: took %v of 100 ms", name, took)
		}
	}
}

func storeDown(t *testing.T, p peer, _ store) {
	hanging := p.hang(t)
	// The relay gives a record 3 s; what is meant is that it is not a minute.
	const limit = 8 * time.Second
	type end struct {
		name string
		err  error
		took time.Duration
	}
	ends := make(chan end)
	calls := writes(hanging)
	for name, call := range calls {
		go func() {
			began := time.Now()
			err := call(context.Background())
			ends <- end{name, err, time.Since(began)}
		}()
	}
	for range calls {
		if e := <-ends; e.err == nil || e.took > limit {
			t.Errorf("%s: got %v after %v, want an error within %v", e.name, e.err, e.took, limit)
		}
	}
}
