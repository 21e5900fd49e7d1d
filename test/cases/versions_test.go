package cases_test

import (
	"fmt"
	"net/http"
	"slices"
	"testing"

	"mcprelay/shared/call"
	"mcprelay/test/hostile"
)

// Section E, first part: which version is spoken.
func versions() []row {
	return []row{
		{"E55", "the negotiated version is on every later request", negotiated},
		{"E56", "a server may negotiate down, and an unknown version is refused", negotiatedDown},
	}
}

// legacyVersions are those that a server may negotiate.
func legacyVersions() []string {
	return []string{"2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"}
}

func negotiated(t *testing.T, k *stage) {
	for _, era := range []hostile.Era{hostile.Legacy, hostile.Sessionless} {
		s := k.set(t, hostile.Options{Era: era}, hostile.Setup{})
		strictly(s, "2025-11-25", 500, `{"jsonrpc":"2.0","id":null,"error":{"code":-32603,"message":"Internal error"}}`)
		s.ask(hostile.Ask{}, want{opened: 1, session: hostile.Fresh(era)})
		s.ask(hostile.Ask{}, want{session: hostile.Held(era)})
		if reply := s.ask(hostile.Ask{Modern: true}, want{session: hostile.Held(era)}); reply.Record.ProtocolVersion != "2025-11-25" || reply.Record.Era != "legacy" {
			t.Errorf("the record says %s, %s", reply.Record.Era, reply.Record.ProtocolVersion)
		}
		if reply := s.relay.Ask(t.Context(), t, hostile.Ask{Method: "tools/list"}); reply.Status != http.StatusOK {
			t.Errorf("tools/list: %d %s", reply.Status, reply.Body)
		}
		everyLater(t, s, "2025-11-25")
	}
}

// strictly answers all but initialize and the probe only in the negotiated
// version.
func strictly(s *scene, version string, status int, body string) {
	for _, method := range []string{"notifications/initialized", "tools/list", "tools/call", "DELETE"} {
		s.up.On(method, func(c *hostile.Conn, r hostile.Request) {
			if !slices.Equal(r.Header.Values("MCP-Protocol-Version"), []string{version}) {
				c.Reply(status, "application/json", body)
				return
			}
			s.up.Honest(c, r)
		})
	}
}

func everyLater(t *testing.T, s *scene, version string) {
	t.Helper()
	later := 0
	for _, r := range s.up.Requests() {
		if r.Key() == "server/discover" || r.Key() == "initialize" {
			continue
		}
		later++
		if got := r.Header.Values("MCP-Protocol-Version"); !slices.Equal(got, []string{version}) {
			t.Errorf("%s came in version %v, want %s", r.Key(), got, version)
		}
	}
	if later < 3 {
		t.Errorf("%d later requests, want the notification and two calls at least", later)
	}
}

func negotiatedDown(t *testing.T, k *stage) {
	for _, version := range legacyVersions() {
		for _, era := range []hostile.Era{hostile.Legacy, hostile.Sessionless} {
			s := k.set(t, hostile.Options{Era: era, Version: version}, hostile.Setup{})
			strictly(s, version, 400, `{"jsonrpc":"2.0","id":null,"error":{"code":-32000,"message":"Bad Request: Unsupported protocol version"}}`)
			reply := s.ask(hostile.Ask{}, want{opened: 1, session: hostile.Fresh(era)})
			if reply.Record.ProtocolVersion != version {
				t.Errorf("the record says version %s, want %s", reply.Record.ProtocolVersion, version)
			}
			s.ask(hostile.Ask{}, want{session: hostile.Held(era)})
			s.again().ask(hostile.Ask{}, want{session: hostile.Held(era)})
			everyLater(t, s, version)
			if asked := string(s.up.Last("initialize").Params); !contains(asked, `"protocolVersion":"2025-11-25"`) {
				t.Errorf("initialize asks with %s, want the newest version", asked)
			}
		}
	}
	for _, version := range []string{`"2099-01-01"`, `"2024-10-07"`, `"DRAFT-2026-v1"`, `""`, `null`, `20251125`, `["2025-11-25"]`, `"2026-07-28"`, `"2025-11-25 "`} {
		s := k.set(t, hostile.Options{Era: hostile.Sessionless}, hostile.Setup{})
		s.up.On("initialize", hostile.Result(fmt.Sprintf(`{"protocolVersion":%s,"capabilities":{},"serverInfo":{"name":"x","version":"1"}}`, version)))
		s.under("refused "+version, func(s *scene) {
			s.ask(hostile.Ask{}, want{reason: call.NoCommonVersion, effect: call.ImpactNone, calls: none, opened: 1})
		})
	}
}
