package cases_test

import (
	"testing"

	"mcprelay/shared/call"
	"mcprelay/test/hostile"
)

// A server's own timeout is all that a call has: reading the tools that it
// needs takes nothing off it.
func TestAShortTimeoutIsTimeEnoughForAServerThatAnswers(t *testing.T) {
	k := &stage{store: hostile.Open(t)}
	for _, era := range hostile.Eras() {
		s := k.set(t, hostile.Options{Era: era}, hostile.Setup{Server: hostile.Keys{"request_timeout_ms": 1500}})
		s.ask(hostile.Ask{}, want{opened: hostile.Opens(era), session: hostile.Fresh(era)})
	}
}

// What stalls ends by the timeout, whatever it has said before.
func TestAServerThatStallsIsLeftInTime(t *testing.T) {
	k := &stage{store: hostile.Open(t)}
	k.eras(t, hostile.Setup{Server: hostile.Keys{"request_timeout_ms": 1500}}, func(t *testing.T, s *scene) {
		t.Parallel()
		for _, v := range []struct {
			script hostile.Script
			reason call.Reason
		}{
			{hostile.Stall, call.HeadTimeout},
			{hostile.StreamOpen(hostile.Event(progressed)), call.CallTimeout},
		} {
			s.up.On("tools/call", v.script)
			s.ask(hostile.Ask{}, want{reason: v.reason, effect: call.ImpactUnknown, session: hostile.Held(s.up.Era())})
			s.up.On("tools/call", nil)
			s.ask(hostile.Ask{}, want{session: hostile.Held(s.up.Era())})
		}
		want := 0
		if s.up.Era() != hostile.Modern {
			want = 2
		}
		s.up.Await("notifications/cancelled", want)
		s.counted("notifications/cancelled", s.up.Count("notifications/cancelled"), want)
	})
}
