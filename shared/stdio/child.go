package stdio

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"mcprelay/shared/call"
	"mcprelay/shared/wire"
)

// child is a server's process and what was agreed with it. What is above the
// mutex belongs to whoever has the turn of its slot.
type child struct {
	*process
	server string
	digest digest // of the Spec that it was started by
	mask   func(string) string
	veil   *veil
	grace  time.Duration // Spec.Close
	frame  int64
	client json.RawMessage

	era, version string
	offers       call.Offers
	instructions string
	ids          int64
	probe        wire.ID     // of the last server/discover of the handshake
	late         *wire.Reply // what was said to it after the relay had turned to initialize

	mu     sync.Mutex
	waiter *waiter
	fault  *call.Refusal // why reading its stdout was given up; once gone is closed

	in     atomic.Int64 // bytes of its stdout
	failed bool         // and was blamed for it; the pool's mutex holds it

	gone     chan struct{} // closed when its stdout gives nothing more
	quiet    chan struct{} // closed when its stderr gives nothing more
	stop     chan struct{} // closed to end it
	kill     chan struct{} // closed to end it at once
	over     chan struct{} // closed when nothing is left of it
	stopOnce sync.Once
	killOnce sync.Once
}

// newChild makes what goes with a process that r has started.
func newChild(proc *process, r *Request) *child {
	return &child{
		process: proc, server: r.Server, digest: r.Spec.digest(), mask: r.Mask, veil: newVeil(r.Spec.Env), grace: r.Spec.Close, frame: r.Spec.Frame,
		gone: make(chan struct{}), quiet: make(chan struct{}), stop: make(chan struct{}), kill: make(chan struct{}), over: make(chan struct{}),
	}
}

// halt asks for the end of the child, as far as it has not been asked for. It
// does not wait: over tells.
func (c *child) halt() { c.stopOnce.Do(func() { close(c.stop) }) }

// halted reports whether the child is ending or has ended.
func (c *child) halted() bool {
	for _, done := range []<-chan struct{}{c.stop, c.gone, c.ended} {
		select {
		case <-done:
			return true
		default:
		}
	}
	return false
}

// nextID makes the id of a request.
func (c *child) nextID() wire.ID {
	c.ids++
	return wire.NumberID(c.ids)
}

// heard is one line of the child's stdout.
type heard struct {
	reply wire.Reply
	err   error  // of a line that means to be a message and is none
	line  []byte // of such a line
	noise bool   // it is no message at all
}

// waiter is the request that the child's messages are for.
type waiter struct {
	in   chan heard
	left chan struct{} // closed when nobody takes from in any more
}

// listen makes the caller the one who gets what the child says from now on.
func (c *child) listen() *waiter {
	w := &waiter{in: make(chan heard), left: make(chan struct{})}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.waiter = w
	return w
}

// leave ends listening.
func (c *child) leave(w *waiter) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.waiter = nil
	close(w.left)
}

// maxUnasked is how many lines in a row a child may say while nobody listens.
// A server that logs to its stdout once a minute is well under it for days.
const maxUnasked = 10_000

// read hands on what the child says until its stdout ends or breaks a bound.
func (c *child) read() {
	defer close(c.gone)
	l := lines{source: &counted{output: c.stdout, n: &c.in, left: maxPipe}}
	for unasked := 0; unasked <= maxUnasked; {
		line, err := l.next(c.frame)
		if errors.Is(err, errLong) {
			c.fault = call.Refuse(call.ReplyTooLarge, "a line of more than %d bytes", c.frame)
			return
		}
		if err != nil {
			return
		}
		if line = bytes.TrimSpace(line); len(line) == 0 {
			continue
		}
		if c.deliver(understand(line)) {
			unasked = 0
		} else {
			unasked++
		}
	}
	c.fault = call.Refuse(call.Protocol, "it said %d lines that nobody had asked for", maxUnasked)
}

// understand reads one line. Servers print banners and logs where only
// messages should be; what names the protocol and breaks it is no such thing.
func understand(line []byte) heard {
	reply, err := wire.ReadReply(line)
	switch {
	case err == nil:
		return heard{reply: reply}
	case bytes.Contains(line, []byte(`"jsonrpc"`)):
		return heard{err: err, line: line}
	}
	return heard{noise: true}
}

// deliver gives what was heard to whoever listens, and reports whether
// somebody took it.
func (c *child) deliver(h heard) bool {
	c.mu.Lock()
	w := c.waiter
	c.mu.Unlock()
	if w == nil {
		return false
	}
	select {
	case w.in <- h:
		return true
	case <-w.left:
		return false
	}
}

const (
	// maxPipe is the most that a pipe may hold, in bytes (pipe(7)).
	maxPipe = 1 << 20
	// lastLook is how long a read takes at most that finds nothing in a pipe
	// after its deadline: what is in it is there.
	lastLook = 10 * time.Millisecond
)

// counted counts what is read. At its deadline it gives what is in the pipe
// still, where a file would forget it.
type counted struct {
	output
	n    *atomic.Int64
	left int // bytes that may be given after the deadline
}

// Read reads and counts.
func (r *counted) Read(b []byte) (int, error) {
	n, err := r.output.Read(b)
	if n == 0 && r.left > 0 && errors.Is(err, os.ErrDeadlineExceeded) {
		_ = r.output.SetReadDeadline(time.Now().Add(lastLook))
		n, err = r.output.Read(b[:min(len(b), r.left)])
		r.left -= n
	}
	r.n.Add(int64(n))
	return n, err
}
