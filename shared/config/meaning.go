package config

import (
	"mcprelay/shared/registry"
	"mcprelay/shared/secret"
)

// meaning is what a reference stands for, and the server that said so first, in
// words.
type meaning struct {
	source secret.Source
	server string
}

// checkMeanings wants one source for one reference throughout a tenant: rules
// name secrets by reference.
func checkMeanings(at node, s *registry.Server, meanings map[string]meaning) {
	for _, m := range at.members {
		source, ok := s.Secrets[m.name]
		if !ok {
			continue
		}
		first, known := meanings[m.name]
		if known && first.source != source {
			m.value.fail("this reference has another source in %s", first.server)
		}
		if !known {
			meanings[m.name] = meaning{source, serverNamed(s.Name)}
		}
	}
}

// serverNamed is a server in words. What is no name may be anything.
func serverNamed(name string) string {
	if registry.ServerName(name) != nil || value(name) {
		return "another server"
	}
	return "server " + name
}
