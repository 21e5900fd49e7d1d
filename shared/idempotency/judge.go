package idempotency

import (
	"time"

	"mcprelay/shared/call"
)

// Judge says what a record that was in the way means for a request of a
// digest: nil where its Reply answers the request, else the refusal. Of a call
// that still runs it says in how many seconds to ask again: when it counts as
// lost, at most [MaxRetryAfter].
func (r Record) Judge(digest string, now time.Time) *call.Refusal {
	switch {
	case r.Digest != digest:
		return call.Refuse(call.KeyReused, "call %.64q had it for another request", r.CallID)
	case r.State == Done:
		return nil
	case now.Before(r.Until):
		refusal := call.Refuse(call.KeyInUse, "call %.64q has it", r.CallID)
		refusal.RetryAfter = seconds(r.Until.Sub(now))
		return refusal
	}
	return call.Refuse(call.OutcomeUnknown, "call %.64q had it and did not end", r.CallID)
}

// MaxRetryAfter bounds what an agent is told to wait, in seconds. Most calls end
// long before they count as lost; to ask again costs one read of the store.
const MaxRetryAfter = 5

// seconds are whole ones, rounded up.
func seconds(d time.Duration) int {
	return int(min((d+time.Second-1)/time.Second, MaxRetryAfter))
}
