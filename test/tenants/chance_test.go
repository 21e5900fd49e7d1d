package tenants_test

import (
	"encoding/json"
	"math/rand/v2"
	"slices"

	"mcprelay/shared/call"
	"mcprelay/shared/policy"
	"mcprelay/shared/registry"
)

// chance makes registrations and calls of a tenant, the same from the same seed.
type chance struct {
	*rand.Rand
	pool   *pool
	tenant string
}

func one[T any](c chance, of ...T) T { return of[c.IntN(len(of))] }

// often is true in n of 100 cases.
func (c chance) often(n int) bool { return c.IntN(100) < n }

// Names are the tenant's own, and some that both have.
func (c chance) server() string  { return one(c, "files", "mail", c.tenant+"-db") }
func (c chance) tool() string    { return one(c, "look", "change", c.tenant+"_look") }
func (c chance) subject() string { return one(c, "ci", "dev", c.tenant+"-agent") }
func (c chance) class() string   { return one(c, "reads", c.tenant+"-class") }

func (c chance) registration() *registry.Tenant {
	t := &registry.Tenant{ID: c.tenant, Servers: map[string]*registry.Server{}, Settings: registry.DefaultSettings()}
	for range 1 + c.IntN(3) {
		s := c.newServer()
		t.Servers[s.Name] = s
	}
	t.Rules = c.rules()
	if c.often(50) {
		t.Agents = map[string]registry.Agent{}
		for range 1 + c.IntN(3) {
			a := c.agent()
			t.Agents[a.Subject] = a
		}
	}
	if c.often(20) {
		i := c.IntN(len(c.pool.engines[c.tenant]))
		t.Policies, t.Engine = c.pool.policies[c.tenant][i:i+1], c.pool.engines[c.tenant][i]
	}
	if c.often(60) {
		class := c.class()
		t.Budgets = map[string]registry.Budget{class: {Class: class, PerMinute: 1 + c.IntN(3), PerDay: c.IntN(4), OnError: registry.OnErrorRefuse}}
	}
	t.Settings.ExplainRefusals = c.often(70)
	t.Settings.MaxServers = one(c, 1, 2, 8)
	t.Settings.OnPolicyError = one(c, registry.PolicyErrorRefuse, registry.PolicyErrorAllow)
	t.Settings.RequireTurn = one(c, registry.TurnNone, registry.TurnNone, registry.TurnWrites, registry.TurnAll)
	t.Settings.AuditIntent = one(c, registry.IntentWrites, registry.IntentAll)
	t.Settings.AuditArguments = one(c, registry.ArgumentsPreview, registry.ArgumentsDigest)
	return t
}

func (c chance) newServer() *registry.Server {
	s := c.pool.shapes[c.tenant][c.IntN(shapes)]
	s.Name = c.server()
	s.Effects = map[string]call.Effect{"look": call.EffectRead, c.tenant + "_look": one(c, call.EffectRead, call.EffectWrite)}
	s.PolicyMetadata = map[string]json.RawMessage{"look": json.RawMessage(`{"owner":"` + c.tenant + `"}`)}
	if c.often(60) {
		s.BudgetClasses = map[string]string{"look": c.class(), c.tenant + "_look": c.class()}
	}
	if c.often(20) {
		s.ToolLimits = map[string]registry.ToolLimit{"look": {PerMinute: 1, ArgumentsBytes: int64(c.IntN(20))}}
	}
	if c.often(20) {
		s.Bindings = map[string]string{"look": c.tenant + "_seen"}
	}
	s.RequireTurn = one(c, "", "", registry.TurnNone, registry.TurnAll)
	s.Pin = one(c, registry.PinBlock, registry.PinWarn, registry.PinOff)
	return &s
}

// rules allow everything first, most of the time, and are refined at random.
func (c chance) rules() policy.Rules {
	var rules []policy.Rule
	if c.often(80) {
		rules = []policy.Rule{{Action: "mcp.*", Decision: policy.Allow}, {Action: "secret.use.*", Decision: policy.Allow, To: []string{"mcp.files.*", "mcp.mail.*", "mcp." + c.tenant + "-db.*"}}}
	}
	for range c.IntN(4) {
		action := one(c, ".*", ".tool.*", ".tool."+c.tool(), ".host.127.0.0.1", ".prompt.*", ".prompt."+c.tenant+"_ask", ".resource.*")
		rules = append(rules, policy.Rule{Action: "mcp." + c.server() + action, Decision: one(c, policy.Allow, policy.Deny, policy.Ask)})
	}
	if c.often(30) {
		rules = append(rules, policy.Rule{Action: "secret.use." + c.tenant + "-ref-1", Decision: one(c, policy.Allow, policy.Deny), To: []string{"mcp." + c.server() + ".*"}})
	}
	table, err := policy.Compile(rules)
	if err != nil {
		return policy.Rules{} // refuses everything; how many do is counted
	}
	return table
}

func (c chance) agent() registry.Agent {
	a := registry.Agent{Subject: c.subject(), Access: one(c, registry.AccessBuild, registry.AccessRead)}
	if c.often(50) {
		a.Servers = slices.Compact(slices.Sorted(slices.Values([]string{c.server(), c.server()})))
	}
	return a
}
