package call_test

import (
	"testing"

	"mcprelay/shared/call"
)

func TestADomainIsOfOneKindAndOneIssuer(t *testing.T) {
	seen := map[string]call.Principal{}
	for _, issuer := range []string{"", "https://a.example.com", "https://b.example.com"} {
		for _, kind := range []call.Kind{call.KindUser, call.KindServiceToken, call.KindTrustedIssuer} {
			p := call.Principal{Tenant: "acme", Subject: "ci", Kind: kind, Issuer: issuer}
			if other, taken := seen[p.Domain()]; taken {
				t.Errorf("%+v and %+v have the domain %q", p, other, p.Domain())
			}
			seen[p.Domain()] = p
			if k, i := call.SplitDomain(p.Domain()); k != kind || i != issuer {
				t.Errorf("%q is split into %q and %q", p.Domain(), k, i)
			}
		}
	}
}
