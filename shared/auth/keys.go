package auth

import (
	"context"
	"errors"
	"sync"
	"time"

	"mcprelay/shared/call"
	"mcprelay/shared/endpoint"
)

// How the keys of issuers are kept (SECURITY 4.5 asks for the second and third).
const (
	// KeysAge is how long a key set is used before its issuer is asked again:
	// the longest that a key which the issuer withdrew is still believed.
	KeysAge = 10 * time.Minute
	// KeysPause is the least time between two questions to one issuer, whatever
	// the tokens name and whether it answered.
	KeysPause = time.Minute
	// KeysStale is how long a key set is used where its issuer cannot be asked.
	KeysStale = 24 * time.Hour
	// KeysBudget bounds one question.
	KeysBudget = 3 * time.Second

	// maxRings bounds the issuers whose keys are kept in a process.
	maxRings = 1024
)

// rings keep the keys of issuers, by where they are read from.
type rings struct {
	fetch func(context.Context, endpoint.URL) ([]byte, error)
	now   func() time.Time

	mu   sync.Mutex
	kept map[string]*ring
}

// ring is the keys of one issuer. Whoever holds asking may ask for newer ones.
type ring struct {
	from   endpoint.URL
	asking chan struct{}

	mu     sync.Mutex
	set    keySet
	loaded time.Time // when set was read; zero: never
	tried  time.Time
	failed error // of the last question
}

func newRings(fetch func(context.Context, endpoint.URL) ([]byte, error), now func() time.Time) *rings {
	return &rings{fetch: fetch, now: now, kept: make(map[string]*ring)}
}

// key finds the key of a token in the set at a URL. Its refusal is
// auth_unavailable where the issuer never answered or its answer is too old.
func (r *rings) key(ctx context.Context, from endpoint.URL, t jws) (key, *call.Refusal) {
	one := r.ring(from)
	if one == nil || r.fetch == nil {
		return key{}, call.Refuse(call.AuthUnavailable, "the keys of the issuer cannot be read here")
	}
	now := r.now()
	set, loaded := one.current()
	found, err := set.pick(t)
	if fresh := now.Sub(loaded) < KeysAge; fresh && !errors.Is(err, errNoKey) {
		return judged(found, err)
	}
	// Whoever can be answered with what is there does not wait for another's
	// question.
	if r.ask(ctx, one, err != nil || now.Sub(loaded) >= KeysStale) {
		set, loaded = one.current()
		found, err = set.pick(t)
	}
	if now.Sub(loaded) >= KeysStale {
		return key{}, one.unavailable(now)
	}
	return judged(found, err)
}

func judged(k key, err error) (key, *call.Refusal) {
	if err != nil {
		return key{}, deny("%v", err)
	}
	return k, nil
}

// ring gives the ring of a URL, nil where there is no room for another. One
// that was asked for within the pause is never dropped: forgetting when that
// was would let a flood ask again.
func (r *rings) ring(from endpoint.URL) *ring {
	r.mu.Lock()
	defer r.mu.Unlock()
	if one, ok := r.kept[from.String()]; ok {
		return one
	}
	if len(r.kept) >= maxRings {
		for name, one := range r.kept {
			if one.idle(r.now()) {
				delete(r.kept, name)
			}
		}
	}
	if len(r.kept) >= maxRings {
		return nil
	}
	one := &ring{from: from, asking: make(chan struct{}, 1)}
	r.kept[from.String()] = one
	return one
}

func (o *ring) current() (keySet, time.Time) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.set, o.loaded
}

func (o *ring) idle(now time.Time) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return now.Sub(o.tried) >= KeysPause
}

func (o *ring) unavailable(now time.Time) *call.Refusal {
	o.mu.Lock()
	defer o.mu.Unlock()
	wait := int(o.tried.Add(KeysPause).Sub(now)/time.Second) + 1
	return &call.Refusal{Reason: call.AuthUnavailable, Detail: "the keys of the issuer could not be read", RetryAfter: max(wait, 1), Err: o.failed}
}

// ask reads the set again, unless that was tried within the pause. Another's
// question is waited for where wait says so. It reports whether there may be
// something new.
func (r *rings) ask(ctx context.Context, o *ring, wait bool) bool {
	select {
	case o.asking <- struct{}{}:
	default:
		if !wait {
			return false
		}
		select {
		case o.asking <- struct{}{}:
		case <-ctx.Done():
			return false
		}
	}
	defer func() { <-o.asking }()
	if !o.idle(r.now()) {
		return true
	}
	// The answer serves every caller that waits, so it outlives the first one.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), KeysBudget)
	defer cancel()
	text, err := r.fetch(ctx, o.from)
	var set keySet
	if err == nil {
		set, err = parseKeys(text)
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	o.tried, o.failed = r.now(), err
	if err == nil {
		o.set, o.loaded = set, o.tried
	}
	return true
}
