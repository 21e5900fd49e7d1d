package exchange

import (
	"context"
	"sync"

	"mcprelay/shared/call"
	"mcprelay/shared/session"
)

// flights lets one call at a time open a session; the others wait for it and
// use what it opened. The zero flights is ready.
type flights struct {
	mu   sync.Mutex
	open map[session.Key]*flight
}

// flight is one opening. Its result may be read once done is closed.
type flight struct {
	done    chan struct{}
	state   session.State
	refusal *call.Refusal
}

// do runs open for key unless another call is doing so already. A failure of the leader is everybody's, so that a server
// that is down is not asked once a waiter; but not one that came of the
// leader's own time or caller, and not a state that this waiter has seen lost.
func (f *flights) do(ctx context.Context, key session.Key, lost session.State, open func() (session.State, *call.Refusal)) (session.State, *call.Refusal) {
	for {
		mine, leads := f.join(key)
		if leads {
			defer f.leave(key, mine)
			mine.state, mine.refusal = open()
			return mine.state, own(mine.refusal)
		}
		select {
		case <-ctx.Done():
			return session.State{}, &call.Refusal{Reason: ended(ctx, call.OpenTimeout), Impact: call.ImpactNone}
		case <-mine.done:
		}
		if mine.refusal == nil && !sameSession(mine.state, lost) {
			return mine.state, nil
		}
		if mine.refusal != nil && mine.refusal.Reason != call.Cancelled && mine.refusal.Reason != call.OpenTimeout {
			return session.State{}, own(mine.refusal)
		}
	}
}

func (f *flights) join(key session.Key) (*flight, bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if under, ok := f.open[key]; ok {
		return under, false
	}
	if f.open == nil {
		f.open = make(map[session.Key]*flight)
	}
	// A leader that dies of a panic leaves this to those who wait.
	mine := &flight{done: make(chan struct{}), refusal: &call.Refusal{Reason: call.Internal, Impact: call.ImpactNone}}
	f.open[key] = mine
	return mine, true
}

func (f *flights) leave(key session.Key, mine *flight) {
	f.mu.Lock()
	delete(f.open, key)
	f.mu.Unlock()
	close(mine.done)
}

// own copies a refusal: each belongs to one call, which adds to it.
func own(refusal *call.Refusal) *call.Refusal {
	if refusal == nil {
		return nil
	}
	copied := *refusal
	return &copied
}

// sameSession reports whether s is the session that was lost.
func sameSession(s, lost session.State) bool {
	return lost.Era != "" && s.Is(lost)
}
