package app

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"mcprelay/shared/auth"
	"mcprelay/shared/endpoint"
	"mcprelay/shared/registry"
)

// Issuers gives what tenants registered about an issuer, see
// [auth.Options].
type Issuers func(ctx context.Context, issuer string) ([]auth.Issuer, error)

// IssuerTenants finds the tenants that may have registered an issuer.
type IssuerTenants interface {
	IssuerTenants(ctx context.Context, issuer string) ([]string, error)
}

// StoredIssuers finds issuers by the store's index of them, then by what the
// tenants say now: the index may name one that trusts it no longer. A tenant
// whose registration cannot be read is an error: whether a token is that
// tenant's cannot be told, so it is nobody else's.
func StoredIssuers(store IssuerTenants, tenants *StoredRegistry) Issuers {
	return func(ctx context.Context, issuer string) ([]auth.Issuer, error) {
		ids, err := store.IssuerTenants(ctx, issuer)
		if err != nil {
			return nil, err
		}
		var found []auth.Issuer
		for _, id := range ids {
			tenant, err := tenants.Tenant(ctx, id)
			if err != nil {
				return nil, fmt.Errorf("a tenant of the issuer: %w", err)
			}
			found = append(found, issuersOf(tenant, issuer)...)
		}
		return found, nil
	}
}

// FileIssuers finds the issuers of the one tenant that a config file describes.
func FileIssuers(tenant *registry.Tenant) Issuers {
	return func(_ context.Context, issuer string) ([]auth.Issuer, error) { return issuersOf(tenant, issuer), nil }
}

func issuersOf(tenant *registry.Tenant, issuer string) []auth.Issuer {
	var found []auth.Issuer
	for _, i := range tenant.Issuers {
		if i.Issuer != issuer {
			continue
		}
		found = append(found, auth.Issuer{
			Tenant: tenant.ID, Issuer: i.Issuer, JWKSURI: i.JWKSURI, Keys: i.Keys, Audience: i.Audience,
			Kind: i.Kind, SubjectClaim: i.SubjectClaim, Subjects: i.Subjects, Algorithms: i.Algorithms,
			Scopes: i.Scopes, MaxLifetime: i.MaxLifetime,
		})
	}
	return found
}

// IssuerNames are the issuers of a tenant, for clients that look for one.
func IssuerNames(tenant *registry.Tenant) []string {
	var names []string
	for _, i := range tenant.Issuers {
		if !slices.Contains(names, i.Issuer) {
			names = append(names, i.Issuer)
		}
	}
	return names
}

var errPublicURL = errors.New("the public URL is not one like https://relay.example.com, without a query")

// publicURL checks the URL that clients know the relay by, and gives it without
// a slash at its end, and its host; both empty for none.
func publicURL(s string) (base, host string, err error) {
	if s == "" {
		return "", "", nil
	}
	s = strings.TrimSuffix(s, "/")
	u, err := endpoint.Parse(s, endpoint.Options{Loopback: true, PrivateNames: true})
	if err != nil || strings.HasSuffix(s, "/") || strings.Contains(s, "?") {
		return "", "", errPublicURL
	}
	return u.String(), u.Authority(), nil
}
