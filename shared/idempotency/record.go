// Package idempotency says what is remembered of a call that carries an
// Idempotency-Key (draft-ietf-httpapi-idempotency-key-header), so that whoever
// repeats it gets the same outcome and nothing runs twice.
//
// It promises that keys never cross a tenant or a caller, because both are in
// the key, that a key which was used for one request answers no other, and
// that a call whose end nobody saw is never mistaken for one that did not run.
// It refuses to store anything itself and to know what a reply says.
package idempotency

import (
	"context"
	"errors"
	"time"
)

const (
	// MaxReply bounds what is kept of an outcome, in bytes: what DynamoDB holds
	// in one item of 400 KB with room to spare.
	MaxReply = 256 << 10
	// Lifetime is how long a key is remembered. The draft leaves it to the
	// server (section 2.3); a day is what the users of such keys expect.
	Lifetime = 24 * time.Hour
)

// State is how far a call came.
type State string

// The states. The zero State is a key that is given back.
const (
	Running State = "running"
	Done    State = "done"
)

// Record is what is kept under a [Key]. The zero Record is unusable.
type Record struct {
	Digest  string    // of the request that the key was used for
	CallID  string    // of the call that runs it, or ran it
	State   State     // Running or Done
	Until   time.Time // of a running call: when it counts as lost
	Expires time.Time // when the key is forgotten
	Reply   []byte    // of a call that is done: its outcome, at most [MaxReply]
	Ver     int64     // counts the writes of the record; the stores set it
}

// The errors a caller branches on.
var (
	// ErrConflict says that the key is not, or no longer, of the call that
	// wants to end it.
	ErrConflict = errors.New("the idempotency key belongs to another call")
	// ErrTooLarge says that a reply has more than [MaxReply] bytes.
	ErrTooLarge = errors.New("the reply is too large to be kept")
)

// Store keeps records. Begin stores a running record where the key is unknown
// or forgotten: true says that the call is the caller's to run, and false
// gives the record in the way. A running record whose Until has passed stays
// in the way, since its call may have run. End stores what the call came to,
// or with the zero State gives the key back; it is [ErrConflict] where the
// stored record is not a running one of the same CallID.
type Store interface {
	BeginKey(ctx context.Context, key Key, r Record) (Record, bool, error)
	EndKey(ctx context.Context, key Key, r Record) error
}
