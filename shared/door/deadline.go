package door

import (
	"sync"
	"time"
)

// past makes an I/O that waits fail at once.
func past() time.Time { return time.Unix(1, 0) }

// deadline is that of one direction of a connection. Setting it costs no timer:
// whoever looks at the connections enforces it, at most [lookEvery] late.
type deadline struct {
	enforce func(time.Time) error // SetReadDeadline or SetWriteDeadline

	mu     sync.Mutex
	at     time.Time // zero for none
	passed bool      // enforced
}

// set replaces the deadline.
func (d *deadline) set(at time.Time) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.at = at
	if !d.passed {
		return nil
	}
	d.passed = false
	return d.enforce(time.Time{})
}

// look enforces the deadline where it has passed.
func (d *deadline) look(now time.Time) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.passed || d.at.IsZero() || now.Before(d.at) {
		return
	}
	d.passed = true
	_ = d.enforce(past()) // fails where the connection is closed, and so unblocked
}
