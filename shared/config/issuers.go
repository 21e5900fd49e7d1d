package config

import (
	"cmp"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"

	"mcprelay/shared/call"
	"mcprelay/shared/endpoint"
	"mcprelay/shared/registry"
)

const issuerKeys = "issuer jwks_uri keys audience kind subject_claim subjects algorithms scopes max_lifetime_s"

// readIssuers reads whose tokens callers may show, sorted by issuer.
func readIssuers(nodes []node, o Options) []registry.Issuer {
	if tooMany(nodes, registry.MaxIssuers, "issuers") {
		return nil
	}
	var issuers []registry.Issuer
	for _, n := range nodes {
		issuer := readIssuer(n, o)
		if slices.ContainsFunc(issuers, func(other registry.Issuer) bool { return other.Issuer == issuer.Issuer && issuer.Issuer != "" }) {
			object{n}.get("issuer").fail("another entry has this issuer")
		}
		issuers = append(issuers, issuer)
	}
	slices.SortFunc(issuers, func(a, b registry.Issuer) int { return cmp.Compare(a.Issuer, b.Issuer) })
	return issuers
}

func readIssuer(n node, options Options) registry.Issuer {
	o := n.object(issuerKeys)
	i := registry.Issuer{SubjectClaim: registry.DefaultClaim, MaxLifetime: registry.MaxLifetime}
	if !o.present() {
		return i
	}
	i.Issuer = o.get("issuer").name(func(s string) error { return issuerURL(s, options) })
	i.Audience = o.get("audience").name(plainWord(registry.MaxIssuerID))
	i.Kind = readKind(o.get("kind"))
	if claim := o.get("subject_claim"); claim.present() {
		i.SubjectClaim = claim.name(plainWord(registry.MaxClaim))
	}
	i.Subjects = readSubjects(o.get("subjects"))
	if i.Kind == call.KindServiceToken && i.Subjects == nil && !o.get("subjects").present() {
		o.get("kind").fail("its callers would pass for the relay's own tokens: name them in subjects, or choose another kind")
	}
	i.Algorithms = o.get("algorithms").texts(algorithm)
	if i.Algorithms == nil {
		i.Algorithms = registry.DefaultAlgorithms()
	}
	i.Scopes = readCeiling(o.get("scopes"))
	if seconds := o.get("max_lifetime_s").within(int64(registry.MaxLifetime / time.Second)); seconds > 0 {
		i.MaxLifetime = time.Duration(seconds) * time.Second
	}
	readKeySource(o, &i, options)
	return i
}

// readKeySource reads where the keys of an issuer are: at a place of its own, or
// in the registration.
func readKeySource(o object, i *registry.Issuer, options Options) {
	uri, keys := o.get("jwks_uri"), o.get("keys")
	switch {
	case keys.present() && uri.present():
		keys.fail("it cannot stand beside jwks_uri: keys that are given here are never fetched")
	case keys.present():
		i.Keys = readKeys(keys)
	case uri.present():
		i.JWKSURI = uri.endpoint(endpoint.Options{Loopback: options.Loopback})
	default:
		uri.fail("it is missing: jwks_uri or keys is needed")
	}
}

// issuerURL wants an issuer as RFC 8414 section 2 has it, in the one spelling
// that tokens are compared with.
func issuerURL(s string, o Options) error {
	u, err := url.Parse(s)
	switch {
	case len(s) > registry.MaxIssuerID:
		return fmt.Errorf("it is longer than %d bytes", registry.MaxIssuerID)
	case err != nil || u.Host == "" || u.Opaque != "":
		return errors.New("it is not a URL such as https://login.example.com")
	case u.User != nil || u.RawQuery != "" || u.ForceQuery || strings.Contains(s, "#"):
		return errors.New("it has a user, a query or a fragment, which an issuer has not")
	case strings.ContainsFunc(s, func(r rune) bool { return r <= ' ' || r > '~' }):
		return errors.New("it holds something else than printable ASCII")
	case !strings.HasPrefix(s, "https://") && !(o.Loopback && loopback(s)):
		return errors.New("it does not start with https:// in lower case")
	}
	return nil
}

// loopback reports whether s is spelled as plain HTTP to this machine.
func loopback(s string) bool {
	u, err := endpoint.Parse(strings.TrimSuffix(s, "/")+"/", endpoint.Options{Loopback: true})
	if err != nil {
		return false
	}
	_, local := u.Loopback()
	return local
}

// plainWord wants printable text without blanks.
func plainWord(longest int) func(string) error {
	return func(s string) error {
		switch {
		case s == "":
			return errors.New("it is missing or empty")
		case len(s) > longest:
			return fmt.Errorf("it is longer than %d bytes", longest)
		case strings.ContainsFunc(s, func(r rune) bool { return r <= ' ' || r > '~' }):
			return errors.New("it holds a blank, or something else than printable ASCII")
		}
		return nil
	}
}

func algorithm(s string) error {
	if all := registry.IssuerAlgorithms(); !slices.Contains(all, s) {
		return fmt.Errorf("it is not one of %s", strings.Join(all, ", "))
	}
	return nil
}

// readSubjects reads who the subjects of an issuer's tokens are here; nil where
// n is not there. An empty map is nobody.
func readSubjects(n node) map[string]string {
	members := n.entries()
	if n.kind != '{' {
		return nil
	}
	if len(members) > registry.MaxSubjects {
		n.fail("it has more than %d subjects", registry.MaxSubjects)
		return nil
	}
	subjects := make(map[string]string, len(members))
	for _, m := range members {
		if err := registry.Subject(m.name); err != nil {
			m.value.fail("the subject of a token: %v", err)
		}
		subjects[m.name] = m.value.name(registry.Subject)
	}
	return subjects
}

// readCeiling reads the most that an issuer's callers may.
func readCeiling(n node) []call.Scope {
	if !n.present() {
		return []call.Scope{call.ScopeCall}
	}
	scopes := readScopes(n)
	if n.kind == '[' && len(scopes) == 0 {
		n.fail("it is empty; leave it out instead")
	}
	return scopes
}
