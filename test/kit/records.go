package kit

import (
	"slices"

	"mcprelay/shared/audit"
)

// Of is the final of a call by its id, and whether there is one.
func (r *Recorder) Of(callID string) (audit.Record, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	at := slices.IndexFunc(r.finals, func(record audit.Record) bool { return record.CallID == callID })
	if at < 0 {
		return audit.Record{}, false
	}
	return r.finals[at], true
}
