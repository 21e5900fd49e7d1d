package config

import (
	"slices"

	"mcprelay/shared/call"
	"mcprelay/shared/registry"
)

// maxCallers bounds the callers of a file: each is compared at every request.
const maxCallers = 64

// readCallers reads the callers of a local relay.
func readCallers(n node, servers []*registry.Server) []Caller {
	var callers []Caller
	if len(n.list()) > maxCallers {
		n.fail("it has more than %d callers", maxCallers)
		return nil
	}
	for _, item := range n.list() {
		o := item.object("subject kind scopes token_env")
		c := Caller{Subject: o.get("subject").name(registry.Subject), Kind: readKind(o.get("kind"))}
		c.Scopes = readScopes(o.get("scopes"))
		c.TokenEnv = o.get("token_env").name(environment)
		if slices.ContainsFunc(callers, func(other Caller) bool { return other.Subject == c.Subject }) {
			o.get("subject").fail("another caller has this subject")
		}
		if slices.ContainsFunc(callers, func(other Caller) bool { return other.TokenEnv == c.TokenEnv }) {
			o.get("token_env").fail("another caller has this token")
		}
		if sent(c.TokenEnv, servers) {
			o.get("token_env").fail("it is also the secret of a server: a caller's own credential never goes upstream")
		}
		callers = append(callers, c)
	}
	return callers
}

func readKind(n node) call.Kind {
	kind := call.Kind(n.text())
	if n.kind == '"' && !kind.Valid() {
		n.fail("it is not one of user, service_token, trusted_issuer, other")
	}
	return kind
}

func readScopes(n node) []call.Scope {
	if !n.is('[', "a list") {
		return nil
	}
	var scopes []call.Scope
	for _, item := range n.items {
		scope := call.Scope(item.text())
		if item.kind == '"' && !scope.Valid() {
			item.fail("it is not one of call, audit:read, admin:read, admin:write")
		}
		scopes = append(scopes, scope)
	}
	return scopes
}

// sent reports whether a server's secret is read from the variable env.
func sent(env string, servers []*registry.Server) bool {
	for _, s := range servers {
		for _, source := range s.Secrets {
			if source.Env == env && env != "" {
				return true
			}
		}
	}
	return false
}
