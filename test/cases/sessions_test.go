package cases_test

import (
	"fmt"
	"net/http"
	"slices"
	"sync"
	"testing"

	"mcprelay/shared/audit"
	"mcprelay/shared/call"
	"mcprelay/test/hostile"
)

// Section D, first part: sessions that a server loses.
func sessions() []row {
	return []row{
		{"D39", "a lost session is opened anew and the question put once more", lostOnce},
		{"D40", "a session that is lost twice fails fast", lostTwice},
		{"D41", "a 400 means a lost session only where an id was sent and the body says so", lostBy400},
		{"D43", "404 with -32001 is a lost session, a page or -32601 is not, and initialize is never retried", lostBy404},
		{"D44", "a reset after the body was sent is never sent again", resetOnWrite},
		{"D51", "the version header is on initialize too", versionOnInitialize},
		{"D52", "an assigned session id is on every later request", sessionEchoed},
		{"D54", "405 to GET and DELETE is normal, and the relay answers so itself", notAllowed},
	}
}

// losing loses all sessions at the first request and answers it by script;
// what follows is answered honestly.
func losing(up *hostile.Server, script hostile.Script) hostile.Script {
	return hostile.Sequence(func(c *hostile.Conn, r hostile.Request) {
		up.LoseSessions()
		script(c, r)
	}, up.Honest)
}

