// Package turn says what the present turn of a run may do: a caller's runtime
// opens one with the tools that it offers its model, and until the run's next
// turn nothing else is called in its name.
//
// It promises that a turn's authority never leaves its caller and its run,
// because both are in the key of what is stored and in the turn's id, that a
// run has one present turn, and that a turn which allows one call allows one
// however many ask at once. It refuses to store anything itself, and to say
// who needs a turn.
package turn

import (
	"context"
	"errors"
	"time"
)

const (
	// MaxLifetime bounds how long a turn can be used. A turn is one exchange
	// with a model and the calls that come of it; the longest run for minutes.
	MaxLifetime = time.Hour
	// DefaultLifetime is that of a turn whose runtime asks for none.
	DefaultLifetime = 10 * time.Minute
	// MaxOffers bounds the tools of a turn; models are offered 128 at most.
	MaxOffers = 512
	// MaxSize bounds the JSON form of a turn, in bytes: what DynamoDB holds in
	// one item of 400 KB with room to spare.
	MaxSize = 256 << 10
	// MaxCalls bounds the rounds of the one call of a turn: more questions than
	// this no person answers within [MaxLifetime].
	MaxCalls = 64
	// Remembered is how long a turn that has expired is still told from one that
	// never was.
	Remembered = 24 * time.Hour
)

// Mode is what a turn is for.
type Mode string

// The modes. The zero Mode allows nothing.
const (
	Ask   Mode = "ask"   // calls of tools that are classified as read
	Build Mode = "build" // writes as well
)

// Offer is one tool that a turn offers.
type Offer struct {
	Server string `json:"server"`
	Tool   string `json:"tool"` // as the agent calls it on its server's path
	// Digest is of the description that the model was shown. Without one the
	// tool can be called as a read only.
	Digest string `json:"digest,omitempty"`
}

// Turn is the present turn of a run. The zero Turn is that of a run without
// one, and allows nothing.
type Turn struct {
	ID      string  `json:"id"`
	Tenant  string  `json:"tenant"`
	Kind    string  `json:"kind"`
	Subject string  `json:"subject"`
	Run     string  `json:"run,omitempty"` // empty where the caller named none
	Mode    Mode    `json:"mode"`
	Offers  []Offer `json:"offers,omitempty"`
	Single  bool    `json:"single,omitempty"` // it allows one call
	Used    bool    `json:"used,omitempty"`   // that call was made
	// Calls are the ids of the calls that used it: one, and those that go on with
	// it after the server asked for input, in their order.
	Calls   []string  `json:"calls,omitempty"`
	Ended   bool      `json:"ended,omitempty"` // by its caller
	Opened  time.Time `json:"opened"`
	Expires time.Time `json:"expires"`
	// Ver counts the changes of what is stored under the key, for
	// compare-and-swap. 0 means that nothing is.
	Ver int64 `json:"-"`
}

// Key is where the turn is stored.
func (t Turn) Key() Key { return KeyOf(t.Tenant, t.Kind, t.Subject, t.Run) }

// Forgotten is when stores need not know of the turn any more.
func (t Turn) Forgotten() time.Time { return t.Expires.Add(Remembered) }

// ErrConflict says that somebody else changed the turn, or opened the next one,
// in between.
var ErrConflict = errors.New("somebody else changed the turn first")

// Store keeps one turn for each key. Turn gives the present one, expired or
// ended as it may be, and the zero Turn where none is known or what was known
// is forgotten. PutTurn stores a turn while the stored one still has its Ver,
// with Ver 0 while none is known, and gives what is stored now; otherwise it is
// [ErrConflict]. No Ver of a key comes twice. A turn that is stored survives a
// crash of the machine: what was ended or used does not come back.
type Store interface {
	Turn(ctx context.Context, key Key) (Turn, error)
	PutTurn(ctx context.Context, key Key, t Turn) (Turn, error)
}
