// Package registry is what a tenant registered: its servers, its rules, what
// narrows its callers and their calls, and its settings.
//
// It promises that what it holds was checked before it got here, and that the
// names a server's tools are offered under lead back to the upstream's own. It
// refuses to read or keep anything: config makes its values, stores keep its
// documents.
package registry

import (
	"encoding/json"
	"net/netip"
	"slices"

	"mcprelay/shared/call"
	"mcprelay/shared/endpoint"
	"mcprelay/shared/secret"
)

// What a server's unexpected tools come to (unexpected_tools).
const (
	UnexpectedFail = "fail"
	UnexpectedHide = "hide"
)

// What a tool comes to whose description is not the approved one (pin).
const (
	PinBlock = "block" // it is not listed, and not called
	PinWarn  = "warn"  // it is listed, called and reported
	PinOff   = "off"
)

// What a server's questions during a call come to (elicitation).
const (
	ElicitationRefuse = "refuse" // the call is refused
	ElicitationPass   = "pass"   // an agent that can be asked is
)

// Server is one registered upstream. Every map is keyed by the upstream's own
// tool names.
type Server struct {
	Name             string
	Endpoint         endpoint.URL
	AllowedEndpoints []string // holds the endpoint byte for byte
	Auth             secret.Auth
	Secrets          map[string]secret.Source // by reference
	AllowedTools     []string                 // exact; nil where the registration names none
	Bindings         map[string]string        // upstream name -> offered name
	Effects          map[string]call.Effect
	BudgetClasses    map[string]string
	PolicyMetadata   map[string]json.RawMessage
	Networks         []netip.Prefix // private networks; empty for public addresses only
	TLS              secret.TLSRefs // a private CA, a client certificate
	IPv6             bool           // IPv6 addresses are dialled too
	Process          *Process       // nil for a server that is reached by its endpoint
	Limits           Limits
	Description      string
	UnexpectedTools  string // UnexpectedFail or UnexpectedHide
	Pin              string // PinBlock, PinWarn or PinOff
	Elicitation      string // ElicitationRefuse or ElicitationPass
	RequireTurn      string // TurnNone, TurnWrites or TurnAll; empty for the tenant's
	ToolLimits       map[string]ToolLimit
}

// References lists the secrets that s uses, each once: those of its
// credential, of its TLS settings and of its process. Each needs a rule.
func (s *Server) References() []string {
	refs := slices.Concat(s.Auth.References(), s.TLS.References())
	if s.Process != nil {
		refs = append(refs, secret.Auth{Environment: s.Process.Env}.References()...)
	}
	var once []string
	for _, ref := range refs {
		if !slices.Contains(once, ref) {
			once = append(once, ref)
		}
	}
	return once
}

// Offered is the name that the tool upstream is offered under.
func (s *Server) Offered(upstream string) string {
	if name, ok := s.Bindings[upstream]; ok {
		return name
	}
	return upstream
}

// Upstream finds the upstream's own name of a tool by its offered name. It is
// false for a name that only the upstream uses, since it was bound to another.
// Of two tools that are bound to one name it is the first by their own, always.
func (s *Server) Upstream(offered string) (string, bool) {
	found := ""
	for upstream, name := range s.Bindings {
		if name == offered && (found == "" || upstream < found) {
			found = upstream
		}
	}
	if found != "" {
		return found, true
	}
	_, renamed := s.Bindings[offered]
	return offered, offered != "" && !renamed
}

// Effect is the registered effect of a tool, by its upstream name.
func (s *Server) Effect(tool string) call.Effect { return s.Effects[tool] }

// BudgetClass is the registered budget class of a tool, by its upstream name;
// empty where there is none.
func (s *Server) BudgetClass(tool string) string { return s.BudgetClasses[tool] }

// Metadata is the registered policy metadata of a tool, by its upstream name:
// an object of compact JSON, nil where there is none. It must not be changed.
func (s *Server) Metadata(tool string) json.RawMessage { return s.PolicyMetadata[tool] }

// HasTool reports whether the registration lets a tool, by its upstream name,
// exist: any name where allowed_tools was not given.
func (s *Server) HasTool(tool string) bool {
	return tool != "" && (s.AllowedTools == nil || slices.Contains(s.AllowedTools, tool))
}

// AllowsEndpoint reports whether the endpoint is among the allowed ones, byte
// for byte. It is asked again at every call. A child process has none, and
// nothing else will do.
func (s *Server) AllowsEndpoint() bool {
	if s.Process != nil {
		return s.Endpoint == endpoint.URL{} && s.AllowedEndpoints == nil
	}
	return slices.Contains(s.AllowedEndpoints, s.Endpoint.String())
}
