package policy

import (
	"slices"

	"mcprelay/shared/call"
)

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
func Narrow(servers []string, server string) bool {
	return servers == nil || slices.Contains(servers, server)
}

// Scoped refuses, with out_of_scope, a server that c is not scoped to.
func (c Caller) Scoped(server string) *call.Refusal {
	if Narrow(c.Servers, server) {
		return nil
	}
	return call.Refuse(call.OutOfScope, "the agent is not scoped to server %.64s", server)
}

// Permits refuses, with access_read, the tools that the access of c does not
// reach: with read those that are not classified as read, with an access that
// nobody knows all of them. What is no tool is read by its nature.
func (c Caller) Permits(op call.Operation, t Target) *call.Refusal {
	if op != call.OperationToolsCall && t.Tool == "" {
		return nil
	}
	switch {
	case c.Access == "", c.Access == AccessBuild:
		return nil
	case c.Access == AccessRead && t.Effect == call.EffectRead:
		return nil
	}
	return call.Refuse(call.AccessRead, "the agent has access %.32q, and the tool %.64s of server %.64s is not classified as read", string(c.Access), t.Tool, t.Server)
}

// Offered reports whether c is shown the tool, resource or prompt of t as far
// as its scope and access go; [Offers] says what the rules do.
func (c Caller) Offered(t Target) bool {
	return c.Scoped(t.Server) == nil && c.Permits("", t) == nil
}
