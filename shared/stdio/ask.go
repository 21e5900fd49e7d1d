package stdio

import (
	"bytes"
	"context"
	"errors"
	"time"

	"mcprelay/shared/call"
	"mcprelay/shared/wire"
)

const (
	// maxMessages bounds what a child says during one request, as the events of
	// a stream are bounded (SECURITY 5.3, row 32).
	maxMessages = 10_000
	// maxNoise bounds the lines among them that are no messages: banners have a
	// handful, a server that logs to its stdout will be told so by its own client.
	maxNoise = 1000
	// maxQuote is what is kept of a line that breaks the protocol, in bytes:
	// a secret in it must be found whole before it is cut to [call.MaxQuote].
	maxQuote = 32 << 10
	// cancelTime bounds telling a child that nobody waits: a pipe with room takes
	// the line at once, a full one is not waited for.
	cancelTime = 100 * time.Millisecond
	// statusTime is how long is waited for the exit status of a child that
	// closed its stdout: it is for the operator only.
	statusTime = 100 * time.Millisecond
)

// failure is how a message went wrong, and what becomes of the child.
type failure struct {
	refusal *call.Refusal
	again   bool    // nothing of the agent's request was written: another child may do better
	wrote   bool    // the child ended after it was sent something
	silent  bool    // the child has not answered yet
	broken  bool    // the child cannot be used any more
	pending wire.ID // the child was told to stop working on it
}

// fail is a failure after which the child is as it was.
func fail(refusal *call.Refusal) *failure { return &failure{refusal: refusal} }

// sent is what became of a line.
type sent struct {
	n   int
	err error
}

// conversation is one message to a child and what it says to it.
type conversation struct {
	c       *child
	r       *Request
	f       *Facts
	m       *message
	w       *waiter
	line    []byte
	writing chan sent // nil once the outcome is known
	out     sent
	said    int
	answer  wire.Reply
}

// ask writes a request to the child and waits for the response to it. What
// else the child says meanwhile is counted.
func (c *child) ask(ctx context.Context, r *Request, f *Facts, m *message) (wire.Reply, *failure) {
	line, refusal := c.compose(m)
	if refusal != nil {
		return wire.Reply{}, fail(refusal)
	}
	in := c.in.Load()
	x := &conversation{c: c, r: r, f: f, m: m, line: line, w: c.listen(), writing: make(chan sent, 1)}
	go func() {
		n, err := c.stdin.Write(line)
		x.writing <- sent{n, err}
	}()
	failed := x.hold(ctx)
	x.written(true)
	c.leave(x.w)
	f.BytesOut += int64(x.out.n)
	f.BytesIn += c.in.Load() - in
	if m.agents && x.out.n > 0 {
		f.Requests++
	}
	return x.answer, failed
}

// hold goes on until the request is written and answered, or fails. An answer
// may be there before the writer has said that it is done, and a child that
// takes only a part may still say why.
func (x *conversation) hold(ctx context.Context) *failure {
	var last <-chan time.Time
	for answered := false; !answered || x.writing != nil; {
		select {
		case h := <-x.w.in:
			done, failed := x.hear(h)
			if failed != nil {
				return failed
			}
			answered = answered || done
			continue
		case x.out = <-x.writing:
			if x.writing = nil; x.out.err == nil || answered {
				continue
			}
			if x.out.n > 0 && last == nil {
				last = time.After(x.r.Spec.Close)
				continue
			}
		case <-last:
		case <-x.c.gone:
		case <-ctx.Done():
		}
		if !answered {
			return x.unanswered(ctx)
		}
		x.written(true)
	}
	if x.out.n < len(x.line) {
		x.c.halt() // nothing that it is sent from here on could be read
	}
	return nil
}

// unanswered is the failure where no answer can be waited for any more.
func (x *conversation) unanswered(ctx context.Context) *failure {
	if ctx.Err() != nil {
		return x.overdue(ctx)
	}
	return x.ended()
}

// written waits for the writing to end, which it does at once where it is to
// be given up, and says how many bytes went out.
func (x *conversation) written(giveUp bool) int {
	if x.writing == nil {
		return x.out.n
	}
	if giveUp {
		_ = x.c.stdin.SetWriteDeadline(time.Unix(1, 0))
		defer func() { _ = x.c.stdin.SetWriteDeadline(time.Time{}) }()
	}
	x.out = <-x.writing
	x.writing = nil
	return x.out.n
}

// hear takes one line, and reports whether it was the answer.
func (x *conversation) hear(h heard) (bool, *failure) {
	if x.said++; x.said > maxMessages {
		return false, x.breaks(call.Refuse(call.TooManyEvents, "more than %d messages", maxMessages))
	}
	switch reply := h.reply; {
	case h.err != nil:
		return false, x.breaks(&call.Refusal{Reason: call.Protocol, Detail: h.err.Error(), Quote: clip(h.line), Err: h.err})
	case h.noise:
		if x.f.Skipped++; x.f.Skipped > maxNoise {
			return false, x.breaks(call.Refuse(call.Protocol, "more than %d lines that are no messages", maxNoise))
		}
	case reply.Method != "":
		x.count(&reply)
	case reply.ID.Spells(x.m.id) || reply.ID.Spells(x.m.also):
		x.answer = reply
		return true, x.bound(&reply)
	case reply.ID.IsZero() && reply.Error != nil:
		return x.unnamed(&reply)
	case reply.ID.Spells(x.c.probe):
		x.c.late = &reply
	}
	return false, nil
}

