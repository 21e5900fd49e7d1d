package registry

import "fmt"

// How far an agent may go on the servers that it may use (access).
const (
	AccessBuild = "build" // reads and writes; where the registration is silent
	AccessRead  = "read"  // tools whose effect is read
)

// MaxAgents bounds the agents that one tenant narrows. They are loaded by one
// query.
const MaxAgents = 1024

// Agent narrows what a caller may do, by its subject. A caller without one may
// use every server, for reads and writes, as far as the rules allow.
type Agent struct {
	Subject string
	Issuer  string   // who named Subject, see [call.Principal]; empty for the tenant itself
	Servers []string // exact; nil for all
	Access  string   // AccessBuild or AccessRead
}

// Narrowed is the entry of a caller, by its subject and who named it; false
// where it has none. An entry is of one of them: another issuer's caller of the
// same subject is somebody else.
func (t *Tenant) Narrowed(subject, issuer string) (Agent, bool) {
	a, ok := t.Agents[subject]
	return a, ok && a.Issuer == issuer
}

// Agent is what narrows a caller, see [Tenant.Narrowed]: nothing where it has no
// entry.
func (t *Tenant) Agent(subject, issuer string) Agent {
	if a, ok := t.Narrowed(subject, issuer); ok {
		return a
	}
	return Agent{Subject: subject, Issuer: issuer, Access: AccessBuild}
}

// AgentSubject says what is wrong with the subject of an agent, which names its
// document.
func AgentSubject(s string) error {
	if err := Subject(s); err != nil {
		return err
	}
	if len(s) > maxKeyed {
		return fmt.Errorf("it is longer than %d bytes", maxKeyed)
	}
	return nil
}
