package faults_test

import (
	"context"
	"errors"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"mcprelay/shared/app"
	"mcprelay/shared/call"
	"mcprelay/shared/exchange"
	"mcprelay/shared/session"
	"mcprelay/test/hostile"
	"mcprelay/test/invariant"
)

func sessions() []row {
	return []row{
		{39, "a session that was lost is opened again, and the call made once more", lostOnce},
		{40, "a session that is lost twice ends the call", lostTwice},
		{42, "of two that open a session at once, one is kept and the other ended", twoAtOnce},
		{43, "a session store that is down costs an opening, never an answer", storeDown},
	}
}

// losses are the ways in which servers say that a session is lost.
func losses() []variant {
	said := func(status, code, message string) string {
		return `{"jsonrpc":"2.0","id":` + status + `,"error":{"code":` + code + `,"message":"` + message + `"}}`
	}
	return []variant{
		{"404", hostile.Status(http.StatusNotFound, "", "")},
		{"404 with words", hostile.Status(http.StatusNotFound, "text/plain", "session not found "+bait)},
		{"404 with an error", hostile.Status(http.StatusNotFound, "application/json", said("null", "-32001", "Session not found"))},
		{"404 with an error under our id", hostile.Status(http.StatusNotFound, "application/json", said("$ID", "-32001", "Session not found"))},
		{"400 with an error", hostile.Status(http.StatusBadRequest, "application/json", said("null", "-32000", "Bad Request: No valid session ID provided"))},
	}
}

func lostOnce(t *testing.T, k *stage) {
	s := k.warm(t, hostile.Legacy, hostile.Setup{})
	for _, v := range losses() {
		s.under(v.name, func(s *scene) {
			for _, a := range []hostile.Ask{{}, {Tool: "change"}, {Tool: "look", Plain: true}} {
				lost := s.up.Last("tools/call").Header.Get("Mcp-Session-Id")
				s.on(hostile.Sequence(v.script, s.up.Honest))
				s.ask(a, want{posts: 2, opened: 1, session: "renewed", lost: true})
				if now := s.up.Last("tools/call").Header.Get("Mcp-Session-Id"); now == lost {
					s.t.Error("the lost session was used again")
				}
			}
		})
	}
	s.up.LoseSessions()
	s.on(nil)
	s.ask(hostile.Ask{}, want{posts: 2, opened: 1, session: "renewed", lost: true})
	s.ask(hostile.Ask{}, want{})
	t.Run("the opening fails", func(t *testing.T) {
		s := k.warm(t, hostile.Legacy, hostile.Setup{})
		s.on(losses()[0].script)
		s.up.On("initialize", hostile.Status(http.StatusInternalServerError, "text/plain", bait))
		s.ask(hostile.Ask{}, want{reason: call.InitializeFailed, status: http.StatusInternalServerError, opened: 1, lost: true})
	})
	// Servers that hold no sessions cannot have lost one.
	for _, era := range []hostile.Era{hostile.Modern, hostile.Sessionless} {
		t.Run(string(era), func(t *testing.T) {
			s := k.warm(t, era, hostile.Setup{})
			s.on(losses()[0].script)
			s.ask(hostile.Ask{}, want{reason: call.UpstreamStatus, status: http.StatusNotFound})
		})
	}
}

func lostTwice(t *testing.T, k *stage) {
	for _, v := range losses() {
		t.Run(v.name, func(t *testing.T) {
			s := k.warm(t, hostile.Legacy, hostile.Setup{})
			s.on(v.script)
			status := http.StatusNotFound
			if v.name[:3] == "400" {
				status = http.StatusBadRequest
			}
			s.ask(hostile.Ask{Tool: "change"}, want{reason: call.SessionLost, posts: 2, opened: 1, session: "renewed", lost: true, status: status})
			s.on(nil)
			s.ask(hostile.Ask{}, want{opened: 1, session: "new"}) // neither session is used any more
		})
	}
	s := k.warm(t, hostile.Legacy, hostile.Setup{})
	s.on(losses()[0].script)
	s.ask(hostile.Ask{Plain: true}, want{reason: call.SessionLost, posts: 2, opened: 1, session: "renewed", lost: true, status: http.StatusNotFound})
}

func twoAtOnce(t *testing.T, k *stage) {
	t.Run("opening", func(t *testing.T) {
		s, fronts := k.pair(t, hostile.Setup{})
		s.meet(fronts, 2)
		s.settled(map[string]int{"new": 1, "reused": 1}, 1)
		s.ask(hostile.Ask{}, want{})
	})
	t.Run("renewing", func(t *testing.T) {
		s, fronts := k.pair(t, hostile.Setup{})
		for _, front := range fronts {
			s.relay = front
			w := want{session: "new", opened: 1}
			if len(s.calls) > 0 {
				w = want{}
			}
			s.ask(hostile.Ask{}, w)
		}
		s.up.LoseSessions()
		s.meet(fronts, 3)
		// Whose session was kept says that it was renewed, the other that it took
		// the first one's, and both that theirs was lost.
		s.settled(map[string]int{"new": 1, "renewed": 1, "reused": 2}, 1)
		s.counted("tools/call", s.up.Calls(), 2+2*2)
	})
}

