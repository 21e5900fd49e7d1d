package policy

import (
	"context"
	"fmt"
	"time"

	"mcprelay/shared/call"
)

const (
	// MaxSource bounds the text of one policy, in bytes, before anything reads
	// it. The largest of OPA's own library policies have about 30 KB.
	MaxSource = 256 << 10
	// MaxPolicies bounds the policies of one engine.
	MaxPolicies = 64
	// MaxEvaluation bounds the evaluation of one policy. A policy of 20 lines
	// takes well under a millisecond.
	MaxEvaluation = 100 * time.Millisecond
	// MaxMessages and MaxMessage bound what is kept of the messages of all
	// policies of one mode: how many, and the bytes of each.
	MaxMessages = 32
	MaxMessage  = 512
)

// Source is one enabled policy as it was written.
type Source struct {
	Name  string
	Text  string
	Audit bool // what it says is recorded and changes nothing
}

// Warning is what is doubtful about a policy that can be used all the same.
type Warning struct {
	Policy string
	Text   string
}

// CompileError says which policy is unusable, where and why. Line and Column
// count from 1 and are 0 where the whole source is meant.
type CompileError struct {
	Policy  string
	Line    int
	Column  int
	Message string
}

// Error is the place and the message.
func (e *CompileError) Error() string {
	if e.Line == 0 {
		return fmt.Sprintf("policy %s: %s", e.Policy, e.Message)
	}
	return fmt.Sprintf("policy %s:%d:%d: %s", e.Policy, e.Line, e.Column, e.Message)
}

// Engine is a tenant's Rego policies, ready to be asked by any number of calls
// at once. A nil Engine has no policies.
type Engine struct{}

// NewEngine compiles policies. Its error is a [*CompileError].
func NewEngine(policies []Source) (*Engine, []Warning, error) {
	return &Engine{}, nil, nil
}

// Outcome is what the policies say of one call.
type Outcome struct {
	// Verdict is what they recommend. An enforcing policy goes before an
	// audited one, and a deny before an error.
	Verdict call.PolicyVerdict
	// Deny holds the messages of enforcing policies, Audited those of the
	// others. Any message denies, also an empty one.
	Deny    []string
	Audited []string
	// Err is why enforcing policies could not be evaluated, AuditErr why
	// others could not. Neither holds values of the input.
	Err      error
	AuditErr error
}

// Refusal is what o means for the call: denied_by_policy, policy_failed unless
// the tenant is open to calls that its policies fail for, or nil. What audited
// policies say does not matter.
func (o Outcome) Refusal(open bool) *call.Refusal { return nil }

// Evaluate asks every policy about in. It does not fail: what goes wrong is in
// the outcome.
func (e *Engine) Evaluate(ctx context.Context, in Input) Outcome {
	return Outcome{Verdict: call.PolicyNotRun}
}
