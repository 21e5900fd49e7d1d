package exchange_test

import (
	"fmt"
	"net"
	"strconv"
	"strings"
	"testing"

	"mcprelay/shared/call"
	"mcprelay/shared/session"
)

// hostile is one reply to tools/call of a server that is known to be modern,
// and what the caller is told. Each is asked exactly once.
type hostile struct {
	name   string
	answer script
	want   call.Reason
	detail string // part of the operator's text
}

func hostileHeads() []hostile {
	raw := func(head string) script {
		return func(w net.Conn, g got) { send(w, "%s", head); w.Close() }
	}
	body := func(headers string) script {
		return func(w net.Conn, g got) {
			b := result(g, hello)
			send(w, "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n%s\r\n%s", strings.ReplaceAll(headers, "LENGTH", fmt.Sprint(len(b))), b)
			w.Close()
		}
	}
	return []hostile{
		{name: "reset before the head", answer: func(w net.Conn, g got) { _ = w.(*net.TCPConn).SetLinger(0); w.Close() }, want: call.ResetBeforeHead},
		{name: "end before the head", answer: func(w net.Conn, g got) { w.Close() }, want: call.ResetBeforeHead},
		{name: "end inside the head", answer: raw("HTTP/1.1 200 OK\r\nContent-Ty"), want: call.ResetBeforeHead},
		{name: "another protocol", answer: raw("SSH-2.0-OpenSSH_9.6\r\n"), want: call.Protocol, detail: `"SSH-2.0-OpenSSH_9.6\r\n"`},
		{name: "HTTP/2 preface", answer: raw("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"), want: call.Protocol},
		{name: "HTTP/0.9", answer: raw("<html>hello"), want: call.Protocol},
		{name: "status of four digits", answer: raw("HTTP/1.1 2000 OK\r\n\r\n"), want: call.Protocol},
		{name: "switching protocols", answer: raw("HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\n\r\n"), want: call.Protocol},
		{name: "length and chunked", answer: body("Content-Length: LENGTH\r\nTransfer-Encoding: chunked\r\n"), want: call.Protocol},
		{name: "two equal lengths", answer: body("Content-Length: LENGTH\r\nContent-Length: LENGTH\r\n"), want: call.Protocol},
		{name: "two lengths", answer: body("Content-Length: LENGTH\r\nContent-Length: 5\r\n"), want: call.Protocol},
		{name: "signed length", answer: body("Content-Length: +LENGTH\r\n"), want: call.Protocol},
		{name: "list of lengths", answer: body("Content-Length: LENGTH, LENGTH\r\n"), want: call.Protocol},
		{name: "unknown transfer coding", answer: body("Transfer-Encoding: gzip, chunked\r\n"), want: call.Protocol},
		{name: "two transfer codings", answer: body("Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n"), want: call.Protocol},
		{name: "folded line", answer: body("X-A: b\r\n c\r\nContent-Length: LENGTH\r\n"), want: call.Protocol},
		{name: "bare LF", answer: body("X-A: b\nContent-Length: LENGTH\r\n"), want: call.Protocol},
		{name: "bare CR", answer: body("X-A: b\rc\r\nContent-Length: LENGTH\r\n"), want: call.Protocol},
		{name: "NUL in a value", answer: body("X-A: b\x00c\r\nContent-Length: LENGTH\r\n"), want: call.Protocol},
		{name: "blank before the colon", answer: body("Content-Length : LENGTH\r\n"), want: call.Protocol},
		{name: "no colon", answer: body("Content-Length LENGTH\r\n"), want: call.Protocol},
		{name: "two session ids", answer: body("Mcp-Session-Id: a\r\nmcp-session-id: b\r\nContent-Length: LENGTH\r\n"), want: call.Protocol},
		{name: "session id with a blank", answer: body("Mcp-Session-Id: a b\r\nContent-Length: LENGTH\r\n"), want: call.Protocol},
		{name: "session id of 0x80", answer: body("Mcp-Session-Id: a\x80\r\nContent-Length: LENGTH\r\n"), want: call.Protocol},
		{name: "session id over 1 KiB", answer: body("Mcp-Session-Id: " + strings.Repeat("x", 1025) + "\r\nContent-Length: LENGTH\r\n"), want: call.Protocol},
		{name: "two content types", answer: body("Content-Type: text/html\r\nContent-Length: LENGTH\r\n"), want: call.Protocol},
		{name: "1000 headers", answer: body(strings.Repeat("X-A: b\r\n", 1000) + "Content-Length: LENGTH\r\n"), want: call.HeadTooLarge},
		{name: "64 KiB and 1", answer: body("X-A: " + strings.Repeat("b", 64<<10) + "\r\n"), want: call.HeadTooLarge},
		{name: "endless header", answer: endless("HTTP/1.1 200 OK\r\nX-A: ", strings.Repeat("b", 1<<16)), want: call.HeadTooLarge},
		{name: "six informational replies", answer: raw(strings.Repeat("HTTP/1.1 103 Early Hints\r\n\r\n", 6)), want: call.Protocol},
	}
}

