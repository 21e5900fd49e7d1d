package registry

import "errors"

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
	Servers []string // exact; nil for all
	Access  string   // AccessBuild or AccessRead
}

// Agent is what narrows a caller, by its subject.
func (t *Tenant) Agent(subject string) Agent {
	if a, ok := t.Agents[subject]; ok {
		return a
	}
	return Agent{Subject: subject, Access: AccessBuild}
}

// maxKeyedSubject bounds a subject that documents are named by, in bytes. A
// sort key of DynamoDB has 1024, its beginning included.
const maxKeyedSubject = 960

// AgentSubject says what is wrong with the subject of an agent.
func AgentSubject(s string) error {
	if err := Subject(s); err != nil {
		return err
	}
	if len(s) > maxKeyedSubject {
		return errors.New("it is longer than 960 bytes")
	}
	return nil
}
