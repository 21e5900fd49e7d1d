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

	configKeys = "endpoint allowed_endpoints tenant_id auth allowed_tools bindings effects budget_classes policy_metadata " +
		"source_description unexpected_tools " +
		"startup_timeout_ms request_timeout_ms max_result_bytes max_descriptor_bytes max_tool_pages max_tools"
	laterConfigKeys = "command args env tls ipv6 pin elicitation require_turn " +
		"close_timeout_ms max_frame_bytes max_in_flight reconnect_attempts backoff_ms"

	// maxDescription bounds source_description, in bytes.
	maxDescription = 1024
)

// readServer reads one element of servers.
func readServer(n node, tenant string, o Options) *registry.Server {
	entry := n.object(serverKeys, "")
	s := &registry.Server{Limits: registry.DefaultLimits()}
	s.Name = entry.get("name").name(registry.ServerName)
	s.Secrets = readSecrets(entry.get("secrets"))
	s.Networks = readNetworks(entry.get("allowed_networks"))
	config := entry.get("config").object(configKeys, laterConfigKeys)
	if !config.present() || stdio(config) {
		return s
	}
	readEndpoints(config, s, endpoint.Options{Loopback: o.Loopback, PrivateNames: len(s.Networks) > 0})
	if id := config.get("tenant_id"); id.present() && id.text() != tenant {
		id.fail("it is not the tenant of this registration")
	}
	s.Auth = readAuth(config.get("auth"), s.Secrets)
	readTools(config, s)
	readLimits(config, s)
	s.Description = config.get("source_description").description()
	s.UnexpectedTools = config.get("unexpected_tools").word(registry.UnexpectedFail, registry.UnexpectedHide)
	return s
}

// stdio reports whether the entry is a child process, which is one problem,
// not one for each key that such an entry lacks.
func stdio(config object) bool {
	return config.get("command").present() && !config.get("endpoint").present()
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
		if !at.present() {
			continue
		}
		if number, ok := at.number(); ok {
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
