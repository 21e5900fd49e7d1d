package faults_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"mcprelay/shared/call"
	"mcprelay/test/hostile"
)

func bodies() []row {
	return []row{
		{32, "a stream without an end stops at its bound", endlessStreams},
		{33, "a line or a string without an end stops at its bound", endlessLines},
		{34, "gzip is read under the bound, other encodings are refused", encodings},
		{35, "a head is read up to 64 KiB and 256 lines", largeHeads},
		{36, "a head that two readers could read differently is refused", oddHeads},
	}
}

const (
	mebibyte  = 1 << 20
	bound     = 64 << 10 // of a result, where a test gives one
	maxEvents = 10_000
	maxHead   = 64 << 10
)

// endless writes a text, then another one until the relay leaves.
func endless(begin, again string) hostile.Script {
	return func(c *hostile.Conn, r hostile.Request) {
		c.Send(begin)
		c.Repeat(r.Fill(again))
	}
}

// stream never ends, and its parts are small.
type stream struct {
	variant
	reason   call.Reason // of the bound that comes first
	requests int
}

func smallStreams() []stream {
	again := func(name, event string, reason call.Reason) stream {
		return stream{variant{name, hostile.StreamEndless(strings.Repeat(event, 100))}, reason, 0}
	}
	requests := again("requests", hostile.Event(`{"jsonrpc":"2.0","method":"ping","id":"s"}`), call.TooManyEvents)
	requests.requests = maxEvents
	return []stream{
		again("notifications", hostile.Event(progress), call.ReplyTooLarge),
		again("comments", ": "+bait+"\n\n", call.ReplyTooLarge),
		again("empty lines", "\n\n\n\n", call.ReplyTooLarge),
		again("pings", "event: ping\ndata: now\n\n", call.TooManyEvents),
		again("answers to others", hostile.Event(`{"jsonrpc":"2.0","id":"foreign","result":{}}`), call.TooManyEvents),
		requests,
		{variant{"compressed", endless(okStream("Content-Encoding: gzip"), hostile.Gzip(strings.Repeat(": "+bait+"\n\n", 1000)))}, call.ReplyTooLarge, 0},
	}
}

func okStream(headers ...string) string {
	return "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n" + strings.Join(append(headers, "", ""), "\r\n")
}

func endlessStreams(t *testing.T, k *stage) {
	k.eras(t, hostile.Setup{}, func(t *testing.T, s *scene) {
		for _, v := range smallStreams() {
			s.under(v.name, func(s *scene) {
				s.on(v.script)
				s.ask(hostile.Ask{}, want{reason: v.reason, status: http.StatusOK, requests: v.requests})
			})
		}
		s = s.again(hostile.Keys{"max_result_bytes": bound})
		s.on(smallStreams()[0].script)
		s.both(want{reason: call.ReplyTooLarge, status: http.StatusOK})
		// The number of events is bounded too, whatever they are.
		for _, event := range []string{"data\n\n", "event: ping\n\n", "id: 1\n\n", "data: \n\n"} {
			s = s.again(hostile.Keys{"max_result_bytes": mebibyte})
			s.on(hostile.Stream(strings.Repeat(event, maxEvents+1), hostile.Event(response)))
			s.ask(hostile.Ask{}, want{reason: call.TooManyEvents, status: http.StatusOK})
			s.on(hostile.Stream(strings.Repeat(event, maxEvents-1), hostile.Event(response)))
			s.ask(hostile.Ask{}, want{result: done})
		}
	})
}

