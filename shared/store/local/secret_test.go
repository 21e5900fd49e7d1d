package local_test

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"
	"testing"

	"mcprelay/shared/secret"
)

// A version stands in the audit trail, where a digest of the value alone could
// be tried against guesses.
func TestVersionOfASecretIsKeyed(t *testing.T) {
	const value = "correct-horse-battery"
	t.Setenv("MCPRELAY_TEST_SECRET", value)
	source := secret.Source{Env: "MCPRELAY_TEST_SECRET"}
	versions := map[string]bool{}
	for range 2 {
		v, err := open(t, t.TempDir()).Secret(t.Context(), "acme", source)
		if err != nil {
			t.Fatal(err)
		}
		sum := sha256.Sum256([]byte(value))
		if digest := hex.EncodeToString(sum[:]); strings.Contains(digest, strings.TrimPrefix(v.Version(), "env-")) {
			t.Errorf("version %s is part of the value's digest", v.Version())
		}
		versions[v.Version()] = true
	}
	if len(versions) != 2 {
		t.Errorf("got versions %v, want another of each process", versions)
	}
}

func TestSecretManagerNameIsNoVariable(t *testing.T) {
	t.Setenv("MCPRELAY_TEST_SECRET", "value")
	_, err := open(t, t.TempDir()).Secret(t.Context(), "acme", secret.Source{Secret: "MCPRELAY_TEST_SECRET"})
	if err == nil {
		t.Error("a variable was read by the name of a managed secret")
	}
}
