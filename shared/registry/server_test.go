package registry_test

import (
	"encoding/json"
	"slices"
	"testing"

	"mcprelay/shared/call"
	"mcprelay/shared/endpoint"
	"mcprelay/shared/policy"
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

// A list and a call must mean the same tool.
func TestOfTwoToolsBoundToOneNameTheFirstHasIt(t *testing.T) {
	s := &registry.Server{Bindings: map[string]string{"d": "x", "b": "x", "c": "x", "a": "y", "e": "x"}}
	for range 50 {
		if got, ok := s.Upstream("x"); !ok || got != "b" {
			t.Fatalf("x leads to %s, %v, want b", got, ok)
		}
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

// secrets is a server with references, each followed by its source.
func secrets(pairs ...any) *registry.Server {
	s := &registry.Server{Secrets: make(map[string]secret.Source)}
	for i := 0; i < len(pairs); i += 2 {
		s.Secrets[pairs[i].(string)] = pairs[i+1].(secret.Source)
	}
	return s
}

func TestASecretOfSeveralServersIsShared(t *testing.T) {
	one, two, own := secret.Source{Env: "ONE", Secret: "acme/one"}, secret.Source{Env: "TWO", Secret: "acme/two"}, secret.Source{Env: "OWN", Secret: "acme/own"}
	tenant := &registry.Tenant{Servers: map[string]*registry.Server{
		"a": secrets("one", one, "two", two, "again", one), "b": secrets("two", two, "own", own), "c": secrets(),
	}}
	for ref, want := range map[string]bool{"one": false, "again": false, "two": true, "own": false, "three": false} {
		if got := tenant.Shared(ref); got != want {
			t.Errorf("%s: got %v, want %v", ref, got, want)
		}
	}
}

func TestASecretUnderASecondNameIsShared(t *testing.T) {
	docs := secret.Source{Env: "DOCS_TOKEN", Secret: "acme/docs"}
	for name, source := range map[string]secret.Source{
		"the same source":   docs,
		"the variable only": {Env: "DOCS_TOKEN"},
		"the secret only":   {Secret: "acme/docs"},
		"another variable":  {Env: "OTHER", Secret: "acme/docs"},
		"another secret":    {Env: "DOCS_TOKEN", Secret: "acme/other"},
		"the secret by ARN": {Secret: "arn:aws:secretsmanager:eu-west-1:123456789012:secret:acme/docs-AbCdEf"},
	} {
		tenant := &registry.Tenant{Servers: map[string]*registry.Server{"docs": secrets("docs-token", docs), "thief": secrets("mine", source)}}
		for _, ref := range []string{"docs-token", "mine"} {
			if !tenant.Shared(ref) {
				t.Errorf("%s: %s is not shared", name, ref)
			}
		}
	}
}

// A rule for every secret lets no new entry have a token that another one
// reads, whatever it calls it; a rule that says where it may go does.
func TestARuleForEverySecretLendsNone(t *testing.T) {
	docs := secret.Source{Env: "DOCS_TOKEN", Secret: "acme/docs"}
	tenant := &registry.Tenant{Servers: map[string]*registry.Server{
		"docs": secrets("docs-token", docs), "thief": secrets("mine", secret.Source{Env: "DOCS_TOKEN"}), "wiki": secrets("wiki-token", secret.Source{Env: "WIKI_TOKEN"}),
	}}
	open := []policy.Rule{{Action: "mcp.docs.*", Decision: policy.Allow}, {Action: "mcp.thief.*", Decision: policy.Allow}, {Action: "mcp.wiki.*", Decision: policy.Allow}, {Action: "secret.use.*", Decision: policy.Allow}}
	limited := append(slices.Clone(open), policy.Rule{Action: "secret.use.docs-token", Decision: policy.Allow, To: []string{"mcp.docs.*"}})
	for _, c := range []struct {
		name, server, ref string
		rules             []policy.Rule
		want              bool
	}{
		{"the second name", "thief", "mine", open, false},
		{"the first name", "docs", "docs-token", open, false},
		{"a token of one server", "wiki", "wiki-token", open, true},
		{"the second name, the first limited", "thief", "mine", limited, false},
		{"the first name, limited to its server", "docs", "docs-token", limited, true},
	} {
		rules, err := policy.Compile(c.rules)
		if err != nil {
			t.Fatal(err)
		}
		target := policy.Target{Server: c.server, ReversedHost: "com.example.mcp", Tool: "search", References: []policy.Reference{{Name: c.ref, Shared: tenant.Shared(c.ref)}}}
		_, refusal := policy.Decide(rules, call.OperationToolsCall, target)
		if allowed := refusal == nil; allowed != c.want || !allowed && refusal.Reason != call.CredentialNoRule {
			t.Errorf("%s: got %v, want allowed %v", c.name, refusal, c.want)
		}
	}
}

func TestWhatIsRegisteredForATool(t *testing.T) {
	s := &registry.Server{BudgetClasses: map[string]string{"search": "data.search"}, PolicyMetadata: map[string]json.RawMessage{"search": json.RawMessage(`{"n":9007199254740993}`)}}
	if got := s.BudgetClass("search"); got != "data.search" {
		t.Errorf("budget class %q, want data.search", got)
	}
	if got := string(s.Metadata("search")); got != `{"n":9007199254740993}` {
		t.Errorf("metadata %s", got)
	}
	if s.BudgetClass("other") != "" || s.Metadata("other") != nil || (&registry.Server{}).Metadata("search") != nil {
		t.Error("another tool has a budget class or metadata")
	}
}

func TestDefaultSettings(t *testing.T) {
	want := registry.Settings{AuditIntent: "writes", AuditFinal: "before", AuditArguments: "preview", MaxServers: 8, OnPolicyError: "refuse", RequireTurn: "none"}
	if got := registry.DefaultSettings(); got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
}