// endless sends a beginning and then the same bytes for as long as they are taken.
func endless(begin, more string) script {
	return func(w net.Conn, g got) {
		send(w, "%s", strings.ReplaceAll(begin, "ID", g.ID))
		for {
			if _, err := w.Write([]byte(more)); err != nil {
				return
			}
		}
	}
}

func hostileBodies() []hostile {
	kind := func(kind, body string, headers ...string) script {
		return func(w net.Conn, g got) {
			write(w, 200, kind, strings.ReplaceAll(body, "ID", g.ID), headers...)
		}
	}
	const ok = `{"jsonrpc":"2.0","id":ID,"result":{}}`
	jsonBody := func(body string) script { return kind("application/json", body) }
	return []hostile{
		{name: "login page", answer: kind("text/html", "<html>log in"), want: call.ContentType, detail: `"text/html"`},
		{name: "plain text", answer: kind("text/plain", ok), want: call.ContentType},
		{name: "no content type", answer: kind("", ok), want: call.ContentType},
		{name: "broken content type", answer: kind("application", ok), want: call.ContentType},
		{name: "accepted without an answer", answer: func(w net.Conn, g got) { write(w, 202, "", "") }, want: call.Protocol},
		{name: "no content", answer: func(w net.Conn, g got) { send(w, "HTTP/1.1 204 No Content\r\n\r\n") }, want: call.Protocol},
		{name: "empty body", answer: jsonBody(""), want: call.Protocol},
		{name: "not JSON-RPC", answer: jsonBody(`{"Output":{},"Version":"1"}`), want: call.Protocol, detail: `"{\"Output\":{},\"Version\":\"1\"}"`},
		{name: "JSON array", answer: jsonBody("[" + ok + "]"), want: call.Protocol},
		{name: "two values", answer: jsonBody(ok + ok), want: call.Protocol},
		{name: "another id", answer: jsonBody(`{"jsonrpc":"2.0","id":"other","result":{}}`), want: call.Protocol},
		{name: "null id and a result", answer: jsonBody(`{"jsonrpc":"2.0","id":null,"result":{}}`), want: call.Protocol},
		{name: "result and error", answer: jsonBody(`{"jsonrpc":"2.0","id":ID,"result":{},"error":{"code":1,"message":"x"}}`), want: call.Protocol},
		{name: "neither result nor error", answer: jsonBody(`{"jsonrpc":"2.0","id":ID}`), want: call.Protocol},
		{name: "a request of the server", answer: jsonBody(`{"jsonrpc":"2.0","id":1,"method":"ping"}`), want: call.Protocol},
		{name: "duplicate name", answer: jsonBody(`{"jsonrpc":"2.0","id":ID,"result":{"a":1,"a":2}}`), want: call.Protocol},
		{name: "unknown resultType", answer: jsonBody(`{"jsonrpc":"2.0","id":ID,"result":{"resultType":"zzz"}}`), want: call.Protocol},
		{name: "length short", answer: func(w net.Conn, g got) {
			send(w, "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 500\r\n\r\n%s", result(g, hello))
			w.Close()
		}, want: call.StreamEndedEarly},
		{name: "chunk cut", answer: func(w net.Conn, g got) {
			send(w, "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\nff\r\n{\"json")
			w.Close()
		}, want: call.StreamEndedEarly},
		{name: "malformed chunk", answer: func(w net.Conn, g got) {
			send(w, "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n{}\r\n")
			w.Close()
		}, want: call.Protocol},
		{name: "reset inside the body", answer: func(w net.Conn, g got) {
			send(w, "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 500\r\n\r\n{")
			_ = w.(*net.TCPConn).SetLinger(0)
			w.Close()
		}, want: call.StreamEndedEarly},
		{name: "length over the bound", answer: func(w net.Conn, g got) {
			send(w, "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 1048577\r\n\r\n{")
		}, want: call.ReplyTooLarge},
		{name: "endless JSON string", answer: endless("HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n\r\n{\"jsonrpc\":\"2.0\",\"id\":ID,\"result\":{\"a\":\"", strings.Repeat("x", 1<<16)), want: call.ReplyTooLarge},
		{name: "Brotli", answer: kind("application/json", "x", "Content-Encoding: br"), want: call.Encoding},
		{name: "Zstandard", answer: kind("application/json", "x", "Content-Encoding: zstd"), want: call.Encoding},
		{name: "deflate", answer: kind("application/json", "x", "Content-Encoding: deflate"), want: call.Encoding},
		{name: "gzip twice", answer: kind("application/json", "x", "Content-Encoding: gzip, gzip"), want: call.Encoding},
		{name: "gzip that is none", answer: kind("application/json", strings.Repeat("x", 64), "Content-Encoding: gzip"), want: call.Encoding},
		{name: "gzip bomb", answer: kind("application/json", zipped(strings.Repeat("0", 100<<20)), "Content-Encoding: gzip"), want: call.ReplyTooLarge},
		{name: "gzip cut", answer: kind("application/json", zipped(strings.Repeat("abc", 999))[:30], "Content-Encoding: gzip"), want: call.StreamEndedEarly},
		{name: "gzip of nothing for ever", answer: endless("HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Encoding: gzip\r\n\r\n", strings.Repeat(zipped(""), 1000)), want: call.ReplyTooLarge},
	}
}