// lostBy are ways to say that a session is lost.
func lostBy() []variant {
	failure := func(id string, code int, message string) string {
		return fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"error":{"code":%d,"message":%q}}`, id, code, message)
	}
	return []variant{
		{"404 and nothing", hostile.Status(404, "", "")},
		{"404 in words", hostile.Status(404, "text/plain; charset=utf-8", "session not found\n")},
		{"404 in other words", hostile.Status(404, "text/plain", "Not Found")},
		{"404 -32001", hostile.Status(404, "application/json", failure("null", -32001, "Session not found"))},
		{"404 -32001 with our id", hostile.Status(404, "application/json", failure("$ID", -32001, "Session not found"))},
		{"404 -32000", hostile.Status(404, "application/json", failure("null", -32000, "Session expired"))},
		{"404 of another shape", hostile.Status(404, "application/json", `{"error":"unknown session"}`)},
		{"404 as a stream", hostile.Status(404, "text/event-stream", hostile.Event(failure("$ID", -32001, "Session not found")))},
		{"404 in chunks", hostile.Pieces("HTTP/1.1 404 Not Found\r\nTransfer-Encoding: chunked\r\n\r\n", "4\r\ngone\r\n", "0\r\n\r\n")},
		{"404 and the end of the connection", hostile.Bytes("HTTP/1.1 404 Not Found\r\nConnection: close\r\n\r\n")},
	}
}

func lostOnce(t *testing.T, k *stage) {
	s := k.warm(t, hostile.Legacy, hostile.Setup{})
	for _, v := range lostBy() {
		s.under(v.name, func(s *scene) {
			late := s.again()
			late.ask(hostile.Ask{}, want{session: "reused"})
			before := len(s.up.Requests())
			s.up.On("tools/call", losing(s.up, v.script))
			s.ask(hostile.Ask{Arguments: `{"n":1e2}`}, want{result: echoed(s.up, `{"n":1e2}`), calls: 2, opened: 1, session: "renewed"})
			if got, want := s.up.Sequence()[before:], []string{"tools/call", "initialize", "notifications/initialized", "tools/call"}; !slices.Equal(got, want) {
				s.t.Errorf("the server saw %v, want %v", got, want)
			}
			s.ask(hostile.Ask{}, want{session: "reused"})
			s.again().ask(hostile.Ask{}, want{session: "reused"}) // the new id is in the store
			late.up.On("tools/call", nil)
			late.ask(hostile.Ask{}, want{calls: 2, session: "reused"}) // and opened once, for whoever was late
			if open := s.up.Sessions(); len(open) != 1 || s.up.Last("tools/call").Header.Get("Mcp-Session-Id") != open[0] {
				s.t.Errorf("open sessions %v", open)
			}
		})
	}
}

func lostTwice(t *testing.T, k *stage) {
	for _, v := range lostBy() {
		t.Run(v.name, func(t *testing.T) {
			s := k.warm(t, hostile.Legacy, hostile.Setup{})
			s.up.On("tools/call", v.script)
			s.ask(hostile.Ask{}, want{reason: call.SessionLost, effect: call.ImpactNone, calls: 2, opened: 1, session: "renewed"})
			s.up.On("tools/call", nil)
			s.ask(hostile.Ask{}, want{opened: s.up.Count("initialize") - 1}) // it is not dead for ever
		})
	}
}

func lostBy400(t *testing.T, k *stage) {
	failure := func(code int, message string) string {
		return fmt.Sprintf(`{"code":%d,"message":%q}`, code, message)
	}
	body := func(id, failure string) string { return `{"jsonrpc":"2.0","id":` + id + `,"error":` + failure + `}` }
	lost := []variant{
		{"no valid session id", hostile.Status(400, "application/json", body("null", failure(-32000, "Bad Request: No valid session ID provided")))},
		{"with our id", hostile.Status(400, "application/json", body("$ID", failure(-32000, "Bad Request: No valid session ID provided")))},
		{"without a jsonrpc member", hostile.Status(400, "application/json", `{"error":{"code":-32000,"message":"Bad Request: No valid session ID provided"},"id":null}`)},
		{"not initialized", hostile.Status(400, "application/json", body("null", failure(-32000, "Bad Request: Server not initialized")))},
		{"in words", hostile.Status(400, "text/plain", "Invalid session ID")},
		{"200 and -32600", hostile.JSON(body("$ID", failure(-32600, "Unknown session id abc; client should reinitialize")))},
	}
	s := k.warm(t, hostile.Legacy, hostile.Setup{})
	for _, v := range lost {
		s.under(v.name, func(s *scene) {
			s.up.On("tools/call", losing(s.up, v.script))
			s.ask(hostile.Ask{}, want{calls: 2, opened: 1, session: "renewed"})
		})
	}
	s.under("but not other errors", func(s *scene) {
		for _, text := range []string{failure(-32602, "Invalid arguments"), failure(-32000, "quota exceeded"), failure(-32602, "the session argument is missing")} {
			s.up.On("tools/call", hostile.Status(400, "application/json", body("$ID", text)))
			s.ask(hostile.Ask{}, want{failure: text, status: 400, session: "reused"})
		}
		for _, text := range []string{failure(-32000, "no session for user 7"), failure(1, "session expired")} {
			s.up.On("tools/call", hostile.JSON(body("$ID", text))) // a tool's own trouble: 200
			s.ask(hostile.Ask{}, want{failure: text, status: 200, session: "reused"})
		}
		s.up.On("tools/call", hostile.Status(400, "text/html", "<p>session</p>"))
		s.ask(hostile.Ask{}, want{reason: call.UpstreamStatus, effect: call.ImpactUnknown, status: 400, session: "reused"})
	})
	s.under("and not where no id was sent", func(s *scene) {
		for _, era := range []hostile.Era{hostile.Sessionless, hostile.Modern} {
			s := k.warm(s.t, era, hostile.Setup{})
			s.up.On("tools/call", lost[0].script)
			for _, v := range lost[:2] {
				s.up.On("tools/call", v.script)
				s.ask(hostile.Ask{}, want{failure: failure(-32000, "Bad Request: No valid session ID provided"), status: 400})
			}
			s.up.On("tools/call", hostile.Status(400, "text/plain", "Invalid session ID"))
			s.ask(hostile.Ask{}, want{reason: call.UpstreamStatus, effect: call.ImpactUnknown, status: 400})
		}
	})
}

func lostBy404(t *testing.T, k *stage) {
	unknown := `{"code":-32601,"message":"Method not found"}`
	k.eras(t, hostile.Setup{}, func(t *testing.T, s *scene) {
		s.up.On("tools/call", hostile.Status(404, "application/json", `{"jsonrpc":"2.0","id":$ID,"error":`+unknown+`}`))
		s.ask(hostile.Ask{}, want{failure: unknown, status: 404, session: hostile.Held(s.up.Era())})
		for _, text := range []string{page, "  <html>", "<?xml version=\"1.0\"?><Error>session</Error>"} {
			s.up.On("tools/call", hostile.Status(404, "text/html", text))
			s.relay.Call(t, hostile.Ask{}).Refused(call.UpstreamStatus, call.ImpactUnknown)
		}
	})
	s := k.warm(t, hostile.Legacy, hostile.Setup{})
	s.up.On("tools/call", hostile.Status(404, "text/html", page))
	s.ask(hostile.Ask{}, want{reason: call.UpstreamStatus, effect: call.ImpactUnknown, status: 404, session: "reused"})
	for _, v := range append(lostBy(), variant{"405", hostile.Status(405, "", "")}, variant{"500", hostile.Status(500, "", "")}) {
		t.Run("initialize "+v.name, func(t *testing.T) {
			s := k.set(t, hostile.Options{Era: hostile.Legacy, On: map[string]hostile.Script{"initialize": v.script}}, hostile.Setup{})
			s.ask(hostile.Ask{}, want{reason: call.InitializeFailed, effect: call.ImpactNone, calls: none, opened: 1})
		})
	}
}

func resetOnWrite(t *testing.T, k *stage) {
	k.eras(t, hostile.Setup{}, func(t *testing.T, s *scene) {
		for _, tool := range []string{"change", "look", "echo"} {
			for name, script := range map[string]hostile.Script{"reset": hostile.Reset, "closed": hostile.Close, "FIN": func(c *hostile.Conn, _ hostile.Request) { c.FIN() }} {
				s.up.On("tools/call", script)
				reply := s.ask(hostile.Ask{Tool: tool}, want{reason: call.ResetBeforeHead, effect: call.ImpactUnknown, session: hostile.Held(s.up.Era())})
				if reply.Record.Effect != call.ImpactUnknown {
					t.Errorf("%s, %s: the record says effect %s", tool, name, reply.Record.Effect)
				}
				s.up.On("tools/call", nil)
				s.ask(hostile.Ask{Tool: tool}, want{session: hostile.Held(s.up.Era())}) // the session is as good as before
			}
		}
		s.under("a lost session behind a reset is renewed by the next call", func(s *scene) {
			if s.up.Era() != hostile.Legacy {
				return
			}
			s.up.On("tools/call", hostile.Sequence(func(c *hostile.Conn, _ hostile.Request) {
				s.up.LoseSessions()
				c.Reset()
			}, s.up.Honest))
			s.ask(hostile.Ask{Tool: "change"}, want{reason: call.ResetBeforeHead, effect: call.ImpactUnknown})
			s.ask(hostile.Ask{Tool: "change"}, want{calls: 2, opened: 1, session: "renewed"})
		})
	})
}

func versionOnInitialize(t *testing.T, k *stage) {
	for _, era := range []hostile.Era{hostile.Legacy, hostile.Sessionless} {
		s := k.set(t, hostile.Options{Era: era}, hostile.Setup{})
		s.up.On("initialize", func(c *hostile.Conn, r hostile.Request) {
			if r.Header.Get("MCP-Protocol-Version") == "" {
				c.Reply(400, "application/json", `{"error":"MCP-Protocol-Version header is required"}`)
				return
			}
			s.up.Initialize(c, r)
		})
		s.ask(hostile.Ask{}, want{opened: 1, session: hostile.Fresh(era)})
		asked := s.up.Last("initialize")
		if got := asked.Header.Values("MCP-Protocol-Version"); !slices.Equal(got, []string{"2025-11-25"}) {
			t.Errorf("initialize has the version %v", got)
		}
	}
}

func sessionEchoed(t *testing.T, k *stage) {
	s := k.set(t, hostile.Options{Era: hostile.Legacy}, hostile.Setup{})
	strict := func(c *hostile.Conn, r hostile.Request) {
		if open := s.up.Sessions(); len(open) != 1 || !slices.Equal(r.Header.Values("Mcp-Session-Id"), open) {
			c.Reply(400, "application/json", `{"jsonrpc":"2.0","id":null,"error":{"code":-32000,"message":"Bad Request: Mcp-Session-Id header is required"}}`)
			return
		}
		s.up.Honest(c, r)
	}
	for _, method := range []string{"tools/call", "tools/list", "notifications/initialized"} {
		s.up.On(method, strict)
	}
	s.ask(hostile.Ask{}, want{opened: 1, session: "new"})
	for range 3 {
		s.ask(hostile.Ask{}, want{session: "reused"})
	}
	if reply := s.relay.Ask(t.Context(), t, hostile.Ask{Method: "tools/list"}); reply.Status != 200 {
		t.Errorf("tools/list: %d %s", reply.Status, reply.Body)
	}
	reply := s.relay.Ask(t.Context(), t, hostile.Ask{Verb: http.MethodDelete, Path: "/v1/runs/none"})
	if reply.Status >= 500 {
		t.Errorf("closing a run that never was: %d %s", reply.Status, reply.Body)
	}
}

func notAllowed(t *testing.T, k *stage) {
	for _, status := range []int{405, 404, 501, 400, 500} {
		up := hostile.Start(t, hostile.Options{Era: hostile.Legacy, On: map[string]hostile.Script{"DELETE": hostile.Status(status, "", "")}})
		one := k.before(t, up, hostile.Setup{})
		raced(t, up, []*scene{one, one.again()})
		if got := up.Count("DELETE"); got != 1 {
			t.Errorf("%d: the loser sent %d DELETE, want 1", status, got)
		}
	}
	closedRuns(t, k)
	s := k.warm(t, hostile.Legacy, hostile.Setup{})
	before := len(s.up.Requests())
	for _, verb := range []string{http.MethodGet, http.MethodDelete, http.MethodPut, http.MethodHead} {
		reply := s.relay.Ask(t.Context(), t, hostile.Ask{Verb: verb, Header: http.Header{"Accept": {"text/event-stream"}}})
		if reply.Status != http.StatusMethodNotAllowed || reply.Header.Get("Allow") != http.MethodPost {
			t.Errorf("%s: got %d, Allow %q, want 405 and POST", verb, reply.Status, reply.Header.Get("Allow"))
		}
	}
	s.counted("requests", len(s.up.Requests()), before)
	if up := s.up; up.Count("GET") != 0 {
		t.Error("a GET went to the server")
	}
}

// closedRuns closes the session of a run on servers that take DELETE in every
// way: it is sent once, but to a server that is down, and the next call of the
// run opens anew.
func closedRuns(t *testing.T, k *stage) {
	for status, closed := range map[int]bool{200: true, 202: true, 204: true, 404: true, 405: true, 400: false, 500: false} {
		s := k.set(t, hostile.Options{Era: hostile.Legacy, On: map[string]hostile.Script{"DELETE": hostile.Status(status, "", "")}}, hostile.Setup{})
		s.ask(hostile.Ask{Run: "r1"}, want{opened: 1, session: "new"})
		s.ask(hostile.Ask{}, want{opened: 1, session: "new"})
		down := count(status >= 500)
		for _, want := range []string{fmt.Sprintf(`{"closed":%d,"failed":%d,"run":"r1"}`, count(closed), count(!closed)), fmt.Sprintf(`{"closed":0,"failed":%d,"run":"r1"}`, down)} {
			reply := s.relay.Ask(t.Context(), t, hostile.Ask{Verb: http.MethodDelete, Path: "/v1/runs/r1"})
			if reply.Status != http.StatusOK || reply.Body != want {
				t.Errorf("%d: closing the run gave %d %s, want %s", status, reply.Status, reply.Body, want)
			}
		}
		s.counted("DELETE", s.up.Count("DELETE"), 1+down)
		records := slices.DeleteFunc(s.relay.Records(), func(r audit.Record) bool { return r.Server == "" }) // of the request itself
		if record := records[len(records)-1]; record.Operation != call.OperationClose || (record.Outcome == call.Answered) != closed || record.Status != status {
			t.Errorf("%d: the record says %s, %s, status %d", status, record.Operation, record.Outcome, record.Status)
		}
		s.ask(hostile.Ask{}, want{session: "reused"}) // not of the run
		s.ask(hostile.Ask{Run: "r1"}, want{opened: 1, session: "new"})
	}
}

func count(yes bool) int {
	if yes {
		return 1
	}
	return 0
}

// raced lets relays call at once, each of which must open a session of its own
// before any may store one.
func raced(t *testing.T, up *hostile.Server, relays []*scene) {
	t.Helper()
	var arrived sync.WaitGroup
	arrived.Add(len(relays))
	up.On("initialize", func(c *hostile.Conn, r hostile.Request) {
		arrived.Done()
		arrived.Wait()
		up.Initialize(c, r)
	})
	var calling sync.WaitGroup
	for _, s := range relays {
		calling.Go(func() {
			reply := s.relay.Ask(t.Context(), t, hostile.Ask{})
			if reply.Status != http.StatusOK || reply.Body != `{"jsonrpc":"2.0","id":1,"result":`+echoed(up, "{}")+`}` {
				t.Errorf("a racer got %d %s", reply.Status, reply.Body)
			}
		})
	}
	calling.Wait()
	up.On("initialize", nil)
}
