// Package stdio asks one question of one server that is a child process of
// the relay: it starts the process, opens it in whichever era it speaks,
// writes the agent's request as one line and reads the one answer (MCP
// 2026-07-28, basic/transports/stdio).
//
// It promises what exchange promises of servers on the network: a request is
// written at most once, unless the first was provably not executed; arguments
// and results travel as the bytes they came as; an answer is the server's
// complete message to this very request; every failure is a [call.Refusal]
// whose impact says whether the call may have run. Besides, that a child sees
// the environment that its [Spec] names and nothing else, that callers with
// different keys never share a child, that a child works on one request at a
// time, and that none outlives the relay, however that ends.
//
// It refuses to answer what a server asks of it, to read beyond its bounds, to
// log what nobody masks, and to run a command that it has not just looked at.
package stdio

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"mcprelay/shared/call"
	"mcprelay/shared/wire"
)

// MaxChildren is how many children a [Pool] has at once. The one that has been
// idle for longest is ended for a new one.
const MaxChildren = 8

// Config is what a [Pool] needs.
type Config struct {
	Log     *slog.Logger     // children's stderr and ends; nil: nothing is logged
	Now     func() time.Time // nil: time.Now
	Name    string           // of the relay, as clientInfo; "mcprelay" where empty
	Version string           // of the relay; "0" where empty
}

// Pool owns the children of the relay. It is safe for concurrent use.
type Pool struct {
	log    *slog.Logger
	now    func() time.Time
	client json.RawMessage // clientInfo
	run    func(*Spec) (*process, *failure)
	wg     sync.WaitGroup // of calls and of everything that they started

	sweeping sync.Once // of what dead relays left; the first start begins it

	mu       sync.Mutex
	slots    map[string]*slot
	pasts    map[digest]*past
	fails    int64 // failures of children, all in all
	living   map[*child]bool
	children int           // places that are taken: by living ones, and by those being started
	uses     int64         // turns that were given back
	changed  chan struct{} // closed and replaced when somebody who waits should look again
	closed   bool
}

// New makes a Pool without children. Close ends it.
func New(c Config) *Pool {
	p := &Pool{log: c.Log, now: c.Now, slots: map[string]*slot{}, pasts: map[digest]*past{}, living: map[*child]bool{}, changed: make(chan struct{})}
	p.run = p.spawn
	if p.log == nil {
		p.log = slog.New(slog.DiscardHandler)
	}
	if p.now == nil {
		p.now = time.Now
	}
	if c.Name == "" {
		c.Name = "mcprelay"
	}
	if c.Version == "" {
		c.Version = "0"
	}
	p.client = wire.ClientInfo(c.Name, c.Version)
	return p
}

// Call asks the server to run r.Tool, to read r.Resource, for r.Prompt, or for
// the completion of an argument of r.Prompt or r.Resource, whichever r.Operation
// says. Its error is a [*call.Refusal]; the reply's Facts are filled either way.
// What the server answers is the reply, errors among it, and so are results that
// are not complete.
func (p *Pool) Call(ctx context.Context, r Request) (Reply, error) {
	var reply Reply
	m := message{method: string(r.Operation), ask: r.Ask(), meta: r.Meta, capabilities: r.Capabilities, traceparent: r.Traceparent}
	if r.Key == "" || !m.ask.Complete() {
		return reply, call.Refuse(call.Internal, "a call of operation %q", r.Operation)
	}
	r.Spec = r.Spec.withDefaults()
	var got wire.Reply
	refusal := p.use(ctx, &r, &reply.Facts, func(ctx context.Context, c *child) (failed *failure) {
		got, failed = c.put(ctx, &r, &reply.Facts, &m)
		return failed
	})
	if refusal != nil {
		return reply, refusal
	}
	reply.Result, reply.Error, reply.IsError, reply.ResultType = got.Result, got.Error, got.IsError, got.ResultType
	return reply, nil
}

// End ends the child of key, whatever it is doing, and waits until it is gone.
func (p *Pool) End(key string) {
	p.mu.Lock()
	s := p.slots[key]
	delete(p.slots, key)
	var c *child
	if s != nil {
		c = s.end()
		p.announce() // somebody may wait in it for a place
	}
	p.mu.Unlock()
	if c != nil {
		<-c.over
	}
}

// killTime is how long Close waits for children that were killed: the kernel
// ends them at once unless they hang in it.
const killTime = time.Second

// Close ends every child and waits until all are gone, and all calls answered.
// When ctx ends before, they are killed at once. The pool refuses every later
// call.
func (p *Pool) Close(ctx context.Context) error {
	p.mu.Lock()
	p.closed = true
	for _, s := range p.slots {
		s.end()
	}
	p.announce()
	p.mu.Unlock()
	gone := make(chan struct{})
	go func() {
		p.wg.Wait()
		close(gone)
	}()
	select {
	case <-gone:
		return nil
	case <-ctx.Done():
	}
	p.killAll()
	late := time.NewTimer(killTime)
	defer late.Stop()
	select {
	case <-gone:
		return nil
	case <-late.C:
		return fmt.Errorf("ending the children: %w", context.Cause(ctx))
	}
}

// killAll ends every child without waiting for it to end by itself.
func (p *Pool) killAll() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for c := range p.living {
		c.killOnce.Do(func() { close(c.kill) })
	}
}
