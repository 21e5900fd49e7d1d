package registry_test

import (
	"encoding/json"
	"strings"
	"testing"

	"mcprelay/shared/call"
	"mcprelay/shared/registry"
)

func TestDocumentsThatCanBeReadBack(t *testing.T) {
	for name, c := range map[string]struct {
		kind, name, body string
		ok               bool
	}{
		"a server": {"server", "docs", `{}`, true}, "an agent": {"agent", "Zoë #1", `{}`, true}, "a policy": {"policy", "p", `{}`, true},
		"a budget": {"budget", "data.x", `{}`, true}, "an issuer": {"issuer", "https://login.example.com", `{}`, true},
		"rules": {"rules", "", `[]`, true}, "a tenant": {"tenant", "", `{}`, true}, "the longest name": {"agent", strings.Repeat("x", 960), `{}`, true},
		"too long": {"agent", strings.Repeat("x", 961), `{}`, false}, "a line": {"agent", "a\nb", `{}`, false}, "no UTF-8": {"agent", "\xff", `{}`, false},
		"named rules": {"rules", "x", `[]`, false}, "a named tenant": {"tenant", "x", `{}`, false}, "no name": {"issuer", "", `{}`, false},
		"another kind": {"grant", "x", `{}`, false}, "no kind": {"", "", `{}`, false}, "no JSON": {"rules", "", `[`, false}, "JSON of no UTF-8": {"rules", "", "[\"\xff\"]", false},
	} {
		err := registry.Document{Kind: c.kind, Name: c.name, Body: json.RawMessage(c.body)}.Check()
		if (err == nil) != c.ok {
			t.Errorf("%s: got %v, want ok %v", name, err, c.ok)
		}
	}
}

func TestTheServerDecidesAboutTurnsBeforeTheTenant(t *testing.T) {
	for _, c := range []struct {
		tenant, server string
		read, write    bool
	}{
		{"none", "", false, false}, {"writes", "", false, true}, {"all", "", true, true}, {"", "", false, false},
		{"all", "none", false, false}, {"all", "writes", false, true}, {"none", "all", true, true}, {"none", "writes", false, true},
	} {
		tenant := &registry.Tenant{Settings: registry.Settings{RequireTurn: c.tenant}}
		s := &registry.Server{RequireTurn: c.server}
		for effect, want := range map[call.Effect]bool{call.EffectRead: c.read, call.EffectWrite: c.write, call.EffectUnclassified: c.write} {
			if got := tenant.RequiresTurn(s, effect); got != want {
				t.Errorf("tenant %q, server %q, effect %q: got %v, want %v", c.tenant, c.server, effect, got, want)
			}
		}
	}
}

func TestACallerWithoutAnEntryIsNotNarrowed(t *testing.T) {
	tenant := &registry.Tenant{Agents: map[string]registry.Agent{"ci": {Subject: "ci", Servers: []string{"docs"}, Access: registry.AccessRead}}}
	if got := tenant.Agent("ci", ""); got.Access != "read" || len(got.Servers) != 1 {
		t.Errorf("got %+v, want the entry", got)
	}
	const login = "https://login.example.com"
	if got := tenant.Agent("ci", login); got.Access != "build" || got.Servers != nil {
		t.Errorf("an issuer's caller of the same subject: got %+v", got)
	}
	tenant.Agents["jo"] = registry.Agent{Subject: "jo", Issuer: login, Access: registry.AccessRead}
	if named, other := tenant.Agent("jo", login), tenant.Agent("jo", ""); named.Access != "read" || other.Access != "build" {
		t.Errorf("an entry of an issuer: got %+v and %+v", named, other)
	}
	for _, subject := range []string{"", "CI", "dev"} {
		if got := tenant.Agent(subject, ""); got.Access != "build" || got.Servers != nil || got.Subject != subject {
			t.Errorf("%q: got %+v, want every server and access build", subject, got)
		}
	}
	if got := (&registry.Tenant{}).Agent("ci", ""); got.Access != "build" {
		t.Errorf("without entries: got %+v", got)
	}
}

func TestNamesOfAgentsAndPolicies(t *testing.T) {
	for subject, ok := range map[string]bool{"ci": true, "Zoë": true, strings.Repeat("é", 256): true, strings.Repeat("😀", 240): true, strings.Repeat("😀", 241): false, "": false, " a": false, "a\x00": false} {
		if err := registry.AgentSubject(subject); (err == nil) != ok {
			t.Errorf("%.20q: got %v, want ok %v", subject, err, ok)
		}
	}
	for name, ok := range map[string]bool{"reads-only": true, "a.b_c": true, "": false, "-a": false, "a b": false, "a/b": false, strings.Repeat("a", 65): false} {
		if err := registry.PolicyName(name); (err == nil) != ok {
			t.Errorf("%.20q: got %v, want ok %v", name, err, ok)
		}
	}
}
