package exchange_test

import (
	"encoding/json"
	"strings"
	"testing"

	"mcprelay/shared/exchange"
	"mcprelay/shared/session"
)

const trace = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"

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
