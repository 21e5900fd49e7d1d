package policy

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"mcprelay/shared/call"

	"github.com/open-policy-agent/opa/v1/ast"
	"github.com/open-policy-agent/opa/v1/metrics"
	"github.com/open-policy-agent/opa/v1/rego"
	"github.com/open-policy-agent/opa/v1/topdown"
)

// Outcome is what the policies say of one call.
type Outcome struct {
	// Verdict is what they recommend, which is not what is done: see
	// [Outcome.Refusal]. An enforcing policy goes before an audited one, and a
	// deny before an error.
	Verdict call.PolicyVerdict
	// Deny holds the messages of enforcing policies, Audited those of the
	// others. Any message denies, also an empty one.
	Deny    []string
	Audited []string
	// DenyBy and AuditedBy name the policy of each message.
	DenyBy, AuditedBy []string
	// Err is why enforcing policies could not be evaluated, AuditErr why
	// others could not. Neither holds values of the input.
	Err      error
	AuditErr error
}

// errInput says that no policy could be asked. It is the agent's doing, so that
// no setting lets the call pass for it.
var errInput = errors.New("the input document cannot be read")

// errSlow and errEnded say that a policy was not asked to its end. What it would
// have said is unknown, and how long it takes is partly the agent's doing: no
// setting lets the call pass for it either.
var (
	errSlow  = fmt.Errorf("it took longer than %v", MaxEvaluation)
	errEnded = errors.New("the call ended first")
)

// Refusal is what o means for the call: denied_by_policy, policy_failed unless
// the tenant is open to calls that its policies fail for, or nil. A call that
// enforcing policies cannot be asked about, or to their end, is refused either
// way. What audited policies say does not matter.
func (o Outcome) Refusal(open bool) *call.Refusal {
	switch {
	case len(o.Deny) > 0:
		return call.Refuse(call.DeniedByPolicy, "%s", cut(strings.Join(o.Deny, "; ")))
	case o.Err != nil && (!open || unasked(o.Err)):
		return call.Refuse(call.PolicyFailed, "%s", cut(o.Err.Error()))
	}
	return nil
}

// unasked reports whether a policy was not asked to its end.
func unasked(err error) bool {
	return errors.Is(err, errInput) || errors.Is(err, errSlow) || errors.Is(err, errLarge) || errors.Is(err, errEnded)
}

// Evaluate asks every policy about in, those that enforce and those that do
// not, whatever the others said. It does not fail: what goes wrong is in the
// outcome. It returns when ctx ends.
func (e *Engine) Evaluate(ctx context.Context, in Input) Outcome {
	if e == nil || len(e.policies) == 0 {
		return Outcome{Verdict: call.PolicyNotRun}
	}
	doc, err := in.value()
	var enforced, audited answers
	for _, p := range e.policies {
		to := &enforced
		if p.audit {
			to = &audited
		}
		if err != nil {
			to.fail(p.name, err)
			continue
		}
		to.take(ctx, p, doc)
	}
	return Outcome{
		Verdict: verdict(enforced, audited), Deny: enforced.messages, Audited: audited.messages, DenyBy: enforced.by, AuditedBy: audited.by,
		Err: errors.Join(enforced.errs...), AuditErr: errors.Join(audited.errs...),
	}
}

// value is the input document as OPA takes it.
func (in Input) value() (ast.Value, error) {
	doc, err := in.Document()
	if err != nil || hasLongNumber(doc) {
		return nil, errInput
	}
	v, err := ast.ValueFromReader(bytes.NewReader(doc))
	if err != nil {
		return nil, errInput
	}
	return v, nil
}

// hasLongNumber reports whether a number of doc has more than MaxDigits bytes.
func hasLongNumber(doc []byte) bool {
	inString, length := false, 0
	for i := 0; i < len(doc); i++ {
		switch c := doc[i]; {
		case inString && c == '\\':
			i++
		case c == '"':
			inString, length = !inString, 0
		case !inString && (c >= '0' && c <= '9' || c == '-' || c == '+' || c == '.' || c == 'e' || c == 'E'):
			if length++; length > MaxDigits {
				return true
			}
		default:
			length = 0
		}
	}
	return false
}

// answers are those of the policies of one mode.
type answers struct {
	messages []string
	by       []string // the policy of each
	errs     []error
}

func verdict(enforced, audited answers) call.PolicyVerdict {
	for _, a := range []answers{enforced, audited} {
		switch {
		case len(a.messages) > 0:
			return call.PolicyDeny
		case len(a.errs) > 0:
			return call.PolicyError
		}
	}
	return call.PolicyAllow
}

func (a *answers) fail(policy string, err error) {
	a.errs = append(a.errs, fmt.Errorf("policy %s: %w", policy, err))
}

// take asks p. A set with a message and something else both denies and fails.
func (a *answers) take(ctx context.Context, p prepared, doc ast.Value) {
	set, err := p.eval(ctx, doc)
	if err != nil {
		a.fail(p.name, err)
		return
	}
	if set == nil {
		return
	}
	// The order of a set's members is that of OPA, the same for every call.
	for _, member := range set.Slice() {
		message, ok := member.Value.(ast.String)
		if !ok {
			a.fail(p.name, errors.New("deny holds something that is not a string"))
			return
		}
		if len(a.messages) < MaxMessages {
			a.messages, a.by = append(a.messages, cut(string(message))), append(a.by, p.name)
		}
	}
}

// eval gives the set of messages, nil for none.
func (p prepared) eval(ctx context.Context, doc ast.Value) (set ast.Set, err error) {
	defer func() {
		if recover() != nil {
			set, err = nil, errors.New("the evaluation failed")
		}
	}()
	// Cheaper than a context of its own, for which OPA starts a goroutine.
	stop := topdown.NewCancel()
	defer time.AfterFunc(MaxEvaluation, stop.Cancel).Stop()
	defer context.AfterFunc(ctx, stop.Cancel)()
	results, err := p.query.Eval(ctx, rego.EvalParsedInput(doc), rego.EvalExternalCancel(stop), rego.EvalMetrics(metrics.NoOp()))
	switch {
	case ctx.Err() != nil:
		return nil, errEnded
	case err != nil:
		return nil, explain(err)
	}
	if len(results) == 0 {
		return nil, nil
	}
	set, ok := results[0].Expressions[0].Value.(ast.Set)
	if !ok {
		return nil, errors.New("deny is not a set")
	}
	return set, nil
}

// explain is err without its text, which may hold values of the input.
func explain(err error) error {
	var e *topdown.Error
	switch {
	case topdown.IsCancel(err):
		return errSlow
	case errors.As(err, &e) && e.Code == codeLarge:
		return fmt.Errorf("line %d, column %d: %w: %s", e.Location.Row, e.Location.Col, errLarge, e.Message)
	case errors.As(err, &e) && e.Location != nil:
		return fmt.Errorf("line %d, column %d: %s", e.Location.Row, e.Location.Col, e.Code)
	}
	return errors.New("it could not be evaluated")
}
