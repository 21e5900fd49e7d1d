package relay_test

import (
	"testing"

	"mcprelay/shared/audit"
	"mcprelay/shared/call"
	"mcprelay/shared/relay"
	"mcprelay/test/kit"
)

func TestACallerWithoutTheScopeIsRefusedBeforeAnythingElse(t *testing.T) {
	f := kit.New(t, "", "")
	for _, more := range []string{`,"scopes":[]`, `,"scopes":["audit:read"]`} {
		s := simulate(t, f, about("tool", "never", more))
		if s.Reason != call.InsufficientScope || s.Decision != call.Deny || s.Policy != call.PolicyNotRun || s.Rule+s.Missing != "" {
			t.Errorf("%s: got %+v", more, s)
		}
	}
}

func TestAQuestionThatIsRefusedLeavesARecordOfWhoAsked(t *testing.T) {
	for name, q := range map[string]relay.Question{
		"no question":      {},
		"no usable policy": {Subject: "ci", Server: "up", Tool: "look", Policies: []relay.Candidate{{Name: "p", Source: "package mcprelay.policy\ndeny contains"}}},
	} {
		f := kit.New(t, "", "")
		q.CallID, q.By = "01JDXAMPLE0000000000000001", operator
		_, refusal := f.Simulate(t.Context(), q)
		kit.WantReason(t, refusal, call.BadParams)
		r, ok := f.Recorder.Of(q.CallID)
		if !ok || r.State != audit.StateFinal || r.Agent != operator.Subject || r.Operation != call.OperationSimulate || r.Reason != call.BadParams || r.Time.IsZero() {
			t.Errorf("%s: recorded %+v", name, r)
		}
	}
}