func hostileStatuses() []hostile {
	status := func(code int, kind, body string, headers ...string) script {
		return func(w net.Conn, g got) { write(w, code, kind, strings.ReplaceAll(body, "ID", g.ID), headers...) }
	}
	return []hostile{
		{name: "401", answer: status(401, "", ""), want: call.UpstreamUnauthorized},
		{name: "403", answer: status(403, "application/json", failure("null", 1, "no")), want: call.UpstreamUnauthorized},
		{name: "429", answer: status(429, "", ""), want: call.UpstreamStatus, detail: "status 429"},
		{name: "503", answer: status(503, "text/html", "<html>down"), want: call.UpstreamStatus, detail: "status 503"},
		{name: "500", answer: status(500, "text/plain", "it broke"), want: call.UpstreamStatus, detail: `"it broke"`},
		{name: "404 page", answer: status(404, "text/html", "<html>gone"), want: call.UpstreamStatus},
		{name: "404 of a server without sessions", answer: status(404, "text/plain", "session not found"), want: call.UpstreamStatus},
		{name: "500 with a result", answer: status(500, "application/json", `{"jsonrpc":"2.0","id":ID,"result":{}}`), want: call.UpstreamStatus},
		{name: "500 endless", answer: endless("HTTP/1.1 500 No\r\nContent-Type: text/plain\r\n\r\n", strings.Repeat("x", 1<<16)), want: call.UpstreamStatus},
		{name: "500 in an encoding", answer: status(500, "application/json", "x", "Content-Encoding: br"), want: call.UpstreamStatus},
	}
}

func TestHostileReplyIsRefusedWithItsReason(t *testing.T) {
	for _, group := range [][]hostile{hostileHeads(), hostileBodies(), hostileStatuses(), hostileStreams()} {
		for _, tc := range group {
			t.Run(tc.name, func(t *testing.T) {
				t.Parallel()
				p := newPeer(t, modern(tc.answer))
				s := newStore()
				knows(s, session.Modern)
				reply, err := process(t, s).Call(t.Context(), request(t, p.url))
				refusal := refusalOf(t, err)
				if refusal.Reason != tc.want {
					t.Errorf("want %s, got %v", tc.want, refusal)
				}
				if want := refusal.Row().Impact; refusal.MayHaveRun() != want {
					t.Errorf("want impact %s, got %s", want, refusal.MayHaveRun())
				}
				if said := refusal.Detail + " " + strconv.Quote(string(refusal.Quote)); !strings.Contains(said, tc.detail) {
					t.Errorf("want %s in the detail, got %s", tc.detail, said)
				}
				if n := p.posts("tools/call"); n != 1 || reply.Facts.Posts != 1 {
					t.Errorf("want 1 POST, got %d, counted as %d", n, reply.Facts.Posts)
				}
				if reply.Result != nil || reply.Error != nil {
					t.Errorf("a refusal comes with a reply: %+v", reply)
				}
			})
		}
	}
}
