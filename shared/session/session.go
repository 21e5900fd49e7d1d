// Package session names the upstream sessions of the relay and says what is
// remembered of each: the era of the server, the negotiated version, and for
// servers of 2025-11-25 and older the session id (MCP 2025-11-25,
// basic/transports, Session Management).
//
// It promises that sessions never cross a tenant, a server, an endpoint, a
// grant, a principal or a run, because all six are in the key, and it holds
// the rules of a race: a state is saved only over the state it was derived
// from, and whoever is second uses the winner's. It refuses to store anything
// itself, and it keeps no credential.
package session

import (
	"errors"
	"fmt"
	"time"

	"mcprelay/shared/call"
)

// Era says which of the two shapes of MCP a server speaks.
type Era string

// The eras. The zero Era means that nobody knows yet.
const (
	Modern Era = "modern" // 2026-07-28 and later: one POST is the whole exchange
	Legacy Era = "legacy" // 2025-11-25 and older: initialize first
)

const (
	// VerdictLifetime is how long an era verdict is believed. A stale modern
	// verdict fails loudly, a stale legacy one works silently for ever (MCP
	// 2026-07-28, basic/versioning), so one probe a day a server is spent on it.
	VerdictLifetime = 24 * time.Hour
	// Lifetime is how long a session is used before a new one is opened. No
	// revision gives sessions a lifetime; servers end theirs sooner and say so
	// with 404. A day bounds what a forgotten session can cost a server.
	Lifetime = 24 * time.Hour
	// MaxID is the most bytes a session id may have. Ids seen in the field are
	// UUIDs and tokens of a few hundred bytes.
	MaxID = 1024
)

// ErrConflict says that another process saved a state first. Whoever gets it
// loads again, uses what is there, and ends the session it opened in vain.
var ErrConflict = errors.New("another process saved the state first")

// ErrID says that a server's session id is not one (see [CheckID]).
var ErrID = errors.New("unusable session id")

// State is what is remembered of a server under a [Key]: its era verdict, or
// one open session. The zero State remembers nothing.
type State struct {
	Era       Era         `json:"era,omitempty"`
	Version   string      `json:"version,omitempty"`    // negotiated protocol version
	SessionID string      `json:"session_id,omitempty"` // empty: the server holds no session
	Opened    time.Time   `json:"opened,omitzero"`
	Expires   time.Time   `json:"expires,omitzero"`
	Owner     Owner       `json:"owner,omitzero"`   // of a session: who opened it and why
	Offers    call.Offers `json:"offers,omitempty"` // what the server said that it has
	// Instructions is what the server wants a model to know, plain and bounded. It
	// is in sessions too, which may outlive the verdict.
	Instructions string `json:"instructions,omitempty"`
	Tries        int    `json:"tries,omitempty"` // how often closing it at the server failed
	// Ver counts the saves of this key, for compare-and-swap: a save succeeds
	// only while the stored state still has this Ver. 0 means not stored.
	Ver int64 `json:"ver,omitempty"`
}

// Live reports whether s says something that still holds at now. Readers
// check it themselves: a store may delete what expired hours later.
func (s State) Live(now time.Time) bool {
	return s.Era != "" && now.Before(s.Expires)
}

// Is reports whether s and other are the same opening of a server. Two
// openings of a server without session ids count as the same one.
func (s State) Is(other State) bool {
	return s.Era == other.Era && s.Version == other.Version && s.SessionID == other.SessionID
}

// CheckID reports whether id is what a server may assign: 1 to [MaxID] bytes
// of visible ASCII, 0x21 to 0x7E (MCP 2025-11-25, basic/transports). The error
// wraps [ErrID] and never holds the id.
func CheckID(id string) error {
	if len(id) == 0 || len(id) > MaxID {
		return fmt.Errorf("%w: %d bytes", ErrID, len(id))
	}
	for i := range len(id) {
		if id[i] < 0x21 || id[i] > 0x7E {
			return fmt.Errorf("%w: byte %d is not visible ASCII", ErrID, i)
		}
	}
	return nil
}
