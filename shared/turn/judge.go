package turn

import (
	"crypto/subtle"
	"slices"
	"time"

	"mcprelay/shared/call"
)

// Asked is a call that names a turn.
type Asked struct {
	Key    Key // of the caller's run, never taken from the turn's id
	Server string
	Tool   string      // empty for what is no tool, which no turn offers
	Digest string      // of the tool's description as it is now, empty where nobody knows it
	Effect call.Effect // anything but [call.EffectRead] counts as a write
	Now    time.Time
	Call   string // its own id
	// After is the call that this one goes on with, which the server asked for
	// input in; empty where that is not proven.
	After string
	// Repeats is the call whose outcome this one is given, so that it runs
	// nothing; empty for what is to run.
	Repeats string
}

// Judge says what the present turn of a caller's run, as it is stored, means
// for a call that names a turn by its id: nil where the turn allows it. A write
// needs the mode [Build] and an offer with the tool's present digest; a read
// needs the same digest where the offer has one.
func (t Turn) Judge(id string, asked Asked) *call.Refusal {
	if refusal := t.present(id, asked); refusal != nil {
		return refusal
	}
	offer, offered := t.offer(asked.Server, asked.Tool)
	write := asked.Effect != call.EffectRead
	switch {
	case !offered:
		return call.Refuse(call.TurnNotOffered, "%.64q of %.64q", asked.Tool, asked.Server)
	case offer.Digest != asked.Digest && (write || offer.Digest != ""), write && asked.Digest == "":
		return call.Refuse(call.TurnChanged, "%.64q of %.64q", asked.Tool, asked.Server)
	case write && t.Mode != Build, t.Mode != Build && t.Mode != Ask:
		return call.Refuse(call.TurnMode, "%.64q of %.64q in mode %.16q", asked.Tool, asked.Server, t.Mode)
	}
	return nil
}

// present says why the id is not that of a turn which can be used now.
func (t Turn) present(id string, asked Asked) *call.Refusal {
	key, ok := KeyOfID(id)
	switch {
	case !ok:
		return call.Refuse(call.TurnUnknown, "that is no id of a turn")
	case key != asked.Key:
		return call.Refuse(call.TurnForeign, "")
	case t.ID == "":
		return call.Refuse(call.TurnUnknown, "the run has no turn")
	case !same(t.ID, id):
		return call.Refuse(call.TurnEnded, "the run has a later turn, or never had this one")
	case t.Ended:
		return call.Refuse(call.TurnEnded, "its caller ended it")
	case !asked.Now.Before(t.Expires):
		return call.Refuse(call.TurnExpired, "at %s", t.Expires.UTC().Format(time.RFC3339))
	case t.Single && t.Used && !t.admits(asked):
		return call.Refuse(call.TurnUsed, "")
	}
	return nil
}

// admits reports whether a call belongs to the one that used the turn: it goes on
// from the last round of it, which no other call did, or repeats a round.
func (t Turn) admits(asked Asked) bool {
	n := len(t.Calls)
	if asked.Repeats != "" {
		return slices.Contains(t.Calls, asked.Repeats)
	}
	return asked.After != "" && n > 0 && n < MaxCalls && t.Calls[n-1] == asked.After
}

// offer finds what the turn offers of a server.
func (t Turn) offer(server, tool string) (Offer, bool) {
	for _, o := range t.Offers {
		if o.Server == server && o.Tool == tool && tool != "" {
			return o, true
		}
	}
	return Offer{}, false
}

// same compares two ids in a time that tells nothing about either.
func same(a, b string) bool { return subtle.ConstantTimeCompare([]byte(a), []byte(b)) == 1 }
