package config

import (
	"fmt"
	"slices"
	"strings"
	"unicode"

	"mcprelay/shared/endpoint"
	"mcprelay/shared/registry"
)

const (
	serverKeys = "name config secrets allowed_networks"

	// What a server has by its endpoint, by its process, and either way.
	endpointKeys = "endpoint allowed_endpoints tls ipv6"
	processKeys  = "command args env"
	eitherKeys   = "tenant_id auth allowed_tools bindings effects budget_classes policy_metadata source_description unexpected_tools pin elicitation require_turn limits"

	// maxDescription bounds source_description, in bytes.
	maxDescription = 1024
)

// configKeys lists the fields of config.
func configKeys() string {
	keys := endpointKeys + " " + processKeys + " " + eitherKeys
	for _, limit := range registry.ServerLimits() {
		keys += " " + limit.Key
	}
	return keys
}

// readServer reads one element of servers.
func readServer(n node, tenant string, o Options) *registry.Server {
	entry := n.object(serverKeys)
	s := &registry.Server{Limits: registry.DefaultLimits()}
	s.Name = entry.get("name").name(registry.ServerName)
	s.Secrets = readSecrets(entry.get("secrets"))
	config := entry.get("config").object(configKeys())
	if !config.present() {
		s.Networks = readNetworks(entry.get("allowed_networks"))
		return s
	}
	if !readTransport(entry, config, s, o) {
		return s
	}
	if id := config.get("tenant_id"); id.present() && id.text() != tenant {
		id.fail("it is not the tenant of this registration")
	}
	readTools(config, s)
	readLimits(config, s)
	s.Description = config.get("source_description").description()
	s.UnexpectedTools = config.get("unexpected_tools").word(registry.UnexpectedFail, registry.UnexpectedHide)
	s.Pin = config.get("pin").word(registry.PinBlock, registry.PinWarn, registry.PinOff)
	s.Elicitation = config.get("elicitation").word(registry.ElicitationRefuse, registry.ElicitationPass)
	if turn := config.get("require_turn"); turn.present() {
		s.RequireTurn = turn.word(registry.TurnNone, registry.TurnWrites, registry.TurnAll)
	}
	return s
}

// readTransport reads how a server is reached: a URL means HTTP, a command a
// child process, never both. It is false where the rest of the entry is of no
// interest, because its kind is not to be had.
func readTransport(entry, config object, s *registry.Server, o Options) bool {
	command := config.get("command")
	if command.present() && !config.get("endpoint").present() {
		return readProcess(entry, config, s, o)
	}
	if command.present() {
		command.fail("it cannot stand beside endpoint: a URL means HTTP, a command means a child process")
	} else {
		config.refuse("args env", "it is for a child process, which has a command")
	}
	s.Networks = readNetworks(entry.get("allowed_networks"))
	readEndpoints(config, s, endpoint.Options{Loopback: o.Loopback, PrivateNames: len(s.Networks) > 0})
	s.Auth = readAuth(config.get("auth"), s.Secrets)
	s.TLS = readTLS(config.get("tls"), s)
	s.IPv6 = config.get("ipv6").flag(false)
	return true
}

// readEndpoints reads the endpoint and what it must be among: itself where
// allowed_endpoints is not there.
func readEndpoints(config object, s *registry.Server, o endpoint.Options) {
	at := config.get("endpoint")
	s.Endpoint = at.endpoint(o)
	allowed := config.get("allowed_endpoints")
	if !allowed.present() {
		s.AllowedEndpoints = []string{s.Endpoint.String()}
		return
	}
	s.AllowedEndpoints = allowed.texts(func(text string) error {
		_, err := endpoint.Parse(text, o)
		return err
	})
	if len(s.AllowedEndpoints) > 0 && at.kind == '"' && !slices.Contains(s.AllowedEndpoints, at.text()) {
		allowed.fail("it does not hold the endpoint, byte for byte")
	}
}

func (n node) endpoint(o endpoint.Options) endpoint.URL {
	text := n.text()
	if n.kind != '"' {
		return endpoint.URL{}
	}
	u, err := endpoint.Parse(text, o)
	n.check(err)
	return u
}

func readLimits(config object, s *registry.Server) {
	for _, limit := range registry.ServerLimits() {
		at := config.get(limit.Key)
		if number, ok := at.limit(); ok {
			at.check(limit.Set(&s.Limits, number))
		}
	}
}

func (n node) description() string {
	if !n.present() {
		return ""
	}
	return n.name(func(s string) error {
		if len(s) > maxDescription {
			return fmt.Errorf("it is longer than %d bytes", maxDescription)
		}
		if strings.ContainsFunc(s, func(r rune) bool { return unicode.IsControl(r) && r != '\n' }) {
			return fmt.Errorf("it holds a control character")
		}
		return nil
	})
}
