package front

import (
	"context"
	"encoding/json"
	"net/http"
	"slices"
	"sync"
	"time"

	"mcprelay/shared/call"
	"mcprelay/shared/wire"
)

// Bounds of a reply that is not one piece.
const (
	// SilenceBefore is how long an agent that takes an event stream hears
	// nothing: then a comment keeps what lies between from ending the
	// connection (an edge-optimised API Gateway does after 30 s), and notices
	// an agent that has gone: at the first write that fails, on Lambda at the
	// one after it, because its runtime library looks only when it writes.
	SilenceBefore = 5 * time.Second
	// MaxPending bounds the notifications of one call that wait for a slow
	// agent, in bytes: as much as one answer. What comes beyond it is dropped,
	// because MCP lets every notification of a call be missed, and the call
	// must end in its own time.
	MaxPending = 1 << 20
)

const eventStream = "text/event-stream"

// reply is where one MCP request is answered. What the reply is stays open
// until the answer comes, which is plain JSON then, or until there is something
// to say before it to an agent that takes an event stream: a notification, or a
// comment after [SilenceBefore]. Then the status is 200 and all that follows is
// an event, the answer the last one, be it a refusal.
//
// Once there is something to write before the answer, one goroutine does, so
// that neither the pipeline nor its audit record waits for a slow agent; answer,
// refuse and close end it and wait for it. Most calls never begin it. They and
// newReply belong to the handler's goroutine; notify may be called from any.
type reply struct {
	w      http.ResponseWriter
	takes  bool // the agent takes an event stream
	cancel context.CancelFunc
	events *wire.EventWriter // once the writing goroutine was begun

	// Of the writing goroutine, and of the handler's once that has ended.
	begun bool // the stream's head was written
	lost  bool // a write failed: nothing more is written

	mu      sync.Mutex
	pending [][]byte  // notifications to write
	size    int       // of them, in bytes
	settled bool      // no more are taken
	keeping bool      // the writing goroutine was begun
	until   time.Time // by when what is pending must be taken, once nothing more is

	silence *time.Timer   // begins it after SilenceBefore
	more    chan struct{} // once it was begun; holds one: some are pending
	stop    chan struct{} // likewise; closed by settle
	writer  sync.WaitGroup
}

// newReply opens the reply of a request whose body was read. The context ends
// when the agent is known to be gone, and with close, which must be called.
func newReply(w http.ResponseWriter, r *http.Request) (*reply, context.Context) {
	ctx, cancel := context.WithCancel(r.Context())
	p := &reply{w: w, cancel: cancel, takes: takesEvents(r.Header["Accept"])}
	if p.takes {
		p.silence = time.AfterFunc(SilenceBefore, func() {
			p.mu.Lock()
			defer p.mu.Unlock()
			p.begin()
		})
	}
	return p, ctx
}

// begin begins the writing goroutine. The caller holds the lock.
func (p *reply) begin() {
	if !p.keeping && !p.settled {
		p.keeping, p.events = true, wire.NewEventWriter(p.w)
		p.more, p.stop = make(chan struct{}, 1), make(chan struct{})
		p.writer.Go(p.keep)
	}
}

// notify passes a notification on, without waiting for the agent; params is
// copied, nil for none. Where the agent takes no event stream, has [MaxPending]
// still to read, or was answered, it is dropped.
func (p *reply) notify(method string, params json.RawMessage) {
	if !p.takes {
		return
	}
	message := notification(method, params)
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.settled || p.size+len(message) > MaxPending {
		return
	}
	p.pending, p.size = append(p.pending, message), p.size+len(message)
	p.begin()
	select {
	case p.more <- struct{}{}:
	default:
	}
}

// answer ends the reply with a JSON-RPC response that stands in parts. The
// status counts only where no stream has begun.
func (p *reply) answer(status int, parts ...[]byte) {
	p.settle()
	if !p.begun {
		writeParts(p.w, status, "application/json", nil, parts, nil)
		return
	}
	p.write(func() error { return p.events.Message(slices.Concat(parts...)) })
}

// refuse is answer for a refusal, with its headers where they still can be sent.
func (p *reply) refuse(c call.Call, id wire.ID, status int, refusal *call.Refusal) {
	p.settle()
	if !p.begun {
		refusalHeaders(p.w, refusal)
	}
	p.answer(status, rpcRefusal(c, id, refusal))
}

// close ends the reply, answered or not, and its context.
func (p *reply) close() {
	p.settle()
	p.cancel()
}

// settle writes what is pending and ends the writing goroutine.
func (p *reply) settle() {
	p.mu.Lock()
	first := !p.settled
	if p.settled = true; first {
		p.until = time.Now().Add(ReplyBudget)
	}
	p.mu.Unlock()
	if first && p.silence != nil {
		p.silence.Stop()
	}
	if first && p.keeping { // which nobody begins from here on
		close(p.stop)
	}
	p.writer.Wait()
}

// keep writes what is pending as it comes, and a comment into every silence:
// the first has passed where nothing is pending when it begins.
func (p *reply) keep() {
	if !p.flush() {
		p.write(p.events.Comment)
	}
	silence := time.NewTimer(SilenceBefore)
	defer silence.Stop()
	for {
		select {
		case <-p.more:
			p.flush()
		case <-silence.C:
			p.write(p.events.Comment)
		case <-p.stop:
			p.flush()
			return
		}
		silence.Reset(SilenceBefore)
	}
}

// flush writes what is pending, an event each, and reports whether anything was.
func (p *reply) flush() bool {
	p.mu.Lock()
	messages := p.pending
	p.pending, p.size = nil, 0
	p.mu.Unlock()
	for _, message := range messages {
		p.write(func() error { return p.events.Message(message) })
	}
	return len(messages) > 0
}

// write writes one event, before the first one the head. A write that fails is
// the last: the agent has gone, and the call ends.
func (p *reply) write(event func() error) {
	if p.lost {
		return
	}
	// A surface without deadlines (Lambda's) bounds the reply as a whole.
	_ = http.NewResponseController(p.w).SetWriteDeadline(p.deadline())
	if !p.begun {
		p.begun = true
		p.w.Header().Set("Content-Type", eventStream)
		p.w.Header().Set("X-Accel-Buffering", "no") // nginx buffers what it does not know to be a stream
		p.w.WriteHeader(http.StatusOK)
	}
	if event() != nil {
		p.lost = true
		p.cancel()
	}
}

// deadline bounds one write, and all that is left to write together, so that an
// agent which reads slowly does not hold the call's end for as long as it likes.
func (p *reply) deadline() time.Time {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.settled {
		return p.until
	}
	return time.Now().Add(ReplyBudget)
}

// notification is a JSON-RPC notification with the params as they are.
func notification(method string, params json.RawMessage) []byte {
	message := append([]byte(`{"jsonrpc":"2.0","method":`), quoted(method)...)
	if params != nil {
		message = append(append(message, `,"params":`...), params...)
	}
	return append(message, '}')
}
