package budget

import (
	"context"
	"fmt"
	"time"

	"mcprelay/shared/call"
)

// giveBackTime bounds how long a call that is refused waits until what it took
// is given back. What is not by then stays spent.
const giveBackTime = time.Second

// Taken is what one call has taken of its limits, to be given back where the
// call is not made after all. The zero Taken is nothing.
type Taken struct {
	counters Counters
	keys     []string
}

// Take counts one call against every limit, in their order, or against none. A
// limit that is reached is the refusal [call.OverBudget] with the time until
// its window ends; who counts something else than a budget gives it another
// reason. The error is the store's; the name is never in it.
func Take(ctx context.Context, c Counters, name string, limits []Limit, now time.Time) (Taken, *call.Refusal, error) {
	taken := Taken{counters: c}
	for _, l := range limits {
		w, err := windowOf(l, now)
		if err != nil {
			taken.GiveBack(ctx)
			return Taken{}, nil, err
		}
		key, ok := w.key(name), false
		if l.Max > 0 {
			ok, err = c.Add(ctx, key, l.Max, w.forgotten())
		}
		switch {
		case err != nil:
			taken.GiveBack(ctx)
			return Taken{}, nil, fmt.Errorf("counting a call: %w", err)
		case !ok:
			taken.GiveBack(ctx)
			return Taken{}, w.refusal(l, now), nil
		}
		taken.keys = append(taken.keys, key)
	}
	return taken, nil, nil
}

// GiveBack gives back what a call took that was not made. It does so although
// ctx may have ended; what cannot be given back stays spent.
func (t Taken) GiveBack(ctx context.Context) {
	if len(t.keys) == 0 {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), giveBackTime)
	defer cancel()
	for _, key := range t.keys {
		_ = t.counters.Sub(ctx, key)
	}
}
