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

// Record is what is kept under a [Key]. The zero Record is unusable. Its JSON
// form has all but the reply and the version, which stores keep beside it.
type Record struct {
	Digest  string    `json:"digest"`  // of the request that the key was used for
	CallID  string    `json:"call_id"` // of the call that runs it, or ran it
	State   State     `json:"state"`   // Running or Done
	Until   time.Time `json:"until"`   // of a running call: when it counts as lost
	Expires time.Time `json:"expires"` // when the key is forgotten
	Reply   []byte    `json:"-"`       // of a call that is done: its outcome, at most [MaxReply]
	Ver     int64     `json:"-"`       // 1 for a running one, 2 for one that is done; the stores set it
}

// Begun is r as it is stored when its call begins. The error says what a
// record of a running call lacks.
func (r Record) Begun(key Key) (Record, error) {
	r.State, r.Reply, r.Ver = Running, nil, 1
	return r, r.check(key)
}

// Ended is r as it is stored when its call is done, or with the zero State as
// it is compared with what is stored; that needs the CallID only.
func (r Record) Ended(key Key) (Record, error) {
	r.Ver = 2
	switch {
	case r.State != Done && r.State != "":
		return r, errors.New("a call does not end as one that is running")
	case len(r.Reply) > MaxReply:
		return r, ErrTooLarge
	}
	return r, r.check(key)
}

// check says what a record lacks.
func (r Record) check(key Key) error {
	switch {
	case key == "" || r.CallID == "":
		return errors.New("an idempotency record without a key or a call")
	case r.State == "":
		return nil
	case r.Digest == "" || r.Until.IsZero() || r.Expires.IsZero():
		return errors.New("an idempotency record without a digest or a time")
	}
	return nil
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
