package audit

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"time"
	"unicode/utf8"

	"mcprelay/shared/call"
)

// Begin makes the record of a call that has just arrived: who, what, and
// nothing yet of how it ended.
func Begin(c call.Call) Record {
	return Record{
		State:          StateIntent,
		CallID:         c.ID,
		Tenant:         c.Principal.Tenant,
		Time:           c.At.UTC(),
		Agent:          c.Principal.Subject,
		Kind:           c.Principal.Kind,
		KeyID:          c.Principal.KeyID,
		Issuer:         c.Principal.TokenIssuer,
		Face:           c.Face,
		Operation:      c.Operation,
		Server:         c.Server,
		Tool:           c.Tool,
		About:          cut(c.About(), MaxAbout),
		Run:            c.Run,
		Turn:           c.Turn,
		Traceparent:    c.Traceparent,
		Policy:         call.PolicyNotRun,
		ArgumentsBytes: len(c.Arguments),
	}
}

// Decide notes what the policy station decided, and for which upstream tool.
func (r *Record) Decide(tool string, d call.Decision) {
	r.Tool = tool
	if r.Operation == call.OperationToolsCall {
		r.About = tool
	}
	r.Policy, r.Rule, r.Decision = d.Policy, d.Rule, d.Verdict
	r.Reasons, r.ToolEffect = d.Reasons, d.Effect
	if r.Policy == "" {
		r.Policy = call.PolicyNotRun
	}
}

// Note notes what the policies recommend: the messages of those that enforce and
// of those that only watch. They were bounded where they were made.
func (r *Record) Note(verdict call.PolicyVerdict, enforced, audited []string) {
	r.Policy = verdict
	for _, message := range enforced {
		r.Reasons = append(r.Reasons, "policy: "+message)
	}
	for _, message := range audited {
		r.Reasons = append(r.Reasons, "audited policy: "+message)
	}
}

// Refuse notes that the call ended with a refusal.
func (r *Record) Refuse(refusal *call.Refusal) {
	row := refusal.Row()
	r.Outcome, r.Reason, r.Stage = row.Outcome, row.Reason, row.Stage
	r.Effect, r.Detail = refusal.MayHaveRun(), cut(refusal.Detail, MaxDetail)
	if refusal.Status != 0 {
		r.Status = refusal.Status
	}
	switch {
	case refusal.Reason == call.PolicyUnavailable:
		r.Decision = call.Error
	case row.Outcome == call.RefusedByPolicy:
		r.Decision = call.Deny
	}
}

// Answer notes that the upstream answered, with one of the answered reasons.
func (r *Record) Answer(reason call.Reason) {
	row := reason.Row()
	r.Outcome, r.Reason, r.Stage, r.Effect = row.Outcome, row.Reason, row.Stage, row.Impact
}

// Finish completes the record at the given time.
func (r *Record) Finish(now time.Time) {
	r.State = StateFinal
	r.DurationMS = float64(now.Sub(r.Time).Microseconds()) / 1000
}

// Bounds of texts in a record, in bytes.
const (
	MaxAbout   = 512 // a URI may have thousands, and stands in keys of indexes
	MaxDetail  = 512 // an operator reads one line
	MaxPreview = 256 // of the arguments; an item stays far below 350 KB
)

// Arguments notes the arguments as the tenant wants them kept: "preview" (cut,
// after begin has masked that many bytes of them), "digest" (SHA-256) or "none".
func (r *Record) Arguments(arguments json.RawMessage, mode string, begin func([]byte, int) []byte) {
	if len(arguments) == 0 {
		return
	}
	switch mode {
	case "none":
	case "digest":
		sum := sha256.Sum256(arguments)
		r.ArgumentsDigest = hex.EncodeToString(sum[:])
	default:
		r.ArgumentsPreview = cut(string(begin(arguments, MaxPreview+1)), MaxPreview)
	}
}

// cut shortens s to at most max bytes at a rune border and marks the cut.
func cut(s string, max int) string {
	if len(s) <= max {
		return s
	}
	s = s[:max]
	for len(s) > 0 {
		if r, size := utf8.DecodeLastRuneInString(s); r != utf8.RuneError || size != 1 {
			break
		}
		s = s[:len(s)-1]
	}
	return s + "…"
}
