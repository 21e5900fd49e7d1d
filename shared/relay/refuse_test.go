package relay_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"mcprelay/shared/call"
	"mcprelay/test/kit"
)

func TestAStrangerCostsALineAndACountButNoRecord(t *testing.T) {
	f := kit.New(t, "", "")
	stranger := kit.Call("look")
	stranger.Principal = call.Principal{}
	for range 3 {
		f.Refuse(t.Context(), stranger, call.Refuse(call.Unauthenticated, ""))
	}
	if intents, finals := f.Recorder.Written(); intents+finals != 0 {
		t.Errorf("%d records, want 0", intents+finals)
	}
	if got := f.Counts().Strangers; got != 3 {
		t.Errorf("counted %d, want 3", got)
	}
	if got := strings.Count(f.Log.String(), `"reason":"unauthenticated"`); got != 3 {
		t.Errorf("%d lines, want 3", got)
	}
}

func TestAKnownCallersRefusalLeavesAFinal(t *testing.T) {
	f := kit.New(t, "", "")
	f.Refuse(t.Context(), kit.Call("look"), call.Refuse(call.BadJSON, "at byte 7"))
	if record := f.Recorder.Only(t); record.Outcome != call.Rejected || record.Detail != "at byte 7" || record.Agent != "ci" || record.Decision != "" {
		t.Errorf("record %+v", record)
	}
}

func TestAServerIsOfferedOnlyWhereTheRulesLetTheRelayReachIt(t *testing.T) {
	f := kit.New(t, "", "")
	if _, refusal := f.View(t.Context(), kit.Call("")); refusal != nil {
		t.Errorf("got %v, want none", refusal)
	}
	other := kit.Call("")
	other.Server, other.Operation = "nowhere", call.OperationDiscover
	_, refusal := f.View(t.Context(), other)
	kit.WantReason(t, refusal, call.UnknownServer)
	if record := f.Recorder.Only(t); record.Decision != call.Deny || record.Server != "nowhere" {
		t.Errorf("record %+v", record)
	}
}

func listing(tools string) kit.Answer {
	return func(w http.ResponseWriter, _ *http.Request, body map[string]json.RawMessage) {
		kit.Result(w, body, `{"resultType":"complete","ttlMs":0,"cacheScope":"private","tools":[`+tools+`]}`)
	}
}

func TestAnAcquisitionIsACallAboutDiscover(t *testing.T) {
	f := kit.New(t, "", "")
	f.Lists = listing(`{"name":"look","inputSchema":{"type":"object"}},{"name":"odd","inputSchema":true},{"name":"change","inputSchema":{"z":1,"a":9007199254740993}}`)
	answer, refusal := f.Acquire(t.Context(), kit.Call("ignored"))
	answer.Settle()
	if refusal != nil {
		t.Fatal(refusal)
	}
	if len(answer.Tools) != 2 || len(answer.Skips) != 1 || string(answer.Tools[1].Raw) != `{"name":"change","inputSchema":{"z":1,"a":9007199254740993}}` {
		t.Errorf("tools %v, skips %v", answer.Tools, answer.Skips)
	}
	if record := f.Recorder.Only(t); record.About != "discover" || record.Operation != call.OperationDiscover || record.Tool != "" || record.Outcome != call.Answered {
		t.Errorf("record %+v", record)
	}
}

func TestAnExactRegistrationRefusesAnotherList(t *testing.T) {
	exact := `,"allowed_tools":["look","change"]`
	for _, test := range []struct {
		name, keys, tools string
		want              call.Reason
	}{
		{"as registered", exact, `{"name":"change","inputSchema":{}},{"name":"look","inputSchema":{}}`, ""},
		{"missing", exact, `{"name":"look","inputSchema":{}}`, call.ToolMissing},
		{"invalid counts as missing", exact, `{"name":"look","inputSchema":{}},{"name":"change"}`, call.ToolMissing},
		{"unexpected", exact, `{"name":"look","inputSchema":{}},{"name":"change","inputSchema":{}},{"name":"new","inputSchema":{}}`, call.ToolUnexpected},
		{"unexpected, hidden", exact + `,"unexpected_tools":"hide"`, `{"name":"look","inputSchema":{}},{"name":"change","inputSchema":{}},{"name":"new","inputSchema":{}}`, ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			f := kit.New(t, test.keys, "")
			f.Lists = listing(test.tools)
			answer, refusal := f.Acquire(t.Context(), kit.Call(""))
			answer.Settle()
			if test.want != "" {
				kit.WantReason(t, refusal, test.want)
				return
			}
			if refusal != nil || len(answer.Tools) != 2 {
				t.Errorf("got %v, %v, want the two tools", answer.Tools, refusal)
			}
		})
	}
}

func TestReadyNamesWhatIsMissing(t *testing.T) {
	f := kit.New(t, "", "")
	f.Secrets = func() (string, string) { return "", "" }
	statuses, err := f.Ready(t.Context(), "acme")
	if err != nil || len(statuses) != 1 || statuses[0].Server != "up" {
		t.Fatalf("got %v, %v", statuses, err)
	}
	kit.WantReason(t, statuses[0].Refusal, call.SecretMissing)
	if intents, finals := f.Recorder.Written(); intents+finals != 0 || f.Requests.Load() != 0 {
		t.Error("asking for readiness left a record or reached the upstream")
	}
}
