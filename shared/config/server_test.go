package config_test

import (
	"encoding/json"
	"net/netip"
	"strings"
	"testing"
	"time"

	"mcprelay/shared/call"
	"mcprelay/shared/config"
	"mcprelay/shared/endpoint"
	"mcprelay/shared/policy"
	"mcprelay/shared/registry"
	"mcprelay/shared/secret"

	"github.com/google/go-cmp/cmp"
)

func mustEndpoint(t *testing.T, s string, o endpoint.Options) endpoint.URL {
	t.Helper()
	u, err := endpoint.Parse(s, o)
	if err != nil {
		t.Fatal(err)
	}
	return u
}

var equalURLs = cmp.Comparer(func(a, b endpoint.URL) bool { return a == b })
var equalPrefixes = cmp.Comparer(func(a, b netip.Prefix) bool { return a == b })

// The envelope of testdata/relay.json, with every field of an entry that this
// version has.
func TestTheWholeShape(t *testing.T) {
	c, err := config.Load("testdata/relay.json", config.Options{})
	if err != nil {
		t.Fatal(err)
	}
	limits := registry.DefaultLimits()
	limits.RequestTimeout = 30 * time.Second
	limits.CloseTimeout, limits.Backoff = 500*time.Millisecond, 100*time.Millisecond
	limits.MaxFrameBytes, limits.MaxResultBytes = 3<<20, 2<<20
	limits.MaxInFlight, limits.ReconnectAttempts = 16, 0
	want := &registry.Server{
		Name:             "docs",
		Endpoint:         mustEndpoint(t, url, endpoint.Options{}),
		AllowedEndpoints: []string{url},
		Auth:             secret.Bearer("docs-access"),
		Secrets:          map[string]secret.Source{"docs-access": {Env: "DOCS_MCP_TOKEN", Secret: "DOCS_MCP_TOKEN"}},
		AllowedTools:     []string{"search", "read_document"},
		Bindings:         map[string]string{"search": "search", "read_document": "read"},
		Effects:          map[string]call.Effect{"search": "read", "read_document": "write"},
		BudgetClasses:    map[string]string{"search": "data.search", "read_document": "data.read"},
		PolicyMetadata:   map[string]json.RawMessage{"search": json.RawMessage(`{"read_only":true,"n":9007199254740993}`)},
		Limits:           limits,
		Description:      "Approved product documentation.",
		UnexpectedTools:  "fail",
		Pin:              "warn",
		Elicitation:      "pass",
		RequireTurn:      "all",
		ToolLimits:       map[string]registry.ToolLimit{"search": {ArgumentsBytes: 4096, PerMinute: 30}, "read_document": {PerMinute: 5}},
	}
	if diff := cmp.Diff(want, c.Tenant.Servers["docs"], equalURLs); diff != "" {
		t.Errorf("docs (-want +got):\n%s", diff)
	}
	wiki := c.Tenant.Servers["wiki"]
	if diff := cmp.Diff([]netip.Prefix{netip.MustParsePrefix("10.20.0.0/16")}, wiki.Networks, equalPrefixes); diff != "" {
		t.Errorf("networks of wiki (-want +got):\n%s", diff)
	}
	wantAuth := secret.Auth{Type: secret.TypeHeaders, Headers: []secret.Header{{As: "X-Api-Key", Ref: "wiki-key"}, {As: "X-Tenant", Ref: "wiki-tenant"}}}
	if diff := cmp.Diff(wantAuth, wiki.Auth); diff != "" {
		t.Errorf("auth of wiki (-want +got):\n%s", diff)
	}
	wantTLS := secret.TLSRefs{CA: "corp-ca", Cert: "wiki-client", Key: "wiki-client-key"}
	if wiki.TLS != wantTLS || !wiki.IPv6 || wiki.Process != nil {
		t.Errorf("wiki: TLS %+v, IPv6 %v, process %v", wiki.TLS, wiki.IPv6, wiki.Process)
	}
	if source := wiki.Secrets["wiki-key"]; source != (secret.Source{Env: "WIKI_KEY", Secret: "acme/wiki"}) || wiki.UnexpectedTools != "hide" || wiki.Pin != "off" {
		t.Errorf("wiki: %+v, %s, %s", source, wiki.UnexpectedTools, wiki.Pin)
	}
	wantSettings := registry.Settings{AuditIntent: "all", AuditFinal: "after", AuditArguments: "digest", ExplainRefusals: false, MaxServers: 3, OnPolicyError: "allow", RequireTurn: "writes"}
	if diff := cmp.Diff(wantSettings, c.Tenant.Settings); diff != "" {
		t.Errorf("settings (-want +got):\n%s", diff)
	}
	wantCallers := []config.Caller{{Subject: "dev", Kind: call.KindUser, Scopes: []call.Scope{call.ScopeCall, call.ScopeAuditRead}, TokenEnv: "RELAY_DEV_TOKEN"}}
	if diff := cmp.Diff(wantCallers, c.Callers); diff != "" {
		t.Errorf("callers (-want +got):\n%s", diff)
	}
	if m := c.Tenant.Rules.Match("secret.use.docs-access"); m.Word != policy.Allow || c.Tenant.ID != "acme" || len(c.Tenant.Rules.Table()) != 4 {
		t.Errorf("tenant %s, match %+v", c.Tenant.ID, m)
	}
}