// pair is two processes of one relay in front of a legacy server.
func (k *stage) pair(t *testing.T, setup hostile.Setup) (*scene, []*hostile.Front) {
	t.Helper()
	s := k.set(t, hostile.Options{Era: hostile.Legacy}, setup)
	first := s.relay
	return s, []*hostile.Front{first, s.again(nil).relay}
}

// meet lets all ask at once, and holds initialize until n have come in all.
func (s *scene) meet(fronts []*hostile.Front, n int) {
	s.t.Helper()
	s.up.On("initialize", func(c *hostile.Conn, r hostile.Request) {
		s.up.Await("initialize", n)
		s.up.Honest(c, r)
	})
	var asking sync.WaitGroup
	var mu sync.Mutex
	for _, front := range fronts {
		asking.Go(func() {
			reply := front.Ask(s.t.Context(), s.t, hostile.Ask{})
			mu.Lock()
			defer mu.Unlock()
			s.calls = append(s.calls, invariant.Call{ID: "1", Header: "", Body: reply.Body, Whole: s.echoed(hostile.Ask{})})
		})
	}
	asking.Wait()
	s.up.On("initialize", nil)
}

// settled checks how the calls of all relays came by their session.
func (s *scene) settled(how map[string]int, ended int) {
	s.t.Helper()
	for _, front := range s.watch.fronts {
		for _, record := range front.Records() {
			if record.Operation == call.OperationToolsCall {
				how[record.Session]--
			}
		}
	}
	for session, missing := range how {
		if missing != 0 {
			s.t.Errorf("%d calls too few say that the session was %s", missing, session)
		}
	}
	if got := s.up.Sessions(); len(got) != 1 {
		s.t.Errorf("sessions %v are open, want one", got)
	}
	s.counted("DELETE", s.up.Count("DELETE"), ended)
	s.check()
}

// flaky keeps sessions in a store that can be made to fail.
type flaky struct {
	exchange.Sessions
	load, save atomic.Bool
}

var errDown = errors.New("the session store is down")

// Load fails where told to.
func (f *flaky) Load(ctx context.Context, key session.Key) (session.State, error) {
	if f.load.Load() {
		return session.State{}, errDown
	}
	return f.Sessions.Load(ctx, key)
}

// Save fails where told to.
func (f *flaky) Save(ctx context.Context, key session.Key, s session.State) (session.State, error) {
	if f.save.Load() {
		return session.State{}, errDown
	}
	return f.Sessions.Save(ctx, key, s)
}

// unreliable puts a store that can fail into the relay of s.
func unreliable(s *scene) *flaky {
	f := &flaky{Sessions: s.stage.store}
	pipeline := s.relay.Pipeline
	pipeline.Sessions = f
	pipeline.Exchange = exchange.New(exchange.Config{Guard: pipeline.Guard, Sessions: f, Now: time.Now, Name: app.Name, Version: app.Version})
	return f
}

func storeDown(t *testing.T, k *stage) {
	unsaved := func(era hostile.Era) string {
		if era == hostile.Legacy {
			return exchange.SessionUnsaved
		}
		return exchange.SessionNone
	}
	t.Run("on load", func(t *testing.T) {
		k.eras(t, hostile.Setup{}, func(_ *testing.T, s *scene) {
			s = s.again(nil) // which knows nothing of its own
			unreliable(s).load.Store(true)
			s.ask(hostile.Ask{}, want{opened: hostile.Opens(s.up.Era()), session: unsaved(s.up.Era())})
			s.ask(hostile.Ask{}, want{}) // this process remembers
		})
	})
	t.Run("on save", func(t *testing.T) {
		k.cold(t, hostile.Setup{}, func(_ *testing.T, s *scene) {
			f := unreliable(s)
			f.save.Store(true)
			s.ask(hostile.Ask{}, want{opened: hostile.Opens(s.up.Era()), session: unsaved(s.up.Era())})
			s.ask(hostile.Ask{Plain: true}, want{})
			s.up.LoseSessions()
			if s.up.Era() == hostile.Legacy {
				s.ask(hostile.Ask{}, want{posts: 2, opened: 1, session: unsaved(hostile.Legacy), lost: true})
			}
		})
	})
	t.Run("both", func(t *testing.T) {
		k.cold(t, hostile.Setup{}, func(_ *testing.T, s *scene) {
			f := unreliable(s)
			f.load.Store(true)
			f.save.Store(true)
			s.ask(hostile.Ask{}, want{opened: hostile.Opens(s.up.Era()), session: unsaved(s.up.Era())})
			f.load.Store(false)
			f.save.Store(false)
			s.ask(hostile.Ask{}, want{})
		})
	})
}
