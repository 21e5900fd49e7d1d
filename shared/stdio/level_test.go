package stdio_test

import (
	"strings"
	"testing"

	"mcprelay/shared/call"
	"mcprelay/shared/stdio"
)

// TestALevelIsSetInTheChild of the key, which is started for it and used for
// the calls after it. A child that is modern or has no logs is told nothing.
func TestALevelIsSetInTheChild(t *testing.T) {
	const told = `"method":"logging/setLevel","params":{"level":"warning"}}`
	for name, tt := range map[string]struct {
		era, caps string
		fails     string
		told      bool
	}{
		"one that logs":                     {stdio.Legacy, `{"tools":{},"logging":{}}`, "", true},
		"one that knows no levels":          {stdio.Legacy, `{"tools":{},"logging":{}}`, "logging/setLevel", true},
		"one that does not log":             {stdio.Legacy, `{"tools":{}}`, "", false},
		"one that is told with the request": {stdio.Modern, `{"tools":{},"logging":{}}`, "", false},
	} {
		t.Run(name, func(t *testing.T) {
			p := newPool(t, nil)
			r := ask(scripted(script{Era: tt.era, Caps: tt.caps, Fails: tt.fails, Code: -32601}), "echo")
			reply, err := p.SetLevel(within(t), r, "warning")
			if err != nil || (reply.Facts.Requests == 1) != tt.told || reply.Facts.Session != stdio.SessionNew {
				t.Fatalf("got %v, %+v", err, reply.Facts)
			}
			if answered := reply.Error != nil || string(reply.Result) == `{}`; answered != tt.told || (reply.Error != nil) != (tt.fails != "") {
				t.Errorf("got %s, error %+v", reply.Result, reply.Error)
			}
			if next := result(t, p, r); next.Facts.Session != stdio.SessionReused || next.Facts.PID != reply.Facts.PID {
				t.Errorf("the call after it went to another child: %+v", next.Facts)
			}
			if log := strings.Join(logOf(t, p, r), "\n"); strings.Contains(log, told) != tt.told || strings.Count(log, "setLevel") > 1 {
				t.Errorf("the child was sent %s", log)
			}
		})
	}
}

func TestAWordThatIsNoLevelIsNotWritten(t *testing.T) {
	p := newPool(t, nil)
	for _, level := range []string{"", "loud", `info","x":"`} {
		reply, err := p.SetLevel(within(t), ask(scripted(script{}), "echo"), level)
		if got := refusalOf(t, err); got.Reason != call.Internal || reply.Facts.PID != 0 {
			t.Errorf("%q: got %v, process %d", level, got, reply.Facts.PID)
		}
	}
	_, err := p.SetLevel(within(t), ask(stdio.Spec{Command: "/nowhere"}, ""), "info")
	want(t, refusalOf(t, err), call.ProcessFailed, call.ImpactNone)
}
