package faults_test

import (
	"testing"

	"mcprelay/shared/call"
	"mcprelay/test/hostile"
)

// Whatever a server does before the agent's request is sent, nothing of it ran,
// and the agent is told so.
func TestEveryFaultOfAnOpeningLeavesTheCallUnmade(t *testing.T) {
	k := newStage(t)
	for _, o := range []struct {
		era    hostile.Era
		method string
	}{
		{hostile.Modern, "server/discover"},
		{hostile.Modern, "tools/list"},
		{hostile.Legacy, "initialize"},
		{hostile.Legacy, "notifications/initialized"},
	} {
		t.Run(o.method, func(t *testing.T) {
			t.Parallel()
			up := hostile.Start(t, hostile.Options{Era: o.era, Lenient: o.method == "server/discover"})
			for _, mode := range hostile.Modes() {
				t.Run(mode.Name, func(t *testing.T) { unmade(t, k, up, o.method, mode) })
			}
		})
	}
}

func unmade(t *testing.T, k *stage, up *hostile.Server, method string, mode hostile.Mode) {
	s := k.before(t, up, hostile.Setup{Server: hostile.Keys{"startup_timeout_ms": 400, "request_timeout_ms": 800, "max_result_bytes": bound}})
	up.On(method, mode.Script)
	ask, calls, open := hostile.Ask{Tool: "change"}, up.Calls(), len(up.Sessions())
	reply := s.relay.Call(t, ask)
	r := reply.Record
	if r.Outcome == call.Answered && method == "notifications/initialized" {
		s.hold(ask, want{}, reply) // any success accepts a notification, whatever comes with it
		return
	}
	s.hold(ask, want{reason: r.Reason}, reply)
	if r.Outcome == call.Answered || r.Effect != call.ImpactNone || reply.Error().Effect != call.ImpactNone || r.Posts != 0 || up.Calls() != calls {
		t.Errorf("the record says %s, %s, effect %s, %d POSTs; the server saw %d calls", r.Outcome, r.Reason, r.Effect, r.Posts, up.Calls()-calls)
	}
	if got := len(up.Sessions()); got != open {
		t.Errorf("%d sessions are open that nobody knows of", got-open)
	}
}
