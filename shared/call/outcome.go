package call

// Outcome is what a call came to, the closed set of the audit trail.
type Outcome string

// The outcomes.
const (
	Answered         Outcome = "answered"
	RefusedByPolicy  Outcome = "refused_by_policy"
	RefusedByAddress Outcome = "refused_by_address"
	Redirected       Outcome = "redirected"
	NoAnswer         Outcome = "no_answer"
	Rejected         Outcome = "rejected" // never reached policy
)

// Stage is the station of the pipeline at which a call ended.
type Stage string

// The stages, in the order a call passes them.
const (
	StageParse      Stage = "parse"
	StageAuth       Stage = "auth"
	StagePolicy     Stage = "policy"
	StageIntent     Stage = "intent"
	StageCredential Stage = "credential"
	StageProcess    Stage = "process"
	StageAddress    Stage = "address"
	StageConnect    Stage = "connect"
	StageTLS        Stage = "tls"
	StageInitialize Stage = "initialize"
	StageList       Stage = "list"
	StageCall       Stage = "call"
	StageFinal      Stage = "final"
)

// Impact tells the agent whether a call that failed may have run upstream.
type Impact string

// The impacts.
const (
	ImpactNone    Impact = "none"    // provably not executed
	ImpactUnknown Impact = "unknown" // bytes of the call were written; it may have run
	ImpactDone    Impact = "done"    // the upstream answered
)

// PolicyVerdict is what the policies recommended, apart from what was done.
type PolicyVerdict string

// The verdicts.
const (
	PolicyAllow  PolicyVerdict = "allow"
	PolicyDeny   PolicyVerdict = "deny"
	PolicyError  PolicyVerdict = "error"
	PolicyNotRun PolicyVerdict = "not_run"
)

// Verdict is what the relay did about a call.
type Verdict string

// The verdicts. The zero Verdict means no decision was reached.
const (
	Allow Verdict = "allow"
	Deny  Verdict = "deny"
	Error Verdict = "error"
)

// Decision is the answer of the policy station. The zero Decision denies.
type Decision struct {
	Verdict Verdict
	Policy  PolicyVerdict
	Rule    string   // the action of the rule that decided, or of the missing one
	Reasons []string // texts for the audit trail, never for a stranger
	Effect  Effect   // of the tool
}