func endlessLines(t *testing.T, k *stage) {
	chunk := strings.Repeat("x", 16<<10)
	variants := []variant{
		{"a line of data", hostile.StreamEndless("data: ", chunk)},
		{"a comment", hostile.StreamEndless(": ", chunk)},
		{"the name of a field", hostile.StreamEndless(chunk)},
		{"the type of an event", hostile.StreamEndless("event: ", chunk)},
		{"lines of data", hostile.StreamEndless("data: " + chunk + "\n")},
		{"a JSON string", endless(okHead+"Connection: close\r\n\r\n"+`{"jsonrpc":"2.0","x":"`, chunk)},
		{"blanks", endless(okHead+"Connection: close\r\n\r\n", strings.Repeat(" ", 16<<10))},
		{"a depth", endless(okHead+"Connection: close\r\n\r\n", strings.Repeat("[", 16<<10))},
		{"a length beyond the bound", hostile.Pieces(okHead + fmt.Sprintf("Content-Length: %d\r\n\r\n{", 1<<40))},
		{"a chunk beyond the bound", endless(okHead+"Transfer-Encoding: chunked\r\n\r\nFFFFFFF\r\n", chunk)},
	}
	k.eras(t, hostile.Setup{}, func(t *testing.T, s *scene) {
		w := want{reason: call.ReplyTooLarge, status: http.StatusOK}
		s.each(variants, w)
		s = s.again(hostile.Keys{"max_result_bytes": bound})
		s.on(variants[0].script)
		s.both(w)
		// The bound is exact: what fills it passes, one byte more does not.
		exact := func(n int) hostile.Script {
			return func(c *hostile.Conn, r hostile.Request) {
				begin, end := `{"jsonrpc":"2.0","id":`+r.ID+`,"result":{"content":[],"x":"`, `"}}`
				c.Reply(http.StatusOK, "application/json", begin+strings.Repeat("x", n-len(begin)-len(end))+end)
			}
		}
		for n := bound - 1; n <= bound+1; n++ {
			s.on(exact(n))
			s.measured(n, w)
		}
		s = s.again(hostile.Keys{"max_frame_bytes": 1000})
		s.on(hostile.Stream(hostile.Event(strings.Replace(response, "done", strings.Repeat("x", 1000), 1))))
		s.ask(hostile.Ask{}, w)
	})
}

// measured wants an answer of a body of n bytes where that is within the
// bound, and w otherwise.
func (s *scene) measured(n int, w want) {
	s.t.Helper()
	if n > bound {
		s.ask(hostile.Ask{}, w)
		return
	}
	reply := s.relay.Call(s.t, hostile.Ask{})
	result := reply.Answered("")
	s.hold(hostile.Ask{}, want{result: result}, reply)
	if !strings.HasSuffix(result, `xxx"}`) {
		s.t.Errorf("%d bytes: got a part, ...%s", n, result[len(result)-10:])
	}
}

func encodings(t *testing.T, k *stage) {
	zeros := hostile.Gzip(strings.Repeat("\x00", 2*mebibyte))
	event := hostile.Event(response)
	gzipped := func(kind, text string) hostile.Script {
		return func(c *hostile.Conn, r hostile.Request) {
			c.Reply(http.StatusOK, kind, hostile.Gzip(r.Fill(text)), "Content-Encoding: gzip")
		}
	}
	k.eras(t, hostile.Setup{}, func(t *testing.T, s *scene) {
		s.each([]variant{
			{"gzip", gzipped("application/json", response)},
			{"x-gzip", hostile.Zipped("x-gzip", response)},
			{"GZip", hostile.Zipped(" GZip ", response)},
			{"gzip in a stream", gzipped("text/event-stream", event)},
			{"gzip in members", func(c *hostile.Conn, r hostile.Request) {
				text := r.Fill(response)
				c.Reply(http.StatusOK, "application/json", hostile.Gzip(text[:20])+hostile.Gzip("")+hostile.Gzip(text[20:]), "Content-Encoding: gzip")
			}},
			{"identity", hostile.JSON(response, "Content-Encoding: identity")},
			{"an empty one", hostile.JSON(response, "Content-Encoding: ")},
		}, want{result: done})
		var refused []variant
		for _, encoding := range []string{"br", "zstd", "deflate", "compress", "gzip, gzip", "gzip, br", "aws-chunked", "*", bait} {
			refused = append(refused, variant{encoding, hostile.Zipped(encoding, response)})
		}
		refused = append(refused,
			variant{"gzip that is none", hostile.JSON(response, "Content-Encoding: gzip")},
			variant{"a wrong sum", func(c *hostile.Conn, r hostile.Request) {
				body := []byte(hostile.Gzip(r.Fill(response)))
				body[len(body)-8] ^= 1
				c.Reply(http.StatusOK, "application/json", string(body), "Content-Encoding: gzip")
			}},
			variant{"garbage behind", func(c *hostile.Conn, r hostile.Request) {
				c.Reply(http.StatusOK, "application/json", hostile.Gzip(r.Fill(response))+bait, "Content-Encoding: gzip")
			}},
		)
		s.each(refused, want{reason: call.Encoding, status: http.StatusOK})
		s.on(refused[0].script)
		s.ask(hostile.Ask{Plain: true}, want{reason: call.Encoding, status: http.StatusOK})
		s.each([]variant{
			{"a bomb", hostile.Status(http.StatusOK, "application/json", zeros, "Content-Encoding: gzip")},
			{"a bomb in a stream", hostile.Status(http.StatusOK, "text/event-stream", zeros, "Content-Encoding: gzip")},
			{"bombs without an end", endless(okHead+"Content-Encoding: gzip\r\nConnection: close\r\n\r\n", zeros)},
			{"empty members without an end", endless(okHead+"Content-Encoding: gzip\r\nConnection: close\r\n\r\n", strings.Repeat(hostile.Gzip(""), 100))},
		}, want{reason: call.ReplyTooLarge, status: http.StatusOK})
		s.on(func(c *hostile.Conn, r hostile.Request) {
			body := hostile.Gzip(r.Fill(response))
			c.Reply(http.StatusOK, "application/json", body[:len(body)-4], "Content-Encoding: gzip")
		})
		s.ask(hostile.Ask{}, want{reason: call.StreamEndedEarly, status: http.StatusOK})
	})
}

