package session

import "time"

// ClosingGrace is how long after it expired a state with a session id is still
// kept, so that whoever closes sessions can end it at the server.
const ClosingGrace = 48 * time.Hour

// Owner says for whom a session was opened: enough to close it without the
// caller. The zero Owner is nobody.
type Owner struct {
	Tenant  string `json:"tenant,omitempty"`
	Server  string `json:"server,omitempty"`
	Subject string `json:"subject,omitempty"`
	Kind    string `json:"kind,omitempty"` // of the caller, with its issuer: [call.Principal.Domain]
	Run     string `json:"run,omitempty"`  // empty: the caller named none
}

// RunKey names a run of one caller, for finding its sessions.
func RunKey(tenant, kind, subject, run string) Key {
	return digest("R#", tenant, kind, subject, run)
}

// RunKey is the run that s belongs to; empty where it belongs to none, and
// where there is no session that could be closed.
func (s State) RunKey() Key {
	if s.Owner.Run == "" || s.SessionID == "" {
		return ""
	}
	return RunKey(s.Owner.Tenant, s.Owner.Kind, s.Owner.Subject, s.Owner.Run)
}

// Entry is a stored state and its key.
type Entry struct {
	Key   Key
	State State
}
