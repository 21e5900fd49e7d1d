package front

import (
	"context"
	"sync"

	"mcprelay/shared/wire"
)

// running are the calls of this process that agents of 2025-11-25 and older wait
// for, so that they can be cancelled as that revision has it (basic/utilities/
// cancellation): by a notification of its own. A modern agent closes its
// connection. There are never more than calls. The zero running is ready.
type running struct {
	mu    sync.Mutex
	calls map[runningKey]*runningCall
}

// runningKey is a request as only its own caller can name it. Two requests of
// one caller with one id are two calls, of which the later can be cancelled.
type runningKey struct {
	agent  agent
	server string // of the path
	id     string // as it was written
}

type runningCall struct{ cancel context.CancelFunc }

func keyOf(q request, id string) runningKey {
	return runningKey{agentOf(q.call), q.desk.server, id}
}

// begin notes a call, until the function that it gives is called.
func (r *running) begin(q request, cancel context.CancelFunc) (end func()) {
	if q.modern {
		return func() {}
	}
	key, own := keyOf(q, string(q.ID.Raw())), &runningCall{cancel}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.calls == nil {
		r.calls = make(map[runningKey]*runningCall)
	}
	r.calls[key] = own
	return func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		if r.calls[key] == own {
			delete(r.calls, key)
		}
	}
}

// cancel ends the call that a notification is about, if it is one of these.
func (r *running) cancel(q request) {
	id, ok := wire.Member(q.Params, "requestId")
	if q.modern || q.Method != methodCancelled || !ok {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if c, ok := r.calls[keyOf(q, string(id))]; ok {
		c.cancel()
	}
}

const methodCancelled = "notifications/cancelled"