func largeHeads(t *testing.T, k *stage) {
	// sized is a head of n bytes, its empty line included.
	sized := func(n int) hostile.Script {
		return func(c *hostile.Conn, r hostile.Request) {
			body := r.Fill(response)
			head := fmt.Sprintf("%sContent-Length: %d\r\nX-Long: ", okHead, len(body))
			c.Send(head + strings.Repeat("x", n-len(head)-len("\r\n\r\n")) + "\r\n\r\n" + body)
		}
	}
	// lined is a head of n lines.
	lined := func(n int) hostile.Script {
		return func(c *hostile.Conn, r hostile.Request) {
			body := r.Fill(response)
			c.Send(fmt.Sprintf("%sContent-Length: %d\r\n", okHead, len(body)) + strings.Repeat("X-Some: x\r\n", n-2) + "\r\n" + body)
		}
	}
	k.eras(t, hostile.Setup{}, func(t *testing.T, s *scene) {
		s.each([]variant{{"64 KiB", sized(maxHead)}, {"256 lines", lined(256)}}, want{result: done})
		s.each([]variant{
			{"64 KiB and one byte", sized(maxHead + 1)},
			{"10 MiB", sized(10 * mebibyte)},
			{"257 lines", lined(257)},
			{"1000 lines", lined(1000)},
			{"a header without an end", endless(okHead+"X-Long: ", strings.Repeat("x", 16<<10))},
			{"headers without an end", endless(okHead, strings.Repeat("X-Says: "+bait+"\r\n", 100))},
			{"a status line without an end", endless("HTTP/1.1 200 ", strings.Repeat("x", 16<<10))},
		}, want{reason: call.HeadTooLarge})
		s.on(sized(maxHead + 1))
		s.ask(hostile.Ask{Plain: true}, want{reason: call.HeadTooLarge})
	})
}

// heads are those that no reader should accept.
func heads() map[string]string {
	ok := okHead + "Content-Length: 2\r\n"
	return map[string]string{
		"NUL":                           ok + "X-Odd: a\x00b\r\n\r\n{}",
		"CR":                            ok + "X-Odd: a\rX: b\r\n\r\n{}",
		"a bare LF":                     ok + "X-Odd: a\nX: b\r\n\r\n{}",
		"DEL":                           ok + "X-Odd: a\x7fb\r\n\r\n{}",
		"a folded line":                 ok + "X-Odd: a\r\n b\r\n\r\n{}",
		"a line without a colon":        ok + bait + "\r\n\r\n{}",
		"a blank before the colon":      ok + "X-Odd : a\r\n\r\n{}",
		"a name that is no token":       ok + "X(Odd): a\r\n\r\n{}",
		"no name":                       ok + ": a\r\n\r\n{}",
		"a blank line first":            "\r\n" + ok + "\r\n{}",
		"two lengths":                   ok + "Content-Length: 3\r\n\r\n{} ",
		"two equal lengths":             ok + "Content-Length: 2\r\n\r\n{}",
		"a list of lengths":             okHead + "Content-Length: 2, 2\r\n\r\n{}",
		"a negative length":             okHead + "Content-Length: -2\r\n\r\n{}",
		"a length with a sign":          okHead + "Content-Length: +2\r\n\r\n{}",
		"a length in hex":               okHead + "Content-Length: 0x2\r\n\r\n{}",
		"a length beyond 63 bits":       okHead + "Content-Length: 18446744073709551616\r\n\r\n{}",
		"a length and a coding":         ok + "Transfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n",
		"two codings":                   okHead + "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
		"another coding":                okHead + "Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n",
		"a coding in HTTP/1.0":          "HTTP/1.0 200 OK\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
		"two types":                     ok + "Content-Type: text/event-stream\r\n\r\n{}",
		"two session ids":               ok + "Mcp-Session-Id: a\r\nMcp-Session-Id: b\r\n\r\n{}",
		"two equal session ids":         ok + "Mcp-Session-Id: a\r\nmcp-session-id: a\r\n\r\n{}",
		"a session id with a blank":     ok + "Mcp-Session-Id: a b\r\n\r\n{}",
		"a session id of other letters": ok + "Mcp-Session-Id: \xc3\xa4\r\n\r\n{}",
		"a session id of 1025 bytes":    ok + "Mcp-Session-Id: " + strings.Repeat("x", 1025) + "\r\n\r\n{}",
		"another protocol":              "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n",
		"six informational replies":     strings.Repeat("HTTP/1.1 103 Early Hints\r\n\r\n", 6),
		"a version of the future":       "HTTP/3 200 OK\r\n\r\n",
		"a status of two digits":        "HTTP/1.1 20 OK\r\n\r\n",
		"a status of four digits":       "HTTP/1.1 2000 OK\r\n\r\n",
		"a status below 100":            "HTTP/1.1 099 OK\r\n\r\n",
		"no HTTP":                       "SSH-2.0-" + bait + "\r\n\r\n",
	}
}

