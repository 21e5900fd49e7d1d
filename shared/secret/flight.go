package secret

import (
	"errors"

	"mcprelay/shared/call"
)

// flight is one question to a source. Its fields are written by the asker
// before done is closed, and read by the others after.
type flight struct {
	done      chan struct{}
	value     Value
	refusal   *call.Refusal
	abandoned bool // the asker's own call ended before the answer came
}

// newFlight begins as abandoned, which it stays if the reader panics.
func newFlight(at slot) *flight {
	return &flight{done: make(chan struct{}), refusal: unavailable(at, nil), abandoned: true}
}

// land ends a flight: nobody joins it any more and its waiters go on.
func (c *Cache) land(at slot, f *flight) {
	c.mu.Lock()
	delete(c.flights, at)
	c.mu.Unlock()
	close(f.done)
}

// missing says that a source has no such secret, or none for this tenant.
func missing(at slot, err error) *call.Refusal {
	detail := "secret " + at.key.Ref + " is not set"
	if errors.Is(err, ErrForeign) {
		detail = "secret " + at.key.Ref + " has a name that is not one of the tenant's"
	}
	return &call.Refusal{Reason: call.SecretMissing, Detail: detail, Err: err}
}

// unavailable says that a source could not be asked. The cause stays out of
// the text: sources quote what they were asked.
func unavailable(at slot, err error) *call.Refusal {
	return &call.Refusal{Reason: call.SecretUnavailable, Detail: "secret " + at.key.Ref + " could not be read from its source", Err: err}
}
