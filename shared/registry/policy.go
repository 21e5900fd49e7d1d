package registry

// What a policy's answer comes to (mode).
const (
	ModeEnforce = "enforce" // what it denies is refused
	ModeAudit   = "audit"   // what it denies is recorded
)

// What a call comes to that a policy could not judge (on_policy_error).
const (
	PolicyErrorRefuse = "refuse"
	PolicyErrorAllow  = "allow"
)

// Which calls need a turn that offers them (require_turn).
const (
	TurnNone   = "none"
	TurnWrites = "writes" // those of tools whose effect is not read
	TurnAll    = "all"
)

// Policy is one source of Rego. A policy that is not enabled is checked like
// any other, and asked nothing.
type Policy struct {
	Name    string
	Source  string
	Enabled bool
	Mode    string // ModeEnforce or ModeAudit
}

// PolicyName says what is wrong with the name of a policy:
// [A-Za-z0-9][A-Za-z0-9._-]{0,63}.
func PolicyName(s string) error {
	return spelled(s, letters+digits, letters+digits+"._-", maxName)
}
