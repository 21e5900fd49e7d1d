package tenants_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"mcprelay/shared/call"
	"mcprelay/shared/catalog"
	"mcprelay/shared/egress"
	"mcprelay/shared/endpoint"
	"mcprelay/shared/policy"
	"mcprelay/shared/registry"
	"mcprelay/shared/secret"
	"mcprelay/test/kit"
)

// The tenants. Each one's word is in everything of its own that has a name or a
// text, and in nothing of the other.
const (
	amber = "amber"
	birch = "birch"
)

// shapes is how many places each tenant has servers at.
const shapes = 4

// pool is what is made once: an upstream, what it was found to offer at every
// place, and compiled policies.
type pool struct {
	upstream string
	guard    *egress.Guard
	now      time.Time
	shapes   map[string][]registry.Server // by tenant
	catalogs map[string]catalog.Catalog   // by endpoint
	policies map[string][]registry.Policy // by tenant
	engines  map[string][]*policy.Engine  // of each policy, by tenant
}

func newPool(t *testing.T) *pool {
	t.Helper()
	upstream := httptest.NewServer(http.HandlerFunc(serve))
	t.Cleanup(upstream.Close)
	p := &pool{
		upstream: upstream.URL, guard: egress.New(egress.Config{Loopback: true, Now: time.Now}), now: time.Now(),
		shapes: map[string][]registry.Server{}, catalogs: map[string]catalog.Catalog{},
		policies: map[string][]registry.Policy{}, engines: map[string][]*policy.Engine{},
	}
	t.Cleanup(func() { p.guard.Close() })
	for _, tenant := range []string{amber, birch} {
		for n := range shapes {
			p.shapes[tenant] = append(p.shapes[tenant], p.shape(t, tenant, n))
		}
		p.learn(t, tenant)
		p.compile(t, tenant)
	}
	return p
}

// shape is a server at a place of its own. What was found there holds for every
// name and rule that it is given later.
func (p *pool) shape(t *testing.T, tenant string, n int) registry.Server {
	t.Helper()
	place, err := endpoint.Parse(fmt.Sprintf("%s/%s/%d/mcp", p.upstream, tenant, n), endpoint.Options{Loopback: true})
	if err != nil {
		t.Fatal(err)
	}
	ref := fmt.Sprintf("%s-ref-%d", tenant, n%3)
	s := registry.Server{
		Name: fmt.Sprintf("s%d", n), Endpoint: place, AllowedEndpoints: []string{place.String()}, Auth: secret.Bearer(ref),
		Secrets: map[string]secret.Source{ref: {Env: strings.ToUpper(tenant) + "_TOKEN"}}, Limits: registry.DefaultLimits(),
		Description: "files of " + tenant, UnexpectedTools: registry.UnexpectedHide, Pin: registry.PinBlock, Elicitation: registry.ElicitationRefuse,
	}
	if n%2 == 1 {
		s.AllowedTools = []string{"look", tenant + "_look"}
	}
	return s
}

// learn reads every place once, by a relay that allows everything.
func (p *pool) learn(t *testing.T, tenant string) {
	t.Helper()
	rules, err := policy.Compile([]policy.Rule{{Action: "mcp.*", Decision: policy.Allow}, {Action: "secret.use.*", Decision: policy.Allow, To: []string{"mcp.s0.*", "mcp.s1.*", "mcp.s2.*", "mcp.s3.*"}}})
	if err != nil {
		t.Fatal(err)
	}
	all := &registry.Tenant{ID: tenant, Servers: map[string]*registry.Server{}, Rules: rules, Settings: registry.DefaultSettings()}
	for i := range p.shapes[tenant] {
		all.Servers[p.shapes[tenant][i].Name] = &p.shapes[tenant][i]
	}
	catalogs := &kit.Catalogs{}
	w := p.world(map[string]*registry.Tenant{tenant: all}, true)
	w.config.Catalogs = catalogs
	r := w.relay()
	for _, s := range p.shapes[tenant] {
		c := call.Call{ID: "learn", At: p.now, Face: call.FaceMCP, Server: s.Name, Principal: call.Principal{Tenant: tenant, Subject: "ci", Kind: call.KindUser}}
		v, refusal := r.View(t.Context(), c)
		if refusal != nil || len(v.Tools()) == 0 || len(v.Prompts()) == 0 || len(v.Resources()) == 0 {
			t.Fatalf("%s shows %d tools: %v", s.Name, len(v.Tools()), refusal)
		}
		p.catalogs[s.Endpoint.String()], _ = catalogs.Catalog(t.Context(), tenant, s.Name)
	}
}

