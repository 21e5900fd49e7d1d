package stdio

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"time"

	"mcprelay/shared/call"
	"mcprelay/shared/wire"
)

// Spec says how a child is run. A zero bound means its default.
type Spec struct {
	// Command is an absolute path, or a name that is looked up in the relay's
	// own PATH each time a child is started.
	Command string
	Args    []string // as they are; never a secret, since everybody can read them
	Env     []string // the whole environment, NAME=value; nothing is added to it

	Frame   int64         // bytes of one line of the server's; 1 MiB
	Result  int64         // bytes of one result; 1 MiB
	Startup time.Duration // from the start of a child to the end of the handshake; 10 s
	Close   time.Duration // what a child may take to end, or to get back from a cancelled request; 2 s
	// Attempts is how often a child is started again while nothing of the
	// request was written; 1, none where negative.
	Attempts int
	// Backoff is the pause before a child is started again after one that
	// failed, doubled with each failure in a row; 250 ms.
	Backoff time.Duration
}

// The defaults of [Spec] (FEATURES 13).
const (
	DefaultFrame    = 1 << 20
	DefaultResult   = 1 << 20
	DefaultStartup  = 10 * time.Second
	DefaultClose    = 2 * time.Second
	DefaultAttempts = 1
	DefaultBackoff  = 250 * time.Millisecond
)

// withDefaults fills the fields that were left zero.
func (s Spec) withDefaults() Spec {
	s.Frame, s.Result = positive(s.Frame, DefaultFrame), positive(s.Result, DefaultResult)
	s.Startup, s.Close = positive(s.Startup, DefaultStartup), positive(s.Close, DefaultClose)
	s.Backoff = positive(s.Backoff, DefaultBackoff)
	if s.Attempts == 0 {
		s.Attempts = DefaultAttempts
	}
	return s
}

// positive is n, or otherwise where that is no bound.
func positive[N int | int64 | time.Duration](n, otherwise N) N {
	if n > 0 {
		return n
	}
	return otherwise
}

// digest names what a child was started by.
type digest [sha256.Size]byte

// digest hashes what a child is made of, parts with their lengths, so that no
// two lists run together into the same bytes.
func (s *Spec) digest() digest {
	var buf []byte
	for _, list := range [][]string{{s.Command}, s.Args, s.Env} {
		buf = binary.BigEndian.AppendUint64(buf, uint64(len(list)))
		for _, part := range list {
			buf = binary.BigEndian.AppendUint64(buf, uint64(len(part)))
			buf = append(buf, part...)
		}
	}
	return sha256.Sum256(binary.BigEndian.AppendUint64(buf, uint64(s.Frame)))
}

// The defaults of a [Request]'s bounds of a list (FEATURES 13).
const (
	DefaultPages = 10
	DefaultItems = 64
)

// Request is what one call asks of one server. Everything in it was decided
// before: the policy allowed the tool, the secrets were found.
type Request struct {
	Key        string          // which child, must be set: callers that differ never share one
	Server     string          // its name, for the log
	Spec       Spec            // a child that was started by another one is ended first
	wire.Asked                 // by the server's own names
	List       call.List       // for List: which one; empty means tools
	Meta       json.RawMessage // the agent's params._meta, or nil
	Pages      int             // of a list; 10
	Items      int             // of a list; 64
	// Notify is given each notification of the server that is about this
	// request as it comes, on the caller's goroutine: progress with the
	// progressToken of Meta, and log messages. The bytes are valid during the
	// call only. Nil drops them.
	Notify func(method string, params json.RawMessage)
	// Traceparent is put into _meta.traceparent where the agent's _meta has
	// none and it is well formed (W3C Trace Context, section 3.2).
	Traceparent string
	// Mask takes the secrets of Spec.Env out of a line that the child wrote to
	// its stderr; a line with a part of a secret that has line breaks does not
	// come to it and is not shown. It is kept for the life of a child that this
	// request starts. Without it lines are counted and never shown. It is put to
	// the server's instructions too.
	Mask func(line string) string
}

// Reply is the server's answer: of a call, exactly one of Result and Error is
// set, and both hold the bytes that came; of a list, Items.
type Reply struct {
	Result  json.RawMessage
	Items   []json.RawMessage
	Error   *wire.RPCError
	IsError bool // the result says so itself
	// ResultType is complete, input_required or task (MCP 2026-07-28); empty
	// where the server is older or said nothing, which means complete.
	ResultType string
	Facts      Facts
}

// Facts are what is recorded of an exchange, whether or not it succeeded.
type Facts struct {
	Era     string // modern or legacy; empty before it is known
	Version string
	// Offers is what the server said that it has when it was opened, and
	// Instructions what it wants a model to know: plain text of at most
	// [wire.MaxInstructions] bytes, the server's own words under [Request.Mask].
	Offers       call.Offers
	Instructions string
	Session      string // one of the Session constants; empty before there is a child
	Requests     int    // of the agent's, written whole or in part
	BytesOut     int64  // to the child's stdin, the handshake included
	BytesIn      int64  // from its stdout while this call had it
	Cancelled    bool   // the child was told that nobody waits any more

	ServerRequests int // what the server asked of the relay: counted, never answered
	Notifications  int
	Skipped        int // lines on stdout that are no messages
	PID            int // of the child that was asked last; 0 where none was started
}

// The eras.
const (
	Modern = "modern" // 2026-07-28 and later
	Legacy = "legacy" // 2025-11-25 and older: initialize first
)

// How a call came by its child.
const (
	SessionNew     = "new"     // started for this call
	SessionReused  = "reused"  // started for an earlier one
	SessionRenewed = "renewed" // started in place of one that had ended
)