func oddHeads(t *testing.T, k *stage) {
	k.eras(t, hostile.Setup{}, func(_ *testing.T, s *scene) {
		for name, head := range heads() {
			s.under(name, func(s *scene) {
				s.on(hostile.Bytes(head))
				s.ask(hostile.Ask{}, want{reason: call.Protocol})
			})
		}
		s.on(hostile.Bytes(heads()["two session ids"]))
		s.ask(hostile.Ask{Plain: true}, want{reason: call.Protocol})
		// An id as long as it may be is none of a modern server's business.
		s.on(hostile.JSON(response, "Mcp-Session-Id: "+strings.Repeat("x", 1024)))
		s.ask(hostile.Ask{}, want{result: done})
	})
	t.Run("what comes behind a reply is not read as the next one", func(t *testing.T) {
		k.eras(t, hostile.Setup{}, func(t *testing.T, s *scene) { behindReplies(t, s) })
	})
	t.Run("in the reply that opens a session", func(t *testing.T) {
		for _, header := range []string{"Mcp-Session-Id: a b", "Mcp-Session-Id: a\x00b", "Mcp-Session-Id: a\r\nMcp-Session-Id: b", "Mcp-Session-Id: \xff", "Mcp-Session-Id: " + strings.Repeat("x", 1025)} {
			s := k.set(t, hostile.Options{Era: hostile.Legacy}, hostile.Setup{})
			s.up.On("initialize", func(c *hostile.Conn, r hostile.Request) {
				c.Reply(http.StatusOK, "application/json", hostile.Response(r, s.up.Greeting()), header)
			})
			s.ask(hostile.Ask{}, want{reason: call.InitializeFailed, posts: none, opened: 1, session: "-", detail: string(call.Protocol)})
		}
	})
}

// behindReplies: a server that says more than it was asked is not asked on that
// connection again, whether the rest is read with the reply or comes later.
func behindReplies(t *testing.T, s *scene) {
	forged := okHead + "Content-Length: 38\r\n\r\n" + `{"jsonrpc":"2.0","id":$ID,"result":{}}`
	for name, more := range map[string]string{"a reply": forged, "a line end": "\r\n", "a byte": "x", "the beginning of a reply": "HTTP/1.1 200 OK\r\n"} {
		for _, when := range []string{"with it", "at once", "when the agent has its answer"} {
			answered, said := make(chan struct{}), make(chan struct{})
			s.on(hostile.Sequence(func(c *hostile.Conn, r hostile.Request) {
				defer close(said)
				body := r.Fill(response)
				reply := fmt.Sprintf("%sContent-Length: %d\r\n\r\n%s", okHead, len(body), body)
				switch when {
				case "with it":
					c.Send(reply + r.Fill(more))
					return
				case "at once":
					c.Pieces(reply, r.Fill(more))
					return
				}
				c.Send(reply)
				<-answered
				c.Send(r.Fill(more))
			}, s.up.Honest))
			s.ask(hostile.Ask{}, want{result: done})
			close(answered)
			<-said
			before := s.up.Last("tools/call").Connection
			s.ask(hostile.Ask{}, want{})
			if now := s.up.Last("tools/call").Connection; now == before {
				t.Errorf("%s, %s: the connection was used again", name, when)
			}
		}
	}
}