func TestTheLeastShape(t *testing.T) {
	c := read(t, one(entry("docs")), config.Options{})
	want := &registry.Server{
		Name: "docs", Endpoint: mustEndpoint(t, url, endpoint.Options{}), AllowedEndpoints: []string{url},
		Auth: secret.Auth{Type: secret.TypeNone}, Limits: registry.DefaultLimits(), UnexpectedTools: "fail",
		Pin: "block", Elicitation: "refuse",
	}
	if diff := cmp.Diff(want, c.Tenant.Servers["docs"], equalURLs); diff != "" {
		t.Errorf("docs (-want +got):\n%s", diff)
	}
	if !c.Tenant.Servers["docs"].AllowsEndpoint() {
		t.Error("without allowed_endpoints the endpoint itself is not allowed")
	}
	settings := registry.DefaultSettings()
	settings.ExplainRefusals = true
	if diff := cmp.Diff(settings, c.Tenant.Settings); diff != "" {
		t.Errorf("settings (-want +got):\n%s", diff)
	}
	if empty := read(t, object{"tenant": "acme"}, config.Options{}); len(empty.Tenant.Servers) != 0 {
		t.Errorf("servers %v, want none", empty.Tenant.Servers)
	}
}

func TestEndpointsOfEachOption(t *testing.T) {
	cases := []struct {
		name, url string
		networks  []any
		loopback  bool
		ok        bool
	}{
		{"public", url, nil, false, true},
		{"loopback", "http://127.0.0.1:9/mcp", nil, false, false},
		{"loopback, allowed", "http://127.0.0.1:9/mcp", nil, true, true},
		{"plain http, loopback allowed", "http://mcp.example.com/v1", nil, true, false},
		{"private name", "https://mcp.corp/v1", nil, false, false},
		{"private name with networks", "https://mcp.corp/v1", []any{"10.0.0.0/8"}, false, true},
		{"private name with no networks", "https://mcp.corp/v1", []any{}, false, false},
		{"private name, loopback allowed", "https://mcp.corp/v1", nil, true, false},
	}
	for _, c := range cases {
		e := entry("docs", "endpoint", c.url, "allowed_endpoints", []any{c.url})
		if c.networks != nil {
			e = with(e, "allowed_networks", c.networks)
		}
		if got := problems(t, one(e), config.Options{Loopback: c.loopback}); (got == nil) != c.ok {
			t.Errorf("%s: got %q, want ok %v", c.name, got, c.ok)
		}
	}
}

func TestNumbersAtTheirBounds(t *testing.T) {
	for _, limit := range registry.ServerLimits() {
		for n, ok := range map[int64]bool{limit.Least: true, limit.Cap: true, limit.Cap + 1: false, limit.Least - 1: false} {
			got := problems(t, one(entry("docs", limit.Key, n)), config.Options{})
			if (got == nil) != ok {
				t.Errorf("%s %d: got %q, want ok %v", limit.Key, n, got, ok)
			}
		}
	}
}

// What counts is what will be recorded: the metadata without blanks.
func TestMetadataIsMeasuredAsItIsRecorded(t *testing.T) {
	for n, ok := range map[int]bool{1024: true, 1025: false} {
		metadata := `{ "x" :  "` + strings.Repeat("a", n-len(`{"x":""}`)) + `"` + strings.Repeat(" ", 100) + `}`
		got := problems(t, `{"tenant":"acme","servers":[{"name":"docs","config":{"endpoint":"`+url+`","policy_metadata":{"get":`+metadata+`}}}]}`, config.Options{})
		if (got == nil) != ok {
			t.Errorf("%d bytes: got %q, want ok %v", n, got, ok)
		}
	}
}

func TestCanonicalPrivateNetworks(t *testing.T) {
	good := []string{"10.0.0.0/8", "10.1.2.3/32", "172.16.0.0/12", "172.31.255.0/24", "192.168.0.0/16", "fc00::/7", "fd00:1::/32"}
	for _, s := range good {
		if got := problems(t, one(with(entry("docs"), "allowed_networks", []any{s})), config.Options{}); got != nil {
			t.Errorf("%s: %q", s, got)
		}
	}
	bad := []string{
		"", "10.0.0.0", "10.0.0.1/8", "10.0.0.0/08", "010.0.0.0/8", "10.0.0.0/33", "10.0.0.0/-1", " 10.0.0.0/8", "10/8", "0.0.0.0/0", "10.0.0.0/7",
		"172.16.0.0/11", "172.32.0.0/16", "192.168.0.0/15", "127.0.0.0/8", "169.254.0.0/16", "100.64.0.0/10", "224.0.0.0/4", "8.8.8.0/24",
		"::/0", "::1/128", "fe80::/10", "FC00::/7", "fc00:0::/7", "fc00::1/7", "2001:db8::/32", "::ffff:10.0.0.0/104", "::ffff:a00:0/104", "fd00::/6", "fe80::%eth0/64",
	}
	for _, s := range bad {
		if got := problems(t, one(with(entry("docs"), "allowed_networks", []any{s})), config.Options{}); len(got) != 1 {
			t.Errorf("%q: got %q, want one problem", s, got)
		}
	}
}
