package call

import (
	"encoding/json"
	"fmt"
)

// Refusal is the error of every call that did not get the upstream's answer.
// Its Error text is for operators; agents see only [Row.Sentence].
type Refusal struct {
	Reason Reason
	// Detail is for the audit trail and the log. It holds no secret and no
	// upstream bytes.
	Detail string
	// Quote is the beginning of what the upstream sent instead of an answer, as
	// it came. It may hold anything: whoever shows it masks it first, then cuts
	// it to [MaxQuote] bytes and quotes it.
	Quote []byte
	// Impact overrides the reason's own impact where the exchange knows better.
	Impact Impact
	// Data is added to the JSON-RPC error's data object where the protocol
	// defines members (data.supported of -32022, for instance).
	Data map[string]json.RawMessage
	// RetryAfter, in seconds, at most 3600; 0 for none.
	RetryAfter int
	// Status is the upstream's HTTP status, where there was one.
	Status int
	// Allow is the one HTTP method of the path, where it is not POST.
	Allow string
	// Challenge is the WWW-Authenticate value, where a credential was refused and
	// there is more to say than that.
	Challenge string
	// Explain is set where the tenant explains its refusals to agents.
	Explain bool
	// Err is the cause, for errors.Is; it is never shown to an agent.
	Err error
}

// MaxQuote bounds what is shown of a [Refusal.Quote], in bytes.
const MaxQuote = 64

// Refuse makes a refusal with a detail for the operator.
func Refuse(reason Reason, format string, args ...any) *Refusal {
	return &Refusal{Reason: reason, Detail: fmt.Sprintf(format, args...)}
}

// Error is the operator's text: the reason and the detail.
func (r *Refusal) Error() string {
	if r.Detail == "" {
		return string(r.Reason)
	}
	return string(r.Reason) + ": " + r.Detail
}

// Unwrap gives the cause.
func (r *Refusal) Unwrap() error { return r.Err }

// Row is the reason's row of the table.
func (r *Refusal) Row() Row { return r.Reason.Row() }

// Shown is the row that an agent sees, see [Reason.Shown].
func (r *Refusal) Shown() Row { return r.Reason.Shown(r.Explain).Row() }

// MayHaveRun reports the impact the agent is told: the refusal's own where
// set, else its reason's.
func (r *Refusal) MayHaveRun() Impact {
	if r.Impact != "" {
		return r.Impact
	}
	return r.Row().Impact
}
