package relay

import (
	"context"
	"sync"
	"time"

	"mcprelay/shared/call"
	"mcprelay/shared/registry"
)

// surveys are the acquisitions for the sake of lists: at most one at a time a
// server. The relay owns them and waits for them. Must be made by newSurveys.
type surveys struct {
	quit context.Context // ends them
	stop context.CancelFunc

	mu     sync.Mutex
	closed bool
	open   map[gateKey]chan struct{}
	ended  map[gateKey]ended
	waits  map[gateKey]firstWait
}

// firstWait is until when lists wait for the first ones of a server.
type firstWait struct {
	server *registry.Server // another registration has a wait of its own
	until  time.Time
}

// ended is how the last survey of a server ended.
type ended struct {
	server  *registry.Server // another registration is tried at once
	refusal *call.Refusal
	found   finding   // of one that failed: what the server said of itself
	until   time.Time // how long a failure is believed
}

func newSurveys() *surveys {
	quit, stop := context.WithCancel(context.Background())
	return &surveys{quit: quit, stop: stop, open: map[gateKey]chan struct{}{}, ended: map[gateKey]ended{}, waits: map[gateKey]firstWait{}}
}

// surveyed begins a survey of a server, unless one is under way, or one failed
// a moment ago. What it gives is closed when the survey has ended; nil where
// there is nothing to wait for.
func (r *Relay) surveyed(ctx context.Context, p plan) <-chan struct{} {
	key, s := gateKey{p.tenant.ID, p.server.Name}, r.surveys
	s.mu.Lock()
	defer s.mu.Unlock()
	if done, ok := s.open[key]; ok {
		return done
	}
	last := s.ended[key]
	if s.closed || last.refusal != nil && last.server == p.server && r.Now().Before(last.until) {
		return nil
	}
	done := make(chan struct{})
	s.open[key] = done
	go func() {
		bounded, cancel := context.WithTimeout(context.WithoutCancel(ctx), surveyTime(p))
		defer cancel()
		defer context.AfterFunc(s.quit, cancel)()
		found, refusal := r.surveyGuarded(bounded, p)
		s.end(key, done, ended{server: p.server, refusal: refusal, found: found, until: r.Now().Add(failedFor)})
	}()
	return done
}

// surveyGuarded makes a panic a refusal: nobody else would catch it.
func (r *Relay) surveyGuarded(ctx context.Context, p plan) (f finding, refusal *call.Refusal) {
	defer func() {
		if value := recover(); value != nil {
			f, refusal = finding{}, call.Refuse(call.Internal, "a panic of type %T", value)
		}
	}()
	return r.survey(ctx, p)
}

// surveyTime bounds a survey: the time that the server has to start, or what a
// call needs to be begun at all, and the reserve that is taken off again
// (FEATURES 80).
func surveyTime(p plan) time.Duration {
	return max(orElse(p.server.Limits.StartupTimeout, OpenBudget), 2*LeastTime) + Reserve
}

func (s *surveys) end(key gateKey, done chan struct{}, e ended) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.ended) >= maxShelf {
		clear(s.ended)
	}
	s.ended[key] = e
	delete(s.open, key)
	close(done)
}

// first is how long lists still wait for the first ones of a server: [FirstWait]
// from when the first agent asked for them, for whoever asks meanwhile, and never
// again under this registration.
func (s *surveys) first(p plan) time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	key, now := gateKey{p.tenant.ID, p.server.Name}, time.Now()
	if wait, ok := s.waits[key]; ok && wait.server == p.server {
		return max(wait.until.Sub(now), 0)
	}
	if len(s.waits) >= maxShelf {
		clear(s.waits)
	}
	s.waits[key] = firstWait{server: p.server, until: now.Add(FirstWait)}
	return FirstWait
}

// last is how the last survey of a server under this registration ended.
func (s *surveys) last(p plan) ended {
	s.mu.Lock()
	defer s.mu.Unlock()
	e := s.ended[gateKey{p.tenant.ID, p.server.Name}]
	if e.server != p.server {
		return ended{}
	}
	return e
}

// any is a survey that is under way, nil for none.
func (s *surveys) any() <-chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, done := range s.open {
		return done
	}
	return nil
}

// Rest waits until no lists are being read in the background, or ctx ends. A
// process that is frozen between requests calls it before that.
func (r *Relay) Rest(ctx context.Context) {
	for done := r.surveys.any(); done != nil; done = r.surveys.any() {
		select {
		case <-done:
		case <-ctx.Done():
			return
		}
	}
}

// Close ends what is read in the background and waits for it, or until ctx
// ends. Calls go on.
func (r *Relay) Close(ctx context.Context) {
	r.surveys.mu.Lock()
	r.surveys.closed = true
	r.surveys.mu.Unlock()
	r.surveys.stop()
	r.Rest(ctx)
}

// await waits for surveys that nothing can be shown without, together for at
// most a limit.
func await(ctx context.Context, limit time.Duration, surveys []<-chan struct{}) {
	if len(surveys) == 0 {
		return
	}
	timer := time.NewTimer(limit)
	defer timer.Stop()
	for _, done := range surveys {
		select {
		case <-done:
		case <-timer.C:
			return
		case <-ctx.Done():
			return
		}
	}
}