// breaks is a failure of a child that cannot be used any more.
func (x *conversation) breaks(refusal *call.Refusal) *failure {
	return &failure{refusal: refusal, broken: true}
}

// count takes note of what is no response. A server's requests are never
// answered. Progress of a request before this one is nobody's.
func (x *conversation) count(reply *wire.Reply) {
	if !reply.ID.IsZero() {
		x.f.ServerRequests++
		return
	}
	x.f.Notifications++
	if x.r.Notify == nil || x.m.ask.Operation == "" {
		return
	}
	if params, ok := reply.Concerns(x.m.meta); ok {
		x.r.Notify(reply.Method, params)
	}
}

// bound refuses a result that is larger than its bound. It was read whole, so
// the child can go on.
func (x *conversation) bound(reply *wire.Reply) *failure {
	size := int64(len(reply.Result))
	if reply.Error != nil {
		size = int64(len(reply.Error.Raw))
	}
	if size > x.r.Spec.Result {
		return fail(call.Refuse(call.ReplyTooLarge, "a result of %d bytes, more than %d", size, x.r.Spec.Result))
	}
	return nil
}

// unnamed takes an error without an id, as servers give where they could not
// read the message. In the handshake it is an answer; whether it is one to the
// agent's request nobody can say.
func (x *conversation) unnamed(reply *wire.Reply) (bool, *failure) {
	if !x.m.agents {
		x.answer = *reply
		return true, nil
	}
	return false, fail(call.Refuse(call.Protocol, "error %d without an id", reply.Error.Code))
}

// ended is the failure where the child will say nothing more.
func (x *conversation) ended() *failure {
	n := x.written(true)
	detail := "it closed its stdin"
	select {
	case <-x.c.gone:
		detail = x.c.farewell()
		if x.c.fault != nil && n > 0 {
			refusal := *x.c.fault
			return x.breaks(&refusal)
		}
	default:
	}
	failed := x.breaks(&call.Refusal{Reason: call.ProcessEnded, Detail: detail, Err: x.out.err})
	if n == 0 || !x.m.agents {
		failed.again, failed.wrote = true, n > 0
		failed.refusal.Reason, failed.refusal.Impact = call.ProcessFailed, call.ImpactNone
	}
	return failed
}

// farewell says how a child ended that is gone.
func (c *child) farewell() string {
	late := time.NewTimer(statusTime)
	defer late.Stop()
	select {
	case <-c.ended:
		return c.status
	case <-late.C:
		return "it closed its stdout"
	}
}

// overdue is the failure where nobody waits any more. A request that the child
// has is cancelled; one that it has a part of makes its stdin unreadable.
func (x *conversation) overdue(ctx context.Context) *failure {
	n := x.written(true)
	failed := fail(&call.Refusal{Reason: ended(ctx, call.CallTimeout), Impact: call.ImpactUnknown, Err: context.Cause(ctx)})
	failed.silent = true
	switch {
	case n == 0:
		failed.refusal.Impact = call.ImpactNone
	case n < len(x.line):
		failed.broken = true
	case x.m.agents:
		failed.pending = x.m.id
		x.f.Cancelled = x.c.cancel(x.m.id, failed.refusal.Reason, x.f)
	}
	return failed
}

// cancel tells the child that nobody waits for a response (MCP 2026-07-28,
// basic/patterns/cancellation), and reports whether it could be told. A part of
// that line would make its stdin unreadable.
func (c *child) cancel(id wire.ID, reason call.Reason, f *Facts) bool {
	line, _ := c.compose(&message{method: methodCancelled,
		params: append(append([]byte(`{"requestId":`), id.Raw()...), `,"reason":"`+string(reason)+`"}`...)})
	return c.tell(line, cancelTime, f)
}

// tell writes a line that has no answer.
func (c *child) tell(line []byte, limit time.Duration, f *Facts) bool {
	_ = c.stdin.SetWriteDeadline(time.Now().Add(limit))
	n, err := c.stdin.Write(line)
	_ = c.stdin.SetWriteDeadline(time.Time{})
	f.BytesOut += int64(n)
	if err != nil && n > 0 {
		c.halt()
	}
	return err == nil
}

// ended says what the end of ctx means for a call that waits: the caller went
// away, or time is up and the reason is late.
func ended(ctx context.Context, late call.Reason) call.Reason {
	if errors.Is(ctx.Err(), context.Canceled) && !errors.Is(context.Cause(ctx), context.DeadlineExceeded) {
		return call.Cancelled
	}
	return late
}

// clip copies the beginning of a line.
func clip(line []byte) []byte { return bytes.Clone(line[:min(len(line), maxQuote)]) }
