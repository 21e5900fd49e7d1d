package app_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"testing"
	"time"

	"mcprelay/shared/app"
	"mcprelay/shared/auth"
	"mcprelay/shared/config"
	"mcprelay/shared/registry"

	"github.com/google/go-cmp/cmp"
)

const login = "https://login.example.com"

// tenants is a store of several tenants, some of them unusable.
type tenants struct {
	docs map[string][]registry.Document
	of   []string // the tenants of every issuer
	err  error
}

func (t tenants) Documents(_ context.Context, id string) ([]registry.Document, error) {
	return t.docs[id], nil
}

func (t tenants) IssuerTenants(context.Context, string) ([]string, error) { return t.of, t.err }

func issuedBy(issuer, audience string) registry.Document {
	return registry.Document{Kind: registry.KindIssuer, Name: issuer, Rev: 1, Body: json.RawMessage(
		fmt.Sprintf(`{"issuer":%q,"jwks_uri":"https://login.example.com/keys","audience":%q,"kind":"user","subjects":{"a":"b"},"max_lifetime_s":60}`, issuer, audience))}
}

func stored(store tenants) app.Issuers {
	return app.StoredIssuers(store, app.NewStoredRegistry(store, config.Options{}, time.Now))
}

// of is the tenants and audiences of issuers.
func of(issuers []auth.Issuer) []string {
	var all []string
	for _, i := range issuers {
		all = append(all, i.Tenant+" "+i.Audience)
	}
	return all
}

func TestAnIssuerIsFoundInEveryTenantThatRegisteredIt(t *testing.T) {
	store := tenants{docs: map[string][]registry.Document{
		"acme": {issuedBy(login, "one"), issuedBy("https://other.example.com", "x")}, "umbra": {issuedBy(login, "two")},
		"stale": {issuedBy("https://other.example.com", "x")}, "broken": {issuedBy(login, "")},
	}}
	for name, c := range map[string]struct {
		of   []string
		want []string
		fail bool
	}{
		"nobody": {nil, nil, false}, "one": {[]string{"acme"}, []string{"acme one"}, false},
		"two": {[]string{"acme", "umbra"}, []string{"acme one", "umbra two"}, false}, "one that never did": {[]string{"stale"}, nil, false},
		"one unusable": {[]string{"broken"}, nil, true}, "one usable of two": {[]string{"broken", "umbra"}, nil, true},
	} {
		store.of = c.of
		got, err := stored(store)(t.Context(), login)
		if diff := cmp.Diff(c.want, of(got)); diff != "" || (err != nil) != c.fail {
			t.Errorf("%s: error %v (-want +got):\n%s", name, err, diff)
		}
	}
	store.err = errors.New("down")
	if _, err := stored(store)(t.Context(), login); err == nil {
		t.Error("a store that is down knows nobody")
	}
}

func TestAnIssuerIsGivenWithAllThatIsRegistered(t *testing.T) {
	c, err := config.Parse("f", fmt.Appendf(nil, `{"tenant":"acme","issuers":[%s]}`, issuedBy(login, "one").Body), config.Options{})
	if err != nil {
		t.Fatal(err)
	}
	got, err := app.FileIssuers(c.Tenant)(t.Context(), login)
	if err != nil || len(got) != 1 {
		t.Fatalf("got %v, %v, want one issuer", got, err)
	}
	i := got[0]
	if i.Tenant != "acme" || i.Issuer != login || i.JWKSURI.String() != "https://login.example.com/keys" || i.Kind != "user" || i.SubjectClaim != "sub" ||
		i.Subjects["a"] != "b" || len(i.Algorithms) != 2 || len(i.Scopes) != 1 || i.MaxLifetime != time.Minute {
		t.Errorf("got %+v", i)
	}
	if got, err := app.FileIssuers(c.Tenant)(t.Context(), login+"/"); err != nil || got != nil {
		t.Errorf("another spelling: got %v, %v", got, err)
	}
}
