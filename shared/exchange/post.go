package exchange

import (
	"context"
	"errors"
	"io"
	"net/http"
	"syscall"
	"time"

	"mcprelay/shared/call"
	"mcprelay/shared/egress"
)

// response is a reply whose head was read and whose body was not.
type response struct {
	*http.Response
	ctx   context.Context
	conn  *egress.Conn
	stop  func() // ends the binding of the connection to ctx
	facts *Facts
	whole bool // the body was read to its end
	spent bool // the connection cannot carry another request
}

// post sends one message and reads the head of the reply. The caller ends the
// response with done.
func (x *Exchange) post(ctx context.Context, r *Request, m *message) (*response, *call.Refusal) {
	s := x.borrow()
	defer x.giveBack(s)
	if refusal := x.appendRequest(s, r, m); refusal != nil {
		return nil, refusal
	}
	p, refusal := x.send(ctx, r, s)
	if refusal != nil {
		return nil, refusal
	}
	if m.agents {
		r.facts.Posts++
	}
	r.facts.knows(m.state.SessionID)
	err := readHead(p.conn.Reader)
	if err == nil {
		// Its own errors quote the server, so they are not kept.
		if p.Response, err = http.ReadResponse(p.conn.Reader, nil); err != nil {
			err = errHead
		}
	}
	if err != nil {
		r.facts.knowsHead(p.conn.Reader)
		p.done()
		if refusal := p.conn.Rejected(err); refusal != nil {
			return nil, refusal
		}
		return nil, headFault(ctx, err)
	}
	r.facts.Status = p.StatusCode
	r.facts.knows(p.Header.Get("Mcp-Session-Id"))
	return p, nil
}

// send writes a request to a connection.
//
// It is sent again, on a fresh connection, only where the first connection came
// from the pool and took not one byte: then the server cannot have seen it. A
// connection that died after bytes were written to it may have delivered them,
// so nothing is replayed, however likely it is that the pool held a dead one.
// A write that failed half-way is followed by reading: a server that refuses a
// request early says why before it closes (RFC 9112 section 9.3).
func (x *Exchange) send(ctx context.Context, r *Request, s *scratch) (*response, *call.Refusal) {
	conn, err := x.take(ctx, r)
	for {
		if err != nil {
			return nil, unreached(ctx, err)
		}
		r.facts.Address = conn.Addr()
		r.facts.Status = 0
		p := &response{ctx: ctx, conn: conn, stop: conn.Bind(ctx), facts: r.facts}
		if err = ctx.Err(); err == nil { // the end of ctx may not have reached the connection yet
			_, err = conn.Write(s.out)
		}
		if err == nil && len(s.body) > 0 {
			_, err = conn.Write(s.body)
		}
		if err == nil || conn.Written() > 0 {
			return p, nil
		}
		reused := conn.Reused()
		p.done()
		if !reused || ctx.Err() != nil {
			refusal := headFault(ctx, err)
			refusal.Impact = call.ImpactNone
			return nil, refusal
		}
		conn, err = x.fresh(ctx, r)
	}
}

// again connects, and once more after each pause while the server cannot be
// connected to and l allows it: nothing was written.
func again[T any](ctx context.Context, l Limits, connect func() (T, error)) (T, error) {
	for left := l.ConnectRetries; ; left-- {
		got, err := connect()
		if err == nil || left <= 0 || !unconnected(err) || !pause(ctx, l.Backoff) {
			return got, err
		}
	}
}

// unconnected reports whether a connection was not made for a reason that may
// pass: not because of where it went, or of who answered there.
func unconnected(err error) bool {
	refusal, ok := errors.AsType[*call.Refusal](err)
	if !ok {
		return false
	}
	return refusal.Reason == call.Connect ||
		refusal.Reason == call.TLS && (errors.Is(err, io.EOF) || errors.Is(err, syscall.ECONNRESET))
}

// pause waits, and reports whether ctx let it.
func pause(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C:
		return true
	}
}

// take has a kept connection, or a new one within the time that may be spent on
// opening: a timer for each call would be a good part of its cost.
func (x *Exchange) take(ctx context.Context, r *Request) (*egress.Conn, error) {
	if conn := x.guard.Kept(r.Route); conn != nil {
		return conn, nil
	}
	return x.fresh(ctx, r)
}

func (x *Exchange) fresh(ctx context.Context, r *Request) (*egress.Conn, error) {
	if r.Open > 0 {
		bounded, cancel := context.WithTimeout(ctx, r.Open)
		defer cancel()
		ctx = bounded
	}
	return again(ctx, r.Limits, func() (*egress.Conn, error) { return x.guard.Fresh(ctx, r.Route) })
}

// done ends the response and counts its bytes. Only a connection whose reply
// was read whole and that the server means to keep goes back to the pool, which
// closes it all the same if anything lies behind the reply, if an I/O failed,
// or if the end of ctx has touched it.
func (p *response) done() {
	p.stop()
	p.facts.BytesOut += p.conn.Written()
	p.facts.BytesIn += p.conn.Received()
	if p.whole && !p.spent && !p.Close {
		p.conn.Release()
		return
	}
	p.conn.Close()
}