// compile makes policies that deny, watch, fail, and quote what they are asked.
func (p *pool) compile(t *testing.T, tenant string) {
	t.Helper()
	for i, body := range []string{
		`deny contains "TENANT forbids it" if input.relay.effect == "write"`,
		`deny contains sprintf("TENANT says %v at %v", [input.auth.subject, input.gateway.backend]) if input.request.method == "tools/call"`,
		`deny contains "TENANT knows no other" if input.relay.tenant != "TENANT"`,
		`deny contains {"TENANT": input.relay.tenant}`,
	} {
		for _, mode := range []string{registry.ModeEnforce, registry.ModeAudit} {
			one := registry.Policy{Name: fmt.Sprintf("%s-%d", tenant, i), Enabled: true, Mode: mode, Source: "package mcprelay.policy\n\n" + strings.ReplaceAll(body, "TENANT", tenant) + "\n"}
			engine, _, err := policy.NewEngine([]policy.Source{{Name: one.Name, Text: one.Source, Audit: mode == registry.ModeAudit}})
			if err != nil {
				t.Fatal(err)
			}
			p.policies[tenant], p.engines[tenant] = append(p.policies[tenant], one), append(p.engines[tenant], engine)
		}
	}
}

// Catalog gives what the place of a tenant's server was found to offer.
func (w *world) Catalog(_ context.Context, tenant, server string) (catalog.Catalog, error) {
	if s, ok := w.tenants[tenant].Servers[server]; ok {
		return w.pool.catalogs[s.Endpoint.String()], nil
	}
	return catalog.Catalog{}, nil
}

// PutCatalog keeps nothing: what is known is known for good.
func (w *world) PutCatalog(_ context.Context, _, _ string, c catalog.Catalog) (catalog.Catalog, error) {
	return c, nil
}

// serve is the upstream of both: the first part of the path says whose place it
// is, and is in every text of it.
func serve(w http.ResponseWriter, r *http.Request) {
	var body map[string]json.RawMessage
	if err := json.NewDecoder(r.Body).Decode(&body); err != nil {
		http.Error(w, "bad", http.StatusBadRequest)
		return
	}
	answer := map[string]string{
		`"server/discover"`:          `{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{"tools":{},"prompts":{},"resources":{}},"instructions":"TENANT helps","ttlMs":0,"cacheScope":"private"}`,
		`"tools/list"`:               `{"resultType":"complete","ttlMs":0,"cacheScope":"private","tools":[{"name":"look","description":"TENANT","inputSchema":{"type":"object"}},{"name":"change","inputSchema":{"type":"object"}},{"name":"TENANT_look","inputSchema":{"type":"object"}}]}`,
		`"resources/list"`:           `{"resultType":"complete","ttlMs":0,"cacheScope":"private","resources":[{"uri":"TENANT://a","name":"TENANT"},{"uri":"file:///a","name":"a"}]}`,
		`"resources/templates/list"`: `{"resultType":"complete","ttlMs":0,"cacheScope":"private","resourceTemplates":[{"uriTemplate":"TENANT://{a}","name":"TENANT"}]}`,
		`"prompts/list"`:             `{"resultType":"complete","ttlMs":0,"cacheScope":"private","prompts":[{"name":"ask","description":"TENANT"},{"name":"TENANT_ask"}]}`,
	}[string(body["method"])]
	if answer == "" {
		answer = `{"resultType":"complete","content":[{"type":"text","text":"of TENANT"}],"contents":[],"messages":[]}`
	}
	tenant, _, _ := strings.Cut(r.URL.Path[1:], "/")
	kit.Result(w, body, strings.ReplaceAll(answer, "TENANT", tenant))
}
