package registry_test

import (
	"testing"

	"mcprelay/shared/call"
	"mcprelay/shared/endpoint"
	"mcprelay/shared/registry"
	"mcprelay/shared/secret"
)

func server() *registry.Server {
	return &registry.Server{
		AllowedTools: []string{"search", "read_document", "write"},
		Bindings:     map[string]string{"search": "find", "read_document": "read_document"},
		Effects:      map[string]call.Effect{"search": call.EffectRead, "write": call.EffectWrite},
	}
}

func TestOfferedNamesLeadBack(t *testing.T) {
	cases := []struct{ upstream, offered string }{
		{"search", "find"}, {"read_document", "read_document"}, {"write", "write"}, {"anything", "anything"},
	}
	for _, c := range cases {
		if got := server().Offered(c.upstream); got != c.offered {
			t.Errorf("%s is offered as %s, want %s", c.upstream, got, c.offered)
		}
		if got, ok := server().Upstream(c.offered); !ok || got != c.upstream {
			t.Errorf("%s leads to %s, %v, want %s", c.offered, got, ok, c.upstream)
		}
	}
}

func TestARenamedToolIsNotFoundByItsOldName(t *testing.T) {
	for _, name := range []string{"search", ""} {
		if got, ok := server().Upstream(name); ok {
			t.Errorf("%q leads to %s", name, got)
		}
	}
}

// Two tools that trade their names are each found by the new one.
func TestNamesCanBeSwapped(t *testing.T) {
	s := &registry.Server{Bindings: map[string]string{"a": "b", "b": "a"}}
	for _, name := range []string{"a", "b"} {
		if got, ok := s.Upstream(s.Offered(name)); !ok || got != name {
			t.Errorf("%s leads to %s, %v", s.Offered(name), got, ok)
		}
	}
}

// Without allowed_tools nobody knows whether a server has a tool whose own
// name a binding offers: such a name leads to the bound tool only.
func TestABindingGoesBeforeAnOwnName(t *testing.T) {
	s := &registry.Server{Bindings: map[string]string{"a": "b"}}
	if got, ok := s.Upstream("b"); !ok || got != "a" {
		t.Errorf("b leads to %s, %v, want a", got, ok)
	}
	if got, _ := s.Upstream(s.Offered("b")); got == "b" {
		t.Error("the own b of the server is reachable beside the bound one")
	}
}

func TestAllowedToolsAreExact(t *testing.T) {
	for tool, want := range map[string]bool{"search": true, "find": false, "Search": false, "": false, "other": false} {
		if got := server().HasTool(tool); got != want {
			t.Errorf("%q: got %v, want %v", tool, got, want)
		}
	}
	open := &registry.Server{}
	if !open.HasTool("anything") || open.HasTool("") {
		t.Error("without allowed_tools any name but the empty one may exist")
	}
	if none := (&registry.Server{AllowedTools: []string{}}); none.HasTool("search") {
		t.Error("an empty list allows a tool")
	}
}

func TestEffectsAreThoseOfTheRegistration(t *testing.T) {
	for tool, want := range map[string]call.Effect{"search": call.EffectRead, "write": call.EffectWrite, "read_document": call.EffectUnclassified, "find": call.EffectUnclassified} {
		if got := server().Effect(tool); got != want {
			t.Errorf("%s: got %q, want %q", tool, got, want)
		}
	}
}

func TestTheEndpointMustBeListedByteForByte(t *testing.T) {
	u, err := endpoint.Parse("https://mcp.example.com/v1", endpoint.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for text, want := range map[string]bool{"https://mcp.example.com/v1": true, "https://mcp.example.com/v1/": false, "https://mcp.example.com": false, "": false} {
		s := &registry.Server{Endpoint: u, AllowedEndpoints: []string{"https://other.example.com/v1", text}}
		if got := s.AllowsEndpoint(); got != want {
			t.Errorf("%q: got %v, want %v", text, got, want)
		}
	}
	if (&registry.Server{Endpoint: u}).AllowsEndpoint() || (&registry.Server{}).AllowsEndpoint() {
		t.Error("no list allows an endpoint")
	}
}

func TestASecretOfSeveralServersIsShared(t *testing.T) {
	with := func(refs ...string) *registry.Server {
		s := &registry.Server{Secrets: make(map[string]secret.Source)}
		for _, ref := range refs {
			s.Secrets[ref] = secret.Source{Env: "X"}
		}
		return s
	}
	tenant := &registry.Tenant{Servers: map[string]*registry.Server{"a": with("one", "two"), "b": with("two"), "c": with()}}
	for ref, want := range map[string]bool{"one": false, "two": true, "three": false} {
		if got := tenant.Shared(ref); got != want {
			t.Errorf("%s: got %v, want %v", ref, got, want)
		}
	}
}

func TestDefaultSettings(t *testing.T) {
	want := registry.Settings{AuditIntent: "writes", AuditFinal: "before", AuditArguments: "preview", MaxServers: 8}
	if got := registry.DefaultSettings(); got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
}
