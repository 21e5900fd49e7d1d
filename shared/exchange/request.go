package exchange

import (
	"encoding/json"
	"net/http"
	"net/netip"
	"time"

	"mcprelay/shared/call"
	"mcprelay/shared/egress"
	"mcprelay/shared/session"
	"mcprelay/shared/wire"
)

// Request is what one call asks of one server. Everything in it was decided
// before: the route was checked, the policy allowed the tool, the credential
// was found.
type Request struct {
	Tenant string
	Server string
	Route  egress.Route
	// Authorize sets the credential's headers; nil for none. It is asked for
	// every POST and must not keep the header.
	Authorize  func(http.Header)
	Session    session.Key     // of the caller's session, must be set
	Origin     session.Key     // of the server's era verdict, must be set
	Owner      session.Owner   // saved with a session that this request opens
	wire.Asked                 // by the upstream's own names
	List       call.List       // which list [Exchange.List] reads; tools where empty
	Meta       json.RawMessage // the agent's params._meta, or nil
	// Described says that the tool's description was looked up, and Params what
	// it says: which arguments a modern server wants in headers too. See
	// [ErrUndescribed].
	Described bool
	Params    []wire.Param
	// Once says that the request was put to the server before, so that what it
	// says to this POST is the end.
	Once bool
	// Traceparent goes into _meta.traceparent where the agent's _meta has none.
	// One that is not of the form of W3C Trace Context is dropped.
	Traceparent string
	// Open bounds reaching the server and the handshake; 0 leaves it to ctx.
	// The call as a whole is bounded by ctx alone.
	Open time.Duration
	// Close bounds telling the server that a session ends or that a request is
	// cancelled; 0 means [DefaultClose].
	Close  time.Duration
	Limits Limits
	// Notify is given each notification about the request as it comes, on the
	// caller's goroutine: progress with the progressToken of Meta, and log
	// messages. The bytes are valid during the call only. Nil drops them.
	Notify func(method string, params json.RawMessage)
	// SessionID is told the id of the session that the request goes to, before it
	// does: what the server tells meanwhile may hold it. Nil: nobody wants it.
	SessionID func(id string)
	// Mask takes secrets out of the server's own words before any of them are
	// kept. Nil keeps them as they are.
	Mask func(text string) string

	facts *Facts // of the call, filled as it goes
	offer string // the legacy version to open with; the newest where empty
}

// ready fills what was left to its default.
func (r *Request) ready() {
	r.Limits = r.Limits.withDefaults()
	if r.Close <= 0 {
		r.Close = DefaultClose
	}
	if r.List == "" {
		r.List = call.ListTools
	}
	if !wire.Traceparent(r.Traceparent) {
		r.Traceparent = ""
	}
}

// Limits bounds what a server may send. A zero field means its default.
type Limits struct {
	ResultBytes int64 // decoded bytes of one reply, events and all; 1 MiB
	FrameBytes  int64 // the data of one event of a stream; 1 MiB
	Pages       int   // pages of a list; 10
	Items       int   // items of a list; 64
	// ConnectRetries is how often connecting is tried again; 0 means 1, less
	// than 0 never. Backoff is waited before each.
	ConnectRetries int
	Backoff        time.Duration // 250 ms
}

// The defaults of [Limits] (FEATURES 13).
const (
	DefaultResultBytes    = 1 << 20
	DefaultFrameBytes     = 1 << 20
	DefaultPages          = 10
	DefaultItems          = 64
	DefaultConnectRetries = 1
	DefaultBackoff        = 250 * time.Millisecond
)

// DefaultClose is the default of [Request.Close] (FEATURES 13).
const DefaultClose = 2 * time.Second

// withDefaults fills the fields that were left zero.
func (l Limits) withDefaults() Limits {
	if l.ResultBytes <= 0 {
		l.ResultBytes = DefaultResultBytes
	}
	if l.FrameBytes <= 0 {
		l.FrameBytes = DefaultFrameBytes
	}
	if l.Pages <= 0 {
		l.Pages = DefaultPages
	}
	if l.Items <= 0 {
		l.Items = DefaultItems
	}
	if l.ConnectRetries == 0 {
		l.ConnectRetries = DefaultConnectRetries
	}
	if l.Backoff <= 0 {
		l.Backoff = DefaultBackoff
	}
	return l
}

// Reply is the server's answer: exactly one of Result and Error is set. Both
// hold the bytes that came.
type Reply struct {
	Result  json.RawMessage
	Error   *wire.RPCError
	IsError bool // the result says so itself
	// ResultType is complete, input_required or task (MCP 2026-07-28); empty
	// where the server is older or said nothing, which means complete.
	ResultType string
	Facts      Facts
}

// Facts are what is recorded of an exchange, whether or not it succeeded.
type Facts struct {
	Address netip.AddrPort // the address of the last connection
	Status  int            // of the last request; 0 where no head was read
	Era     session.Era
	Version string
	// Offers is what the server said that it has when it was opened, and
	// Instructions what it wants a model to know: plain text of at most
	// [wire.MaxInstructions] bytes, the server's own words under [Request.Mask].
	Offers       call.Offers
	Instructions string
	Session      string // one of the Session constants; empty before it is known
	Lost         bool   // the server had lost the session
	Again        string // why the agent's request was POSTed once more: one of the Again constants
	Posts        int    // POSTs of the agent's request of which a byte was written
	BytesOut     int64  // on the wire inside TLS, the handshake of MCP included
	BytesIn      int64
	// Location is the host that a redirect named, nothing else of it, in the
	// case that it came in. Challenge is WWW-Authenticate of a 401 or 403:
	// visible ASCII, at most [MaxChallenge] bytes. The server wrote both, so they
	// are masked before they are changed or cut.
	Location  string
	Challenge string

	ServerRequests int // what the server asked of the relay: counted, never answered
	Notifications  int

	RetryAfter int // the server's wish in seconds, at most 3600; 0 for none
	// SessionIDs are the two latest session ids that this call sent or was given,
	// the last one at the end; empty strings for none. Whoever has one could use the session, so they are
	// masked in all that the server wrote. Refusals hold none of them.
	SessionIDs [2]string
	// Cancelled says that the server was told that nobody waits any more: its
	// stream was closed, which is all that a modern server needs, or it took
	// notifications/cancelled.
	Cancelled bool
}

// Why a request was put to the server a second time: it did not execute the
// first. There is no third.
const (
	AgainSession = "session" // it had lost the session
	AgainVersion = "version" // it refused the protocol version
)

// What a call did about the session (MCP 2025-11-25 and older).
const (
	SessionNone    = "none"    // the server holds no sessions
	SessionNew     = "new"     // opened by this call
	SessionReused  = "reused"  // opened by an earlier call
	SessionRenewed = "renewed" // lost by the server, opened again by this call
	SessionUnsaved = "unsaved" // open, but it could not be stored for other processes
)
