package turn

import (
	"context"
	"errors"
	"slices"
	"time"

	"mcprelay/shared/call"
)

// tries bounds how often somebody else may be faster. Whoever loses has lost to
// a writer that won, and a run has few.
const tries = 64

// Check reads the present turn of a caller's run and judges a call that names
// one by its id. It changes nothing: a turn that allows one call is taken by
// [Spend], once nothing else stands in the call's way.
func Check(ctx context.Context, s Store, id string, asked Asked) (Turn, *call.Refusal) {
	// An id of somebody else's is refused before the store is asked about it.
	if key, ok := KeyOfID(id); !ok || key != asked.Key {
		return Turn{}, Turn{}.Judge(id, asked)
	}
	t, err := s.Turn(ctx, asked.Key)
	if err != nil {
		return Turn{}, unavailable(err)
	}
	return t, t.Judge(id, asked)
}

// Spend takes the one call of a turn that [Check] allowed; of another turn it
// takes nothing. Of any number of calls at once one gets it. Where the store
// fails nobody knows whether it is taken, and the call is refused.
func Spend(ctx context.Context, s Store, t Turn, asked Asked) *call.Refusal {
	if !t.Single {
		return nil
	}
	id := t.ID
	for range tries {
		if refusal := t.Judge(id, asked); refusal != nil {
			return refusal
		}
		t.Used, t.Calls = true, append(slices.Clone(t.Calls), asked.Call)
		_, err := s.PutTurn(ctx, asked.Key, t)
		if err == nil {
			return nil
		}
		if !errors.Is(err, ErrConflict) {
			return unavailable(err)
		}
		if t, err = s.Turn(ctx, asked.Key); err != nil {
			return unavailable(err)
		}
	}
	return unavailable(ErrConflict)
}

// GiveBack undoes the [Spend] of a call that did not run, as long as no other
// used the turn since. What cannot be given back stays used.
func GiveBack(ctx context.Context, s Store, id string, asked Asked) error {
	for range tries {
		t, err := s.Turn(ctx, asked.Key)
		if err != nil {
			return err
		}
		last := len(t.Calls) - 1
		if !t.Single || !same(t.ID, id) || last < 0 || t.Calls[last] != asked.Call {
			return nil
		}
		t.Calls = slices.Clone(t.Calls[:last])
		t.Used = last > 0
		if _, err = s.PutTurn(ctx, asked.Key, t); !errors.Is(err, ErrConflict) {
			return err
		}
	}
	return ErrConflict
}

// Open makes t the present turn of its run, which ends the one before. It needs
// who calls, the mode and the offers; Expires may be zero for
// [DefaultLifetime]. The rest is set here.
func Open(ctx context.Context, s Store, t Turn, now time.Time) (Turn, *call.Refusal) {
	if t.Expires.IsZero() {
		t.Expires = now.Add(DefaultLifetime)
	}
	t.Opened, t.Used, t.Calls, t.Ended = now, false, nil, false
	key := t.Key()
	t.ID = newID(key)
	if err := t.check(); err != nil {
		return Turn{}, call.Refuse(call.BadParams, "%v", err)
	}
	for range tries {
		before, err := s.Turn(ctx, key)
		if err != nil {
			return Turn{}, unavailable(err)
		}
		t.Ver = before.Ver
		opened, err := s.PutTurn(ctx, key, t)
		if err == nil {
			return opened, nil
		}
		if !errors.Is(err, ErrConflict) {
			return Turn{}, unavailable(err)
		}
	}
	return Turn{}, unavailable(ErrConflict)
}

// Caller is who wants to end a turn.
type Caller struct{ Tenant, Kind, Subject string }

// End ends a turn by its id, for its caller alone. What has ended already stays
// so, and is no refusal.
func End(ctx context.Context, s Store, id string, by Caller) *call.Refusal {
	key, ok := KeyOfID(id)
	if !ok {
		return call.Refuse(call.TurnUnknown, "that is no id of a turn")
	}
	for range tries {
		t, err := s.Turn(ctx, key)
		if err != nil {
			return unavailable(err)
		}
		mine := t.Tenant == by.Tenant && t.Kind == by.Kind && t.Subject == by.Subject
		switch {
		case t.ID == "", !mine && !same(t.ID, id):
			return call.Refuse(call.TurnUnknown, "the run has no turn")
		case !mine:
			return call.Refuse(call.TurnForeign, "")
		case t.Ended, !same(t.ID, id): // the next turn has ended it
			return nil
		}
		t.Ended = true
		if _, err = s.PutTurn(ctx, key, t); err == nil {
			return nil
		}
		if !errors.Is(err, ErrConflict) {
			return unavailable(err)
		}
	}
	return unavailable(ErrConflict)
}

// unavailable is the refusal where the store failed.
func unavailable(err error) *call.Refusal {
	refusal := call.Refuse(call.TurnUnavailable, "%v", err)
	refusal.Err = err
	return refusal
}
