package config_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"testing"

	"mcprelay/shared/config"
	"mcprelay/shared/policy"
	"mcprelay/shared/registry"

	"github.com/google/go-cmp/cmp"
)

// equalTenants compares what a tenant was registered with.
var equalTenants = cmp.Options{
	equalURLs, equalPrefixes,
	cmp.Transformer("table", func(r policy.Rules) []policy.Rule { return r.Table() }),
	cmp.Comparer(func(a, b *policy.Engine) bool { return (a == nil) == (b == nil) }),
}

func documents(t testing.TB, c *config.Config) []registry.Document {
	t.Helper()
	docs, err := c.Documents()
	if err != nil {
		t.Fatal(err)
	}
	return docs
}

func TestDocumentsOfAFile(t *testing.T) {
	c, err := config.Load("testdata/relay.json", config.Options{})
	if err != nil {
		t.Fatal(err)
	}
	docs := documents(t, c)
	var got []string
	for _, d := range docs {
		if !json.Valid(d.Body) || d.Rev != 0 {
			t.Errorf("%s %s: %s, revision %d", d.Kind, d.Name, d.Body, d.Rev)
		}
		got = append(got, d.Kind+" "+d.Name)
	}
	names := []string{"tenant ", "rules ", "server docs", "server wiki", "agent ci", "agent Zoë #1", "agent jo", "policy reads-only", "policy later",
		"budget data.search", "budget data.read", "issuer https://login.example.com", "issuer https://ci.example.com/"}
	if diff := cmp.Diff(names, got); diff != "" {
		t.Errorf("documents (-want +got):\n%s", diff)
	}
	want := `{"audit_intent":"all","audit_final":"after","audit_arguments":"digest","explain_refusals":false,"max_servers":3,"on_policy_error":"allow","require_turn":"writes"}`
	if string(docs[0].Body) != want {
		t.Errorf("settings %s, want %s", docs[0].Body, want)
	}
	source, err := os.ReadFile("testdata/policies/reads-only.rego")
	if err != nil {
		t.Fatal(err)
	}
	var kept struct{ Name, Source, Mode, File string }
	if err := json.Unmarshal(docs[7].Body, &kept); err != nil || kept.Source != string(source) || kept.Mode != "audit" || kept.File != "" {
		t.Errorf("the policy of a file is kept as %s, %v", docs[7].Body, err)
	}
	tenant, err := config.Build("acme", docs, config.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(c.Tenant, tenant, equalTenants); diff != "" {
		t.Errorf("tenant (-file +documents):\n%s", diff)
	}
}

// Whatever a file registers, the tenant that is built of its documents is the
// same, whatever their order.
func TestDocumentsMakeTheSameTenant(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	built := 0
	for range 300 {
		f := randomFile(r)
		f["explain_refusals"] = r.IntN(2) == 0
		c, err := config.Parse("relay.json", text(t, f), config.Options{Loopback: true, Processes: true})
		if err != nil {
			t.Fatalf("%s: %v", text(t, f), err)
		}
		docs := documents(t, c)
		r.Shuffle(len(docs), func(i, j int) { docs[i], docs[j] = docs[j], docs[i] })
		tenant, err := config.Build("acme", docs, config.Options{Loopback: true, Processes: true})
		if err != nil {
			t.Fatalf("%s: %v", text(t, f), err)
		}
		if diff := cmp.Diff(c.Tenant, tenant, equalTenants); diff != "" {
			t.Fatalf("%s (-file +documents):\n%s", text(t, f), diff)
		}
		built += len(tenant.Servers)
	}
	if built < 500 {
		t.Errorf("only %d servers were built", built)
	}
}

// randomFile is a usable file with a choice of everything.
func randomFile(r *rand.Rand) object {
	servers := []any{}
	for i := range r.IntN(5) {
		servers = append(servers, randomEntry(r, fmt.Sprintf("s%d", i)))
	}
	f := file(servers)
	if r.IntN(2) == 0 {
		f["audit_intent"] = "all"
	}
	if r.IntN(2) == 0 {
		f["audit_arguments"], f["audit_final"], f["max_servers"] = "none", "after", 1+r.IntN(64)
	}
	randomCallers(r, f)
	var rules []any
	for i := range r.IntN(4) {
		rules = append(rules, object{"action": fmt.Sprintf("mcp.s%d.*", i), "decision": "allow"}, object{"action": "secret.use.shared", "decision": "ask", "to": []any{"mcp.s1.*"}})
	}
	if rules != nil {
		f["rules"] = rules
	}
	return f
}

// randomCallers adds what narrows callers and their calls.
func randomCallers(r *rand.Rand, f object) {
	if r.IntN(2) == 0 {
		f["agents"] = []any{object{"subject": "ci", "servers": []any{"s1", "s0"}, "access": "read"}, object{"subject": "Zoë #1"}}
		f["require_turn"] = "writes"
	}
	if r.IntN(2) == 0 {
		f["budgets"] = object{"data.get": object{"per_minute": 1 + r.IntN(100), "on_error": "allow"}, "x": object{"per_day": 1}}
	}
	if r.IntN(2) == 0 {
		f["issuers"] = []any{issuer("issuer", "https://z.example.com"), issuer("subjects", object{}, "scopes", []any{"call", "admin:read"}), issuer("issuer", "https://k.example.com", "jwks_uri", nil, "keys", keySet(ed()))}
	}
	if r.IntN(8) == 0 {
		f["policies"] = []any{object{"name": "b", "source": denies, "enabled": r.IntN(2) == 0}, object{"name": "a", "source": denies, "mode": "audit"}}
	}
}

func randomEntry(r *rand.Rand, name string) object {
	if r.IntN(5) == 0 {
		return with(child(name, "args", []any{"-y", name}, "env", object{"TOKEN": "shared"}), "secrets", object{"shared": object{"env": "SHARED", "secret": "acme/shared"}})
	}
	endpoints := []string{url, "https://a.example.com:8443/mcp?lang=en", "http://127.0.0.1:9000/mcp", "https://x.example.org"}
	e := entry(name, "endpoint", endpoints[r.IntN(len(endpoints))])
	c := e["config"].(object)
	switch r.IntN(3) {
	case 0:
		e["secrets"] = object{"shared": object{"env": "SHARED", "secret": "acme/shared"}}
		c["auth"], c["ipv6"] = object{"type": "bearer", "token_ref": "shared"}, r.IntN(2) == 0
		if c["endpoint"] == url {
			c["tls"] = object{"ca_ref": "shared"}
		}
	case 1:
		e["secrets"] = object{name + "-key": "KEY_" + name, "shared": object{"env": "SHARED", "secret": "acme/shared"}}
		c["auth"] = object{"type": "headers", "headers": []any{object{"as": "X-Key", "token_ref": name + "-key"}}}
	}
	if r.IntN(2) == 0 {
		c["allowed_tools"] = []any{"get", "put", "a b"}
		c["effects"] = object{"get": "read", "put": "write", "a b": "read"}
		c["bindings"] = object{"get": "put", "put": "get", "a b": "a_b"}
		c["policy_metadata"] = object{"get": object{"read_only": true, "n": raw("9007199254740993")}}
		c["budget_classes"] = object{"get": "data.get"}
		c["limits"], c["require_turn"] = object{"put": object{"per_minute": 1 + r.IntN(9)}}, "none"
	}
	for _, limit := range registry.ServerLimits() {
		if r.IntN(4) == 0 {
			c[limit.Key] = limit.Least + r.Int64N(limit.Cap-limit.Least+1)
		}
	}
	if r.IntN(2) == 0 {
		e["allowed_networks"] = []any{"10.0.0.0/8", "192.168.1.0/24"}
	}
	return e
}

func TestExplainingRefusalsDoesNotTravel(t *testing.T) {
	for name, c := range map[string]struct {
		set         any
		file, built bool
	}{"not set": {nil, true, false}, "true": {true, true, true}, "false": {false, false, false}} {
		loaded := read(t, file([]any{}, "explain_refusals", c.set), config.Options{})
		built, err := config.Build("acme", documents(t, loaded), config.Options{})
		if err != nil {
			t.Fatal(err)
		}
		if got := loaded.Tenant.Settings.ExplainRefusals; got != c.file {
			t.Errorf("%s: the file has %v, want %v", name, got, c.file)
		}
		if got := built.Settings.ExplainRefusals; got != c.built {
			t.Errorf("%s: the documents have %v, want %v", name, got, c.built)
		}
	}
}

func TestNoDocumentsMakeAnEmptyTenant(t *testing.T) {
	tenant, err := config.Build("acme", nil, config.Options{})
	if err != nil {
		t.Fatal(err)
	}
	want := &registry.Tenant{ID: "acme", Servers: map[string]*registry.Server{}, Settings: registry.DefaultSettings()}
	if diff := cmp.Diff(want, tenant, equalTenants); diff != "" {
		t.Errorf("tenant (-want +got):\n%s", diff)
	}
}

func TestTheRevisionIsTheHighest(t *testing.T) {
	docs := documents(t, read(t, file([]any{entry("a"), entry("b")}), config.Options{}))
	for i := range docs {
		docs[i].Rev = int64(i * 7 % 5)
	}
	tenant, err := config.Build("acme", docs, config.Options{})
	if err != nil || tenant.Rev != 4 {
		t.Errorf("revision %d, %v, want 4", tenant.Rev, err)
	}
}

func TestDocumentsAreCopies(t *testing.T) {
	c := read(t, one(entry("docs")), config.Options{})
	for _, d := range documents(t, c) {
		clear(d.Body)
	}
	if _, err := config.Build("acme", documents(t, c), config.Options{}); err != nil {
		t.Error(err)
	}
	if _, err := (&config.Config{}).Documents(); err == nil {
		t.Error("a configuration without a file has documents")
	}
}

func TestProblemsOfDocumentsNameThem(t *testing.T) {
	doc := func(kind, name string, body any) registry.Document {
		return registry.Document{Kind: kind, Name: name, Body: text(t, body)}
	}
	cases := []struct {
		name   string
		tenant string
		docs   []registry.Document
		want   string
	}{
		{"server", "acme", []registry.Document{doc("server", "docs", entry("docs", "endpoint", "http://x"))}, "server document docs: config.endpoint: scheme: an endpoint starts with https:// in lower case"},
		{"other name", "acme", []registry.Document{doc("server", "docs", entry("wiki"))}, `server document docs: name: the document is that of server "docs"`},
		{"twice", "acme", []registry.Document{doc("server", "docs", entry("docs")), doc("server", "docs", entry("docs"))}, "server document docs: it is there twice"},
		{"not JSON", "acme", []registry.Document{doc("server", "docs", "{")}, "server document docs: it ends in the middle of a JSON value"},
		{"other tenant", "umbra", []registry.Document{doc("server", "docs", entry("docs", "tenant_id", "acme"))}, "server document docs: config.tenant_id: it is not the tenant of this registration"},
		{"rules", "acme", []registry.Document{doc("rules", "", []any{object{"action": "*", "decision": "allow"}})}, `rules document: [0].action: a "*" needs something before it, as in mcp.docs.*`},
		{"rules of another kind", "acme", []registry.Document{doc("rules", "", object{})}, "rules document: it must be a list"},
		{"settings", "acme", []registry.Document{doc("tenant", "", object{"audit_intent": "none"})}, "tenant document: audit_intent: it is not one of writes, all"},
		{"unknown setting", "acme", []registry.Document{doc("tenant", "", object{"servers": []any{}})}, "tenant document: servers: it is not a known field"},
		{"a setting of a policy", "acme", []registry.Document{doc("tenant", "", object{"on_policy_error": "audit"})}, "tenant document: on_policy_error: it is not one of refuse, allow"},
		{"unknown kind", "acme", []registry.Document{doc("grant", "reads-only", object{})}, "grant document reads-only: documents of this kind are not supported by this version"},
		{"a policy's file", "acme", []registry.Document{doc("policy", "p", object{"name": "p", "file": "p.rego"})}, "policy document p: file: there is no folder to look for it in: only a config file names files, everything else has the source itself"},
		{"a policy that does not compile", "acme", []registry.Document{doc("policy", "p", object{"name": "p", "source": "package mcprelay.policy\n\ndeny contains m if {\n  m := x\n}"})}, "policy document p: source: line 4, column 3: var x is unsafe"},
		{"another policy's", "acme", []registry.Document{doc("policy", "p", object{"name": "q", "source": denies})}, `policy document p: name: the document is that of policy "p"`},
		{"another agent's", "acme", []registry.Document{doc("agent", "ci", object{"subject": "dev"})}, `agent document ci: subject: the document is that of agent "ci"`},
		{"another issuer's", "acme", []registry.Document{doc("issuer", "https://a.example.com", issuer("issuer", "https://b.example.com"))}, `issuer document https://a.example.com: issuer: the document is that of issuer "https://a.example.com"`},
		{"a budget without a class", "acme", []registry.Document{doc("budget", "", object{"per_minute": 1})}, "budget document: documents of this kind are not supported by this version"},
		{"a budget of no class", "acme", []registry.Document{doc("budget", "a b", object{"per_minute": 1})}, "budget document a b: the name of a budget class: its byte 2 is not one of a-z A-Z 0-9 ._-"},
		{"named rules", "acme", []registry.Document{doc("rules", "x", []any{})}, "rules document x: documents of this kind are not supported by this version"},
		{"a process", "acme", []registry.Document{doc("server", "docs", child("docs"))}, "server document docs: config.command: a deployed relay cannot run processes: a server with a command is for a local relay only"},
		{"bad tenant", "a#b", nil, "tenant: its byte 2 is not one of a-z A-Z 0-9 ._-"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			tenant, err := config.Build(c.tenant, c.docs, config.Options{})
			var all *config.Error
			if !errors.As(err, &all) || err.Error() != c.want || tenant != nil {
				t.Errorf("got %v, want %s", err, c.want)
			}
		})
	}
}

