package policy

import (
	"fmt"
	"time"
)

const (
	// MaxSource bounds the text of one policy, in bytes, before anything reads
	// it: thousands of lines, and well below the 400 KB of one stored item.
	MaxSource = 256 << 10
	// MaxPolicies bounds the policies of one engine.
	MaxPolicies = 64
	// MaxEvaluation bounds the evaluation of one policy, so that one that
	// explodes cannot keep others from denying. A policy of 20 lines takes
	// some 70 microseconds (BenchmarkDecision).
	MaxEvaluation = 100 * time.Millisecond
	// MaxDigits bounds a number of the input document, in bytes. To compare one
	// of a million digits takes seconds, which no deadline ends.
	MaxDigits = 1000
	// MaxMessages bounds how many messages are kept of all policies of one mode.
	MaxMessages = 32
	// MaxMessage bounds each of them, in bytes.
	MaxMessage = 512
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
//
// Each policy stands alone: it sees the input document and its own rules, no
// data and no other policy. Its package is mcprelay.policy or chalk.policy, and
// its deny a set of messages, each of which denies. Rego v1 is read first; a
// source that is v0 works too, with a warning. Policies have no network, files,
// environment, clock or random numbers.
//
// # Bounds
//
// An evaluation ends at [MaxEvaluation]: between any two steps, and within the
// functions that can make much of little (numbers.range, concat). OPA has no
// bound of memory, nor one within a step. What holds them is that a policy cannot
// build for longer than that (what was tried took 120 MB at most), that functions
// give at most 32 MiB in one evaluation, and that a function which would look for
// too much in too long a text, or for a pattern in too many ways, ends the
// evaluation before it begins. A call for which that happens is refused with
// policy_failed in any case, since it is partly the agent's doing.
type Engine struct {
	policies []prepared
}

// NewEngine compiles policies. Its error is a [*CompileError].
func NewEngine(policies []Source) (*Engine, []Warning, error) {
	if len(policies) > MaxPolicies {
		return nil, nil, &CompileError{Policy: policies[MaxPolicies].Name, Message: fmt.Sprintf("there are more than %d policies", MaxPolicies)}
	}
	e := &Engine{}
	var warnings []Warning
	for _, source := range policies {
		p, doubts, err := prepare(source)
		if err != nil {
			return nil, nil, err
		}
		e.policies = append(e.policies, p)
		for _, text := range doubts {
			warnings = append(warnings, Warning{Policy: source.Name, Text: text})
		}
	}
	return e, warnings, nil
}
