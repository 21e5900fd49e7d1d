package contract_test

import (
	"strings"
	"testing"

	"github.com/oklog/ulid/v2"

	"mcprelay/shared/secret"
)

func secretChecks() []check {
	return []check{
		{"a secret that is not there has its own error", secrets, missingSecret},
		{"a source without a name has the same error", nothing, namelessSecret},
		{"a secret is read byte for byte, with a version", secrets, foundSecret},
		{"a rotated secret is read anew, under another version", secrets, rotatedSecret},
		{"a version says nothing of the value", secrets, versionIsBlind},
	}
}

func newSource() (string, secret.Source) {
	name := "MCPRELAY_TEST_" + ulid.Make().String()
	return name, secret.Source{Env: name, Secret: name}
}

func missingSecret(t *testing.T, _ peer, s store) {
	_, source := newSource()
	_, err := s.Secret(t.Context(), newTenant(), source)
	wantErr(t, err, secret.ErrNotFound)
}

func namelessSecret(t *testing.T, _ peer, s store) {
	_, err := s.Secret(t.Context(), newTenant(), secret.Source{})
	wantErr(t, err, secret.ErrNotFound)
}

func readSecret(t *testing.T, s store, source secret.Source) secret.Value {
	t.Helper()
	value, err := s.Secret(t.Context(), newTenant(), source)
	must(t, err)
	return value
}

func foundSecret(t *testing.T, p peer, s store) {
	name, source := newSource()
	const text = " leading, trailing and\nZoë \n"
	p.put(t, name, text)
	value := readSecret(t, s, source)
	if !value.Same(secret.NewValue([]byte(text), value.Version())) {
		t.Errorf("got %d bytes, want the %d that were put", value.Len(), len(text))
	}
	if value.Version() == "" {
		t.Error("it has no version")
	}
	if again := readSecret(t, s, source); !again.Same(value) {
		t.Errorf("got version %s at once and %s later, want the same", value.Version(), again.Version())
	}
}

func rotatedSecret(t *testing.T, p peer, s store) {
	name, source := newSource()
	p.put(t, name, "the first value")
	first := readSecret(t, s, source)
	p.put(t, name, "the second value")
	second := readSecret(t, s, source)
	if !second.Same(secret.NewValue([]byte("the second value"), second.Version())) || second.Version() == first.Version() {
		t.Errorf("got version %s after %s and %d bytes, want the second value", second.Version(), first.Version(), second.Len())
	}
}

func versionIsBlind(t *testing.T, p peer, s store) {
	name, source := newSource()
	p.put(t, name, "correct-horse")
	if version := readSecret(t, s, source).Version(); strings.Contains(version, "horse") {
		t.Errorf("got version %q, want nothing of the value in it", version)
	}
}
