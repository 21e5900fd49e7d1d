package registry

import (
	"mcprelay/shared/call"
	"mcprelay/shared/policy"
	"mcprelay/shared/secret"
)

// The values of the settings; the first of each is the default.
const (
	IntentWrites = "writes" // audit_intent: intents of calls that may write
	IntentAll    = "all"

	FinalBefore = "before" // audit_final: before the reply's last byte
	FinalAfter  = "after"

	ArgumentsPreview = "preview" // audit_arguments: masked and cut
	ArgumentsDigest  = "digest"
	ArgumentsNone    = "none"
)

// How many servers are offered to one caller (max_servers): what holds where a
// tenant is silent, and the hard cap.
const (
	DefaultMaxServers = 8
	CapMaxServers     = 64
)

// Settings are a tenant's choices. The zero Settings is unusable; see
// [DefaultSettings].
type Settings struct {
	AuditIntent     string
	AuditFinal      string
	AuditArguments  string
	ExplainRefusals bool   // agents are told which rule refused them
	MaxServers      int    // offered to one caller
	OnPolicyError   string // PolicyErrorRefuse or PolicyErrorAllow
	RequireTurn     string // TurnNone, TurnWrites or TurnAll; of a server that says nothing
}

// DefaultSettings are the settings of a tenant that made no choice.
func DefaultSettings() Settings {
	return Settings{AuditIntent: IntentWrites, AuditFinal: FinalBefore, AuditArguments: ArgumentsPreview, MaxServers: DefaultMaxServers, OnPolicyError: PolicyErrorRefuse, RequireTurn: TurnNone}
}

// Tenant is everything one tenant registered, checked as a whole.
type Tenant struct {
	ID       string
	Servers  map[string]*Server
	Rules    policy.Rules
	Agents   map[string]Agent  // by subject
	Policies []Policy          // by name
	Engine   *policy.Engine    // of the enabled ones; nil where there are none
	Budgets  map[string]Budget // by class; a class without one is counted by nobody
	Issuers  []Issuer          // by issuer
	Settings Settings
	Rev      int64 // the highest revision among its documents; 0 for a file
}

// Shared reports whether several servers of t refer to the secret ref, or
// another one reads the same secret under another reference: a new entry
// cannot borrow a token by a name of its own.
func (t *Tenant) Shared(ref string) bool {
	for name, s := range t.Servers {
		source, ok := s.Secrets[ref]
		if !ok {
			continue
		}
		for other, o := range t.Servers {
			if other != name && o.reads(ref, source) {
				return true
			}
		}
	}
	return false
}

// RequiresTurn reports whether a call of s with this effect needs a turn that
// offers it.
func (t *Tenant) RequiresTurn(s *Server, effect call.Effect) bool {
	required := t.Settings.RequireTurn
	if s.RequireTurn != "" {
		required = s.RequireTurn
	}
	return required == TurnAll || required == TurnWrites && effect != call.EffectRead
}

// reads reports whether s refers to ref, or to source by any reference.
func (s *Server) reads(ref string, source secret.Source) bool {
	if _, ok := s.Secrets[ref]; ok {
		return true
	}
	for _, own := range s.Secrets {
		if own.Overlaps(source) {
			return true
		}
	}
	return false
}
