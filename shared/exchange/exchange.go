// Package exchange asks one question of one upstream server: it opens the
// server in whichever era it speaks, sends the agent's request as one POST and
// reads the one answer.
//
// It promises that the server gets at most one POST of the agent's request,
// except where the first was provably not executed (the session was lost, the
// version was refused, nothing had been written), that arguments and results
// travel as the bytes they came as, that an answer is the server's complete
// message to this very request or an error, never a part, and that every
// failure is a [call.Refusal] whose impact says whether the call may have run.
// It refuses to follow redirects, to answer what a server asks of it, to read
// beyond its bounds, and to know a secret: credentials arrive as a function
// that sets headers.
package exchange

import (
	"context"
	"encoding/json"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"mcprelay/shared/egress"
	"mcprelay/shared/session"
	"mcprelay/shared/wire"
)

// Sessions keeps session states and era verdicts where other processes of the
// relay find them.
type Sessions interface {
	// Load gives the state of key; the zero State where none is stored or what
	// is stored has expired.
	Load(ctx context.Context, key session.Key) (session.State, error)
	// Save stores s on condition that the stored state still has s.Ver; with
	// Ver 0, that none is stored or that what is stored has expired. It gives
	// back what is stored now, with its new Ver, or [session.ErrConflict].
	Save(ctx context.Context, key session.Key, s session.State) (session.State, error)
}

// Config is what an [Exchange] needs. Guard must be set.
type Config struct {
	Guard    *egress.Guard
	Sessions Sessions         // nil: states are kept in this process only
	Now      func() time.Time // nil: time.Now
	Name     string           // of the relay, as clientInfo and User-Agent; "mcprelay" where empty
	Version  string           // of the relay; "0" where empty
}

// Exchange carries requests to servers. It is safe for concurrent use and
// keeps nothing that [Sessions] does not hold too, apart from states that
// could not be saved.
type Exchange struct {
	guard    *egress.Guard
	sessions Sessions
	now      func() time.Time
	agent    string          // the value of User-Agent
	client   json.RawMessage // clientInfo

	memory  memory
	flights flights
	ids     atomic.Int64
	scratch sync.Pool // of *scratch
}

// maxFirstID bounds where the ids of a process begin. Processes share sessions,
// and a server that gets one id twice at a time may cross the answers, or
// cancel the wrong request. It leaves a process a milliard of ids that servers
// with 32 bits for them can read.
const maxFirstID = 1 << 30

// New makes an Exchange.
func New(c Config) *Exchange {
	if c.Now == nil {
		c.Now = time.Now
	}
	if c.Name == "" {
		c.Name = "mcprelay"
	}
	if c.Version == "" {
		c.Version = "0"
	}
	x := &Exchange{guard: c.Guard, sessions: c.Sessions, now: c.Now}
	x.ids.Store(rand.Int64N(maxFirstID))
	x.agent = c.Name + "/" + c.Version
	x.client = wire.ClientInfo(c.Name, c.Version)
	return x
}
