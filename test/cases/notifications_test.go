package cases_test

import (
	"net/http"
	"testing"

	"mcprelay/shared/call"
	"mcprelay/test/hostile"
)

// Section A: replies to notifications.
func notifications() []row {
	return []row{
		{"A1", "an empty 2xx of any kind accepts a notification", accepted([]variant{
			{"200", hostile.Status(200, "", "")},
			{"201", hostile.Status(201, "", "")},
			{"202", hostile.Status(202, "", "")},
			{"206", hostile.Status(206, "", "")},
			{"200 chunked", hostile.Pieces("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", "0\r\n\r\n")},
			{"200 until the end", hostile.Bytes("HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n")},
			{"200 of HTTP/1.0", hostile.Bytes("HTTP/1.0 200 OK\r\n\r\n")},
			{"202 with a session id again", hostile.Status(202, "", "", "Mcp-Session-Id: another")},
		})},
		{"A2", "a body in the reply to a notification is never decoded", accepted([]variant{
			{"null", hostile.JSON("null")},
			{"an object", hostile.JSON("{}")},
			{"an array", hostile.JSON("[]")},
			{"not JSON", hostile.JSON(`{"jsonrpc`)},
			{"an error", hostile.JSON(`{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"no"}}`)},
			{"a response", hostile.JSON(`{"jsonrpc":"2.0","id":1,"result":{}}`)},
			{"twice the same key", hostile.JSON(`{"a":1,"a":2}`)},
			{"no gzip at all", hostile.Status(200, "application/json", "null", "Content-Encoding: gzip")},
			{"longer than it is", hostile.Bytes("HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 40\r\n\r\nnull")},
		})},
		{"A3", "204 accepts a notification", accepted([]variant{
			{"bare", hostile.Pieces("HTTP/1.1 204 No Content\r\n\r\n")},
			{"with a type", hostile.Pieces("HTTP/1.1 204 No Content\r\nContent-Type: application/json\r\n\r\n")},
			{"and the connection ends", hostile.Bytes("HTTP/1.1 204 No Content\r\nConnection: close\r\n\r\n")},
		})},
		{"A4", "the type of the reply to a notification means nothing", accepted([]variant{
			{"text, empty", hostile.Status(202, "text/plain; charset=UTF-8", "")},
			{"text, words", hostile.Status(202, "text/plain; charset=UTF-8", "Accepted")},
			{"a page", hostile.Status(200, "text/html", "<p>Accepted</p>")},
			{"a type that is none", hostile.Status(202, ";;;", "Accepted")},
			{"an empty stream", hostile.Stream()},
			{"a stream kept open", hostile.StreamOpen(": welcome\n\n")},
			{"a stream with a request", hostile.StreamOpen(hostile.Event(`{"jsonrpc":"2.0","id":7,"method":"roots/list"}`))},
		})},
		{"A6", "an agent's notification is answered by 202 and nothing", agentNotifies},
	}
}

// accepted opens a server that answers notifications/initialized oddly: the
// call that follows is as good as ever.
func accepted(variants []variant) func(*testing.T, *stage) {
	return func(t *testing.T, k *stage) {
		for _, era := range []hostile.Era{hostile.Legacy, hostile.Sessionless} {
			up := hostile.Start(t, hostile.Options{Era: era})
			for _, v := range variants {
				t.Run(string(era)+" "+v.name, func(t *testing.T) {
					up.On("notifications/initialized", v.script)
					s := k.before(t, up, hostile.Setup{})
					s.ask(hostile.Ask{}, want{result: echoed(up, "{}"), opened: 1, session: hostile.Fresh(era), status: 200})
					s.ask(hostile.Ask{}, want{session: hostile.Held(era)})
				})
			}
			t.Run(string(era)+" but no other status", func(t *testing.T) {
				ended := 0
				if era == hostile.Legacy {
					ended = 1 // the session that was assigned all the same
				}
				for _, status := range []int{400, 404, 405, 500, 503} {
					up.On("notifications/initialized", hostile.Status(status, "application/json", "null"))
					s := k.before(t, up, hostile.Setup{})
					s.ask(hostile.Ask{}, want{reason: call.InitializeFailed, effect: call.ImpactNone, calls: none, opened: 1, ended: ended})
				}
			})
		}
	}
}

func agentNotifies(t *testing.T, k *stage) {
	k.eras(t, hostile.Setup{}, func(t *testing.T, s *scene) {
		before := len(s.up.Requests())
		for _, body := range []string{
			`{"jsonrpc":"2.0","method":"notifications/initialized"}`,
			`{"jsonrpc":"2.0","method":"notifications/initialized","params":{}}`,
			`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1,"reason":"why"}}`,
			`{"jsonrpc":"2.0","method":"notifications/roots/list_changed"}`,
			`{"jsonrpc":"2.0","method":"notifications/of/no/kind"}`,
		} {
			for i, header := range []http.Header{nil, {"Mcp-Protocol-Version": {"2025-11-25"}}, nil, {"Mcp-Protocol-Version": {"2025-11-25"}}} {
				reply := s.relay.Ask(t.Context(), t, hostile.Ask{Body: body, Header: header, All: i > 1})
				if reply.Status != http.StatusAccepted || reply.Body != "" {
					t.Errorf("%s: got %d %q, want 202 and nothing", body, reply.Status, reply.Body)
				}
				if kind := reply.Header.Get("Content-Type"); kind != "" {
					t.Errorf("%s: got content type %q, want none", body, kind)
				}
			}
		}
		s.counted("requests", len(s.up.Requests()), before)
	})
}
