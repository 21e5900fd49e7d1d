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
	"log/slog"
	"time"

	"mcprelay/shared/call"
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
	config Config
}

// New makes a Pool without children. Close ends it.
func New(c Config) *Pool { return &Pool{config: c} }

// Call asks the server to run r.Tool. Its error is a [*call.Refusal]; the
// reply's Facts are filled either way.
func (p *Pool) Call(ctx context.Context, r Request) (Reply, error) {
	return Reply{}, call.Refuse(call.Internal, "not there yet")
}

// List reads one of the server's lists, page by page, into the reply's Items:
// each as it came. A list that cannot be read whole is an error, never a part;
// of a server that has no such list it is empty. Its error is a
// [*call.Refusal]; the reply's Facts are filled either way.
func (p *Pool) List(ctx context.Context, r Request) (Reply, error) {
	return Reply{}, call.Refuse(call.Internal, "not there yet")
}

// End ends the child of key, whatever it is doing, and waits until it is gone.
func (p *Pool) End(key string) {}

// Close ends every child and waits until all are gone. When ctx ends before,
// they are killed at once. The pool refuses every later call.
func (p *Pool) Close(ctx context.Context) error { return nil }