func TestMeaningsAreCheckedOverDocuments(t *testing.T) {
	docs := []registry.Document{
		{Kind: "server", Name: "a", Body: text(t, with(entry("a"), "secrets", object{"key": "ONE"}))},
		{Kind: "server", Name: "b", Body: text(t, with(entry("b"), "secrets", object{"key": object{"env": "ONE"}}))},
	}
	_, err := config.Build("acme", docs, config.Options{})
	if want := "server document b: secrets.key: this reference has another source in server a"; err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
	slices.Reverse(docs)
	if _, err := config.Build("acme", docs, config.Options{}); err == nil {
		t.Error("the other order is accepted")
	}
}

// A file that is accepted stays accepted as documents, and means the same; no
// input makes the reader fail otherwise than by an *Error.
func FuzzParse(f *testing.F) {
	// Short seeds: the time to make a found input shorter grows with its square.
	for _, seed := range []string{
		``, `{}`, `[]`, `{"tenant":"a","servers":[{"name":"a","config":{}}]}`,
		`{"tenant":"a","servers":[{"name":"a","config":{"endpoint":"https://a.example.com/"},"allowed_networks":["10.0.0.0/8"]}]}`,
		`{"tenant":"a","servers":[{"name":"a","config":{"endpoint":"https://a.b/","auth":{"type":"bearer","token_ref":"k"}},"secrets":{"k":{"env":"K"}}}]}`,
		`{"tenant":"a","servers":[{"name":"a","config":{"endpoint":"https://a.b/","effects":{"t":"read"},"bindings":{"t":"u"},"policy_metadata":{"t":{"read_only":true}}}}]}`,
		`{"tenant":"a","servers":[{"name":"a","config":{"endpoint":"https://a.b/","tls":{"ca_ref":"c","client_cert_ref":"d","client_key_ref":"e"},"ipv6":true},"secrets":{"c":"c","d":"d","e":"e"}}]}`,
		`{"tenant":"a","servers":[{"name":"a","config":{"command":"x","args":["-y",""],"env":{"T":"k"},"auth":{"type":"environment"}},"secrets":{"k":"K"}}],"max_servers":64}`,
		`{"tenant":"a","agents":[{"subject":"c","servers":["a"],"access":"read"}],"require_turn":"all","on_policy_error":"allow"}`,
		`{"tenant":"a","budgets":{"c":{"per_minute":1,"per_hour":2,"per_day":3,"on_error":"allow"}}}`,
		`{"tenant":"a","policies":[{"name":"p","source":"package mcprelay.policy\ndeny contains \"x\" if true","enabled":false,"mode":"audit"}]}`,
		`{"tenant":"a","issuers":[{"issuer":"https://a.b","jwks_uri":"https://a.b/k","audience":"r","kind":"user","subjects":{"a":"b"}}]}`,
		`{"tenant":"a","issuers":[{"issuer":"https://a.b","keys":{"keys":[{"kty":"OKP","crv":"Ed25519","x":"AA"}]},"audience":"r","kind":"user","max_lifetime_s":1}]}`,
		`{"tenant":"a","rules":[{"action":"secret.use.x","decision":"allow","to":["mcp.docs.*"]}],"audit_final":"after"}`,
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, s string) {
		c, err := config.Parse("f", []byte(s), config.Options{Loopback: true, Processes: true})
		if err != nil {
			if all := (*config.Error)(nil); !errors.As(err, &all) || len(all.Problems) == 0 {
				t.Fatalf("%q: %v", s, err)
			}
			return
		}
		tenant, err := config.Build(c.Tenant.ID, documents(t, c), config.Options{Loopback: true, Processes: true})
		if err != nil {
			t.Fatalf("%q: %v", s, err)
		}
		tenant.Settings.ExplainRefusals = c.Tenant.Settings.ExplainRefusals
		if diff := cmp.Diff(c.Tenant, tenant, equalTenants); diff != "" {
			t.Errorf("%q (-file +documents):\n%s", s, diff)
		}
	})
}
