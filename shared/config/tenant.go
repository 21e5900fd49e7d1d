package config

import (
	"mcprelay/shared/registry"
)

// maxServers bounds the servers that one tenant registers. They are loaded by
// one query.
const maxServers = 256

// parts is a registration taken apart: what a file holds in one value, a store
// keeps in several.
type parts struct {
	report   *report
	tenant   string
	servers  []node
	rules    node
	agents   []node
	policies []node
	budgets  []member
	issuers  []node
	settings object
	explain  bool // agents are told of refusals where the settings are silent
	options  Options
	read     func(file string) ([]byte, error) // below the config file; nil where there is none
}

// build checks the parts, each and together.
func (p parts) build() (*registry.Tenant, []*registry.Server) {
	t := &registry.Tenant{ID: p.tenant, Servers: make(map[string]*registry.Server)}
	var servers []*registry.Server
	if len(p.servers) > maxServers {
		p.servers[maxServers].fail("a tenant has at most %d servers", maxServers)
		return t, nil
	}
	meanings := make(map[string]meaning)
	for _, n := range p.servers {
		s := readServer(n, p.tenant, p.options)
		if _, taken := t.Servers[s.Name]; taken && s.Name != "" {
			object{n}.get("name").fail("another server has this name")
		}
		checkMeanings(object{n}.get("secrets"), s, meanings)
		t.Servers[s.Name] = s
		servers = append(servers, s)
	}
	t.Rules = readRules(p.rules)
	t.Agents = readAgents(p.agents)
	t.Policies, t.Engine = p.readPolicies()
	t.Budgets = readBudgets(p.budgets)
	p.checkClasses()
	t.Issuers = readIssuers(p.issuers, p.options)
	t.Settings = readSettings(p.settings, p.explain)
	if len(p.report.problems) == 0 {
		p.warn(t)
	}
	return t, servers
}
