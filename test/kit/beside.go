package kit

import (
	"testing"

	"mcprelay/shared/policy"
	"mcprelay/shared/registry"
)

// Beside registers the upstream of other under a name beside f's own server.
// Everything of it is allowed.
func (f *Relay) Beside(t *testing.T, other *Relay, name string) {
	t.Helper()
	server := *other.Registry.Registration.Servers["up"]
	server.Name = name
	servers := map[string]*registry.Server{name: &server}
	for already, s := range f.Registry.Registration.Servers {
		own := *s
		servers[already] = &own
	}
	registration := *f.Registry.Registration
	registration.Servers = servers
	f.Registry.Registration = &registration
	f.Allow(t, "mcp."+name+".*")
	f.rule(t, policy.Rule{Action: "secret.use.up-ref", Decision: policy.Allow, To: f.names()})
}

// Allow adds rules that allow these actions.
func (f *Relay) Allow(t *testing.T, actions ...string) {
	t.Helper()
	for _, action := range actions {
		f.rule(t, policy.Rule{Action: action, Decision: policy.Allow})
	}
}

func (f *Relay) names() (to []string) {
	for name := range f.Registry.Registration.Servers {
		to = append(to, "mcp."+name+".*")
	}
	return to
}

func (f *Relay) rule(t *testing.T, rule policy.Rule) {
	t.Helper()
	registration := *f.Registry.Registration
	rules, err := policy.Compile(append(registration.Rules.Table(), rule))
	if err != nil {
		t.Fatal(err)
	}
	registration.Rules = rules
	f.Registry.Registration = &registration
}
