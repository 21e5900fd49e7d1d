package relay_test

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"mcprelay/shared/call"
	"mcprelay/test/kit"
)

// named is what a record holds of a message that must not be kept.
func named(by, message string) string {
	sum := sha256.Sum256([]byte(message))
	return fmt.Sprintf("%s %x", by, sum[:6])
}

const (
	quoting  = `,"policies":[{"name":"quote","mode":%q,"source":"package mcprelay.policy\nimport rego.v1\ndeny contains input.request.params.arguments.text if true\n"}]`
	sentence = "a text with token-one-12345678 in it"
)

func TestWhatPoliciesQuoteIsKeptWhereArgumentsMayBe(t *testing.T) {
	masked := "a text with [redacted] in it"
	for _, test := range []struct{ mode, arguments, want string }{
		{"enforce", "preview", "policy: " + named("quote", sentence)}, // the credential is not known yet
		{"enforce", "digest", "policy: " + named("quote", sentence)},
		{"enforce", "none", "policy: " + named("quote", sentence)},
		{"audit", "preview", "audited policy: " + masked},
		{"audit", "digest", "audited policy: " + named("quote", sentence)},
		{"audit", "none", "audited policy: " + named("quote", sentence)},
	} {
		f := kit.New(t, "", fmt.Sprintf(quoting, test.mode)+`,"audit_arguments":"`+test.arguments+`","explain_refusals":true`)
		f.Warm(t)
		c := kit.Call("change")
		c.Arguments = json.RawMessage(`{"text":"` + sentence + `"}`)
		_, refusal := f.Do(t.Context(), c)
		if test.mode == "enforce" {
			kit.WantReason(t, refusal, call.DeniedByPolicy)
			if refusal.Detail != named("quote", sentence) {
				t.Errorf("%v: detail %q", test, refusal.Detail)
			}
		}
		r := f.Recorder.Only(t)
		if !slices.Equal(r.Reasons, []string{test.want}) {
			t.Errorf("%v: reasons %q", test, r.Reasons)
		}
		if strings.Contains(f.Log.String(), sentence) {
			t.Errorf("%v: the log holds the argument", test)
		}
	}
}
