package config

import "mcprelay/shared/registry"

// readAgents reads what narrows callers; nil where nothing does.
func readAgents(nodes []node) map[string]registry.Agent {
	if tooMany(nodes, registry.MaxAgents, "agents") {
		return nil
	}
	var agents map[string]registry.Agent
	for _, n := range nodes {
		o := n.object("subject issuer servers access")
		a := registry.Agent{
			Subject: o.get("subject").name(registry.AgentSubject),
			Servers: o.get("servers").texts(registry.ServerName),
			Access:  o.get("access").word(registry.AccessBuild, registry.AccessRead),
		}
		if issuer := o.get("issuer"); issuer.present() {
			a.Issuer = issuer.name(plainWord(registry.MaxIssuerID))
		}
		if _, taken := agents[a.Subject]; taken && a.Subject != "" {
			o.get("subject").fail("another agent has this subject")
		}
		if agents == nil {
			agents = make(map[string]registry.Agent)
		}
		agents[a.Subject] = a
	}
	return agents
}

// tooMany reports more nodes than a tenant may have, at the first of these.
func tooMany(nodes []node, most int, what string) bool {
	if len(nodes) <= most {
		return false
	}
	nodes[most].fail("a tenant has at most %d %s", most, what)
	return true
}
