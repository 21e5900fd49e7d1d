package local_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"mcprelay/shared/call"
	"mcprelay/shared/store/local"
	"mcprelay/shared/token"
)

func TestTokensAreListedByTenantSubjectAndTime(t *testing.T) {
	store, err := local.Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	made := time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)
	of := func(keyID, tenant, subject string, at time.Time) token.Record {
		return token.Record{KeyID: keyID, Hash: token.Hash(keyID), Pepper: "abcd", Tenant: tenant, Subject: subject, Kind: call.KindUser, Created: at}
	}
	first, second, third, other := of("zzzzzzz1", "acme", "ann", made), of("aaaaaaa1", "acme", "ann", made.Add(time.Second)), of("aaaaaaa2", "acme", "bob", made), of("aaaaaaa3", "umbra", "ann", made)
	third.RevokedAt = made
	for _, r := range []token.Record{third, other, second, first} {
		if err := store.PutToken(t.Context(), r); err != nil {
			t.Fatal(err)
		}
	}
	for tenant, want := range map[string][]token.Record{"acme": {first, second, third}, "umbra": {other}, "": nil, "nobody": nil} {
		got, err := store.Tokens(t.Context(), tenant)
		if diff := cmp.Diff(want, got); diff != "" || err != nil {
			t.Errorf("%s: %v (-want +got):\n%s", tenant, err, diff)
		}
	}
}
