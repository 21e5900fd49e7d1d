package cases_test

import (
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"

	"mcprelay/shared/call"
	"mcprelay/test/hostile"
)

// Section D, second part: whose session it is.
func isolation() []row {
	return []row{
		{"D45", "of calls that open a session at once one wins, and the others use it or end their own", firstCalls},
		{"D46", "a rotated credential keeps the session, another subject never has it", whoseSession},
		{"D47", "a session belongs to tenant, server and run", whichSession},
		{"D48", "two agents may use the same id at once", sameID},
		{"D49", "the session header may be spelled in any case, and holds one id of visible ASCII", spelledSession},
	}
}

func firstCalls(t *testing.T, k *stage) {
	t.Run("in one process", func(t *testing.T) {
		for _, era := range hostile.Eras() {
			s := k.set(t, hostile.Options{Era: era}, hostile.Setup{})
			together(t, 8, func(i int) {
				want := fmt.Sprintf(`{"i":%d}`, i)
				reply := s.relay.Ask(t.Context(), t, hostile.Ask{ID: fmt.Sprint(i), Arguments: want})
				if reply.Body != fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"result":%s}`, i, echoed(s.up, want)) {
					t.Errorf("%s: got %s", era, reply.Body)
				}
			})
			s.t = t
			s.counted("tools/call", s.up.Calls(), 8)
			s.counted("initialize", s.up.Count("initialize"), hostile.Opens(era))
			s.counted("DELETE", s.up.Count("DELETE"), 0)
			how := map[string]int{}
			for _, record := range s.relay.Records() {
				if record.Tool == "echo" {
					how[record.Session]++
				}
			}
			if era == hostile.Legacy && (how["new"] != 1 || how["reused"] != 7) {
				t.Errorf("the records say %v, want one new and seven reused", how)
			}
		}
	})
	t.Run("in several processes", func(t *testing.T) {
		for _, n := range []int{2, 4} {
			one := k.set(t, hostile.Options{Era: hostile.Legacy}, hostile.Setup{})
			relays := []*scene{one}
			for range n - 1 {
				relays = append(relays, one.again())
			}
			raced(t, one.up, relays)
			one.counted("tools/call", one.up.Calls(), n)
			one.counted("initialize", one.up.Count("initialize"), n)
			one.counted("DELETE", one.up.Count("DELETE"), n-1)
			if open := one.up.Sessions(); len(open) != 1 {
				t.Fatalf("open sessions %v, want one", open)
			}
			for _, s := range relays {
				s.ask(hostile.Ask{}, want{session: "reused"})
			}
		}
	})
}

// together runs a part n times at once.
func together(t *testing.T, n int, part func(int)) {
	t.Helper()
	var running sync.WaitGroup
	for i := range n {
		running.Go(func() { part(i) })
	}
	running.Wait()
}

func sessionOf(s *scene) string { return s.up.Last("tools/call").Header.Get("Mcp-Session-Id") }

func whoseSession(t *testing.T, k *stage) {
	s := k.warm(t, hostile.Legacy, hostile.Setup{})
	first := sessionOf(s)
	rotated := s.again()
	rotated.setup.Credential = func() (string, string) { return hostile.Token + "-rotated", "v2" }
	rotated = rotated.again()
	rotated.ask(hostile.Ask{}, want{session: "reused"})
	if got := rotated.up.Last("tools/call"); got.Header.Get("Authorization") != "Bearer "+hostile.Token+"-rotated" || sessionOf(s) != first {
		t.Errorf("after the rotation: credential or session differ from what they should be: %v", got.Header)
	}
	for _, name := range []string{"", "Mcp-Session-Id", "mcp-session-id"} {
		other := k.warm(t, hostile.Legacy, hostile.Setup{})
		mine := sessionOf(other)
		var header http.Header
		if name != "" {
			header = http.Header{name: {mine}}
		}
		other.ask(hostile.Ask{Subject: "other", Header: header}, want{opened: 1, session: "new"})
		if got := sessionOf(other); got == mine || got == "" {
			t.Errorf("another subject called in the session of the first")
		}
		other.ask(hostile.Ask{}, want{session: "reused"})
		if got := sessionOf(other); got != mine {
			t.Errorf("the first subject's session changed")
		}
	}
}

func whichSession(t *testing.T, k *stage) {
	up := hostile.Start(t, hostile.Options{Era: hostile.Legacy})
	seen := map[string]string{}
	first := k.before(t, up, hostile.Setup{More: map[string]*hostile.Server{"twin": up}})
	second := k.before(t, up, hostile.Setup{})
	for name, v := range map[string]struct {
		s *scene
		a hostile.Ask
	}{
		"one":               {first, hostile.Ask{}},
		"another name":      {first, hostile.Ask{Server: "twin"}},
		"another tenant":    {second, hostile.Ask{}},
		"a run":             {first, hostile.Ask{Run: "r1"}},
		"another run":       {first, hostile.Ask{Run: "r2"}},
		"another subject":   {first, hostile.Ask{Subject: "other"}},
		"his run":           {first, hostile.Ask{Subject: "other", Run: "r1"}},
		"his, other tenant": {second, hostile.Ask{Subject: "other"}},
	} {
		v.s.t = t
		v.s.ask(v.a, want{opened: 1, session: "new"})
		id := sessionOf(v.s)
		if other, ok := seen[id]; ok {
			t.Errorf("%s and %s share a session", name, other)
		}
		seen[id] = name
		v.s.ask(v.a, want{session: "reused"})
		if sessionOf(v.s) != id {
			t.Errorf("%s: the second call came in another session", name)
		}
	}
}

func sameID(t *testing.T, k *stage) {
	for _, era := range hostile.Eras() {
		for _, id := range []string{"0", `"same"`} {
			s := k.set(t, hostile.Options{Era: era}, hostile.Setup{})
			for _, subject := range hostile.Subjects() {
				s.relay.Call(t, hostile.Ask{Subject: subject}).Answered("")
			}
			var arrived sync.WaitGroup
			arrived.Add(4)
			s.up.On("tools/call", func(c *hostile.Conn, r hostile.Request) {
				arrived.Done()
				arrived.Wait() // all are here before any is answered
				s.up.Honest(c, r)
			})
			together(t, 4, func(i int) {
				want := fmt.Sprintf(`{"i":%d}`, i)
				reply := s.relay.Ask(t.Context(), t, hostile.Ask{ID: id, All: i > 1, Subject: hostile.Subjects()[i%2], Arguments: want})
				if reply.Body != `{"jsonrpc":"2.0","id":`+id+`,"result":`+echoed(s.up, want)+`}` {
					t.Errorf("%s: agent %d got %s", era, i, reply.Body)
				}
			})
			if got := s.up.Calls(); got != 6 {
				t.Errorf("%s: the server saw %d calls, want 6", era, got)
			}
		}
	}
}

func spelledSession(t *testing.T, k *stage) {
	for _, name := range []string{"MCP-Session-Id", "mcp-session-id", "Mcp-Session-Id", "MCP-SESSION-ID", "mCP-sESSION-iD"} {
		for _, blank := range []string{" ", "", "\t "} {
			s := k.set(t, hostile.Options{Era: hostile.Legacy}, hostile.Setup{})
			s.up.On("initialize", func(c *hostile.Conn, r hostile.Request) {
				body := hostile.Response(r, s.up.Greeting())
				c.Send(fmt.Sprintf("HTTP/1.1 200 OK\r\n%s:%s%s\r\ncontent-type: application/json\r\nCONTENT-LENGTH: %d\r\n\r\n%s", name, blank, s.up.NewSession(), len(body), body))
			})
			s.ask(hostile.Ask{}, want{opened: 1, session: "new"})
			s.ask(hostile.Ask{}, want{session: "reused"})
			if got := s.up.Sessions(); len(got) != 1 || sessionOf(s) != got[0] {
				t.Errorf("%s: open %v", name, got)
			}
		}
	}
	for _, header := range []string{
		"Mcp-Session-Id: a b", "mcp-session-id: a\tb", "MCP-SESSION-ID: a\x80", "Mcp-Session-Id: \u00e9", "Mcp-Session-Id: a\x7f", "Mcp-Session-Id: " + strings.Repeat("x", 1025),
		"Mcp-Session-Id: a\r\nMcp-Session-Id: a", "Mcp-Session-Id: a\r\nmcp-session-id: b",
	} {
		s := k.set(t, hostile.Options{Era: hostile.Legacy}, hostile.Setup{})
		s.up.On("initialize", hostile.JSON(`{"jsonrpc":"2.0","id":$ID,"result":`+s.up.Greeting()+`}`, header))
		s.under(fmt.Sprintf("unusable %.40q", header), func(s *scene) {
			s.ask(hostile.Ask{}, want{reason: call.InitializeFailed, effect: call.ImpactNone, calls: none, opened: 1})
			s.counted("notifications", s.up.Count("notifications/initialized"), 0)
		})
	}
	s := k.warm(t, hostile.Modern, hostile.Setup{})
	s.ask(hostile.Ask{Modern: true, Header: http.Header{
		"Mcp-Method": nil, "Mcp-Name": nil, "Mcp-Protocol-Version": nil,
		"mcp-method": {"tools/call"}, "MCP-NAME": {"echo"}, "mcp-protocol-version": {"2026-07-28"},
	}}, want{})
	s.ask(hostile.Ask{Modern: true, All: true, Header: http.Header{"Mcp-Name": nil, "mCP-nAME": {"up__echo"}}}, want{})
	if head := s.up.Last("tools/call").Head; strings.Count(strings.ToLower(head), "mcp-name:") != 1 {
		t.Errorf("head %s", head)
	}
}
