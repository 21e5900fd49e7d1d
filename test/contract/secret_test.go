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
		{"a secret of another tenant's name is not there", tenantNames, foreignSecret},
	}
}

// newSource is a source of a tenant that nobody has put anything into.
func newSource(tenant string) secret.Source {
	name := "MCPRELAY_TEST_" + ulid.Make().String()
	return secret.Source{Env: name, Secret: secretPrefix + tenant + "/" + name}
}

func missingSecret(t *testing.T, _ peer, s store) {
	tenant := newTenant()
	_, err := s.Secret(t.Context(), tenant, newSource(tenant))
	wantErr(t, err, secret.ErrNotFound)
}

func namelessSecret(t *testing.T, _ peer, s store) {
	_, err := s.Secret(t.Context(), newTenant(), secret.Source{})
	wantErr(t, err, secret.ErrNotFound)
}

func readSecret(t *testing.T, s store, tenant string, source secret.Source) secret.Value {
	t.Helper()
	value, err := s.Secret(t.Context(), tenant, source)
	must(t, err)
	return value
}

func foundSecret(t *testing.T, p peer, s store) {
	tenant := newTenant()
	source := newSource(tenant)
	const text = " leading, trailing and\nZoë \n"
	p.put(t, source, text)
	value := readSecret(t, s, tenant, source)
	if !value.Same(secret.NewValue([]byte(text), value.Version())) {
		t.Errorf("got %d bytes, want the %d that were put", value.Len(), len(text))
	}
	if value.Version() == "" {
		t.Error("it has no version")
	}
	if again := readSecret(t, s, tenant, source); !again.Same(value) {
		t.Errorf("got version %s at once and %s later, want the same", value.Version(), again.Version())
	}
}

func rotatedSecret(t *testing.T, p peer, s store) {
	tenant := newTenant()
	source := newSource(tenant)
	p.put(t, source, "the first value")
	first := readSecret(t, s, tenant, source)
	p.put(t, source, "the second value")
	second := readSecret(t, s, tenant, source)
	if !second.Same(secret.NewValue([]byte("the second value"), second.Version())) || second.Version() == first.Version() {
		t.Errorf("got version %s after %s and %d bytes, want the second value", second.Version(), first.Version(), second.Len())
	}
}

func versionIsBlind(t *testing.T, p peer, s store) {
	tenant := newTenant()
	source := newSource(tenant)
	p.put(t, source, "correct-horse")
	if version := readSecret(t, s, tenant, source).Version(); strings.Contains(version, "horse") {
		t.Errorf("got version %q, want nothing of the value in it", version)
	}
}

func foreignSecret(t *testing.T, p peer, s store) {
	owner := newTenant()
	source := newSource(owner)
	p.put(t, source, "the owner's value")
	if readSecret(t, s, owner, source).Len() == 0 {
		t.Error("the owner cannot read it")
	}
	for _, tenant := range []string{newTenant(), owner[:len(owner)-1], owner + "/MCPRELAY", ""} {
		value, err := s.Secret(t.Context(), tenant, source)
		wantErr(t, err, secret.ErrForeign)
		wantErr(t, err, secret.ErrNotFound)
		if value.Len() != 0 {
			t.Errorf("tenant %q got %d bytes of the owner's", tenant, value.Len())
		}
	}
}
