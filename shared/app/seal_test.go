package app_test

import (
	"bytes"
	"testing"

	"mcprelay/shared/app"
	"mcprelay/shared/registry"
	"mcprelay/shared/seal"
	"mcprelay/shared/store/local"
)

// wire makes an app over a data folder of its own.
func wire(t *testing.T, keys ...[]byte) (*app.App, error) {
	t.Helper()
	store, err := local.Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	a, err := app.New(app.Options{Registry: app.FileRegistry{Registration: &registry.Tenant{ID: "acme"}}, Store: store, SealKeys: keys})
	t.Cleanup(func() {
		if a != nil {
			err = a.Close(t.Context())
		}
		if closed := store.Close(); closed != nil || a != nil && err != nil {
			t.Errorf("closing: %v, %v", err, closed)
		}
	})
	return a, err
}

func TestARelaySealsWhereItWasGivenAKey(t *testing.T) {
	whole := bytes.Repeat([]byte{1}, seal.KeySize)
	for _, test := range []struct {
		name  string
		keys  [][]byte
		seals bool
	}{{"no key", nil, false}, {"one", [][]byte{whole}, true}, {"two", [][]byte{whole, whole}, true}} {
		a, err := wire(t, test.keys...)
		if err != nil {
			t.Fatalf("%s: %v", test.name, err)
		}
		if got := a.Relay().Sealer != nil; got != test.seals {
			t.Errorf("%s: it has a sealer: %v, want %v", test.name, got, test.seals)
		}
		if a.Relay().Keys == nil {
			t.Errorf("%s: it keeps no idempotency keys", test.name)
		}
	}
}

func TestAKeyThatIsNoneMakesNoRelay(t *testing.T) {
	if a, err := wire(t, make([]byte, 16)); err == nil || a != nil {
		t.Errorf("got %v, want an error", err)
	}
}
