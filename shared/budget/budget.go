// Package budget counts calls in windows of time, so that no more than a
// configured number of them is made in each, by all processes together.
//
// It promises that a window never has one call more than its limit, however
// many ask at once, and that where it errs (a process that died between two
// counts, an answer that was lost) a call too few is made. It refuses to store
// anything itself, and to say what happens where the store fails: the budget's
// owner does.
package budget

import (
	"context"
	"time"
)

// The windows that budgets are counted in. They begin at whole minutes, hours
// and days of UTC.
const (
	Minute = time.Minute
	Hour   = time.Hour
	Day    = 24 * time.Hour
)

// Limit is how many calls one window may have.
type Limit struct {
	Window time.Duration // a whole number of seconds, at most [Day]
	Max    int           // below 1 no call is allowed
}

// Limits are those of a budget, the shortest window first; a number that is 0
// is no limit.
func Limits(perMinute, perHour, perDay int) []Limit {
	var limits []Limit
	for _, l := range []Limit{{Minute, perMinute}, {Hour, perHour}, {Day, perDay}} {
		if l.Max != 0 {
			limits = append(limits, l)
		}
	}
	return limits
}

// Counters keeps one count for each key, for all processes together. Add counts
// one more while the count is below max and reports whether it did; a key that
// is unknown or has expired counts from 0, and lives until expires from then
// on. Sub takes one back of a count that is there and above 0, and is no error
// of one that is not. What fails may be counted by Add, and is not taken back
// twice by Sub.
type Counters interface {
	Add(ctx context.Context, key string, max int, expires time.Time) (ok bool, err error)
	Sub(ctx context.Context, key string) error
}
