package exchange_test

import (
	"encoding/json"
	"regexp"
	"strings"
	"testing"

	"mcprelay/shared/exchange"
	"mcprelay/shared/session"
)

const trace = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"

func TestTraceparentIsCheckedStrictly(t *testing.T) {
	for s, want := range map[string]bool{
		trace:                                   true,
		strings.Replace(trace, "-01", "-00", 1): true,
		strings.Replace(trace, "-01", "-ff", 1): true,
		"01" + trace[2:]:                        true,
		"fe" + trace[2:] + "-later":             true,
		"01" + trace[2:] + "later":              false,
		"":                                      false,
		trace + "-01":                           false,
		trace + " ":                             false,
		" " + trace:                             false,
		trace[1:]:                               false,
		"ff" + trace[2:]:                        false,
		"0x" + trace[2:]:                        false,
		strings.ToUpper(trace):                  false,
		strings.Replace(trace, "-", "_", 1):     false,
		strings.Replace(trace, "0af7651916cd43dd8448eb211c80319c", strings.Repeat("0", 32), 1): false,
		strings.Replace(trace, "b7ad6b7169203331", strings.Repeat("0", 16), 1):                 false,
		strings.Replace(trace, "0af7", "0ag7", 1):                                              false,
		"01" + trace[2:] + `-"`:                           false,
		"01" + trace[2:] + `-\`:                           false,
		"01" + trace[2:] + "-\x00":                        false,
		"01" + trace[2:] + "-é":                           false,
		"01" + trace[2:] + "-" + strings.Repeat("x", 300): false,
	} {
		if got := exchange.Traceparent(s); got != want {
			t.Errorf("%q: want %v, got %v", s, want, got)
		}
	}
}

func TestTraceparentGoesIntoMetaWhereTheAgentHasNone(t *testing.T) {
	legacy, now := session.State{Era: session.Legacy, Version: "2025-11-25"}, session.State{Era: session.Modern, Version: "2026-07-28"}
	for agent, want := range map[string]string{
		``:                          `{"traceparent":"` + trace + `"}`,
		`{}`:                        `{"traceparent":"` + trace + `"}`,
		`{"a":1}`:                   `{"a":1,"traceparent":"` + trace + `"}`,
		`{"traceparent":"own"}`:     `{"traceparent":"own"}`,
		`{"traceparent":null}`:      `{"traceparent":null}`,
		`{"tr\u0061ceparent":"x"}`:  `{"tr\u0061ceparent":"x"}`,
		`{"a":{"traceparent":"x"}}`: `{"a":{"traceparent":"x"},"traceparent":"` + trace + `"}`,
	} {
		got, err := exchange.AppendMeta(nil, json.RawMessage(agent), legacy, trace)
		if err != nil || string(got) != `,"_meta":`+want {
			t.Errorf("%s: want %s, got %s, %v", agent, want, got, err)
		}
		got, err = exchange.AppendMeta(nil, json.RawMessage(agent), now, trace)
		if err != nil || !strings.HasSuffix(string(got), ","+want[1:]) || !json.Valid(got[len(`,"_meta":`):]) {
			t.Errorf("modern %s: got %s, %v", agent, got, err)
		}
	}
}

func TestTraceparentReachesTheServer(t *testing.T) {
	for value, want := range map[string]bool{trace: true, trace + "\"": false, "x": false, "": false} {
		change := func(r *exchange.Request) { r.Traceparent = value }
		for era, p := range map[string]*peer{"modern": newPeer(t, modern(pages(`{"tools":[]}`))), "legacy": newLegacyPeer(t, pages(`{"tools":[]}`))} {
			x := process(t, nil)
			if _, err := x.Call(t.Context(), request(t, p.url, change)); err != nil {
				t.Fatal(err)
			}
			if _, _, err := x.List(t.Context(), request(t, p.url, change)); err != nil {
				t.Fatal(err)
			}
			for _, method := range []string{"tools/call", "tools/list"} {
				if got := strings.Contains(string(p.last(t, method).Body), `"traceparent":"`+trace+`"`); got != want {
					t.Errorf("%s %s with %q: sent %s", era, method, value, p.last(t, method).Body)
				}
			}
		}
	}
}

// FuzzTraceparent checks that what is accepted may be written into JSON as it
// is, and begins with the four fields.
func FuzzTraceparent(f *testing.F) {
	for _, s := range []string{trace, "01" + trace[2:] + "-x", "ff" + trace[2:], trace[:54], ""} {
		f.Add(s)
	}
	shape := regexp.MustCompile(`^[0-9a-f]{2}-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}(-[!-~]*)?$`)
	f.Fuzz(func(t *testing.T, s string) {
		if !exchange.Traceparent(s) {
			return
		}
		var back string
		if err := json.Unmarshal([]byte(`"`+s+`"`), &back); err != nil || back != s {
			t.Fatalf("%q comes back as %q, %v", s, back, err)
		}
		if !shape.MatchString(s) || strings.HasPrefix(s, "00") && len(s) != len(trace) {
			t.Fatalf("%q is accepted", s)
		}
	})
}
