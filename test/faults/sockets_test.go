package faults_test

import (
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"mcprelay/shared/call"
	"mcprelay/test/hostile"
)

func sockets() []row {
	return []row{
		{26, "an end before the head is never followed by a second POST", endsBeforeHead},
		{27, "a stream that ends in an event gives no answer", endsInEvent},
		{28, "a stream that ends between two events gives no answer", endsBetweenEvents},
		{29, "an answer is given at once, whatever the stream does then", staysOpen},
		{30, "a head that comes too slowly ends with the call's time", slowHead},
		{31, "a body that comes too slowly ends with the call's time, however busy it is", slowBody},
	}
}

const (
	progress = `{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":1,"progress":1,"message":"` + bait + `"}}`
	okHead   = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"
)

// half is an event that is cut in its data.
const half = "event: message\ndata: " + `{"jsonrpc":"2.0","id":$ID,"result":{"content":[{"type":"text","text":"` + bait

// reset writes texts and resets the connection.
func reset(texts ...string) hostile.Script {
	return func(c *hostile.Conn, r hostile.Request) {
		hostile.Pieces(texts...)(c, r)
		c.Reset()
	}
}

// cut writes texts and ends the connection below TLS.
func cut(texts ...string) hostile.Script {
	return func(c *hostile.Conn, r hostile.Request) {
		hostile.Pieces(texts...)(c, r)
		c.FIN()
	}
}

func endsBeforeHead(t *testing.T, k *stage) {
	k.eras(t, hostile.Setup{}, func(t *testing.T, s *scene) {
		head := "HTTP/1.1 200 OK\r\nX-Says: " + bait
		s.each([]variant{
			{"a reset", hostile.Reset},
			{"an end of TLS", hostile.Close},
			{"an end below TLS", cut()},
			{"a reset in the head", reset(head)},
			{"an end of TLS in the head", hostile.Bytes(head)},
			{"an end below TLS in the head", cut(head)},
			{"a reset before the empty line", reset(head + "\r\n")},
			{"a reset behind an informational reply", reset("HTTP/1.1 100 Continue\r\n\r\n")},
		}, want{reason: call.ResetBeforeHead})
		for _, tool := range []string{"look", "change"} {
			s.on(hostile.Reset)
			s.ask(hostile.Ask{Tool: tool}, want{reason: call.ResetBeforeHead})
			s.ask(hostile.Ask{Tool: tool, Plain: true}, want{reason: call.ResetBeforeHead})
		}
		// On a connection that was used before, where replays are customary.
		for range 3 {
			s.on(hostile.Sequence(s.up.Honest, hostile.Reset))
			s.ask(hostile.Ask{}, want{})
			before := s.up.Connections()
			s.ask(hostile.Ask{}, want{reason: call.ResetBeforeHead})
			if got := s.up.Connections() - before; got != 0 {
				t.Errorf("the second call made %d connections, want the kept one used", got)
			}
		}
	})
	t.Run("while the server is opened", func(t *testing.T) {
		k.cold(t, hostile.Setup{}, func(_ *testing.T, s *scene) {
			for _, method := range []string{"server/discover", "initialize"} {
				s.up.On(method, hostile.Reset)
			}
			s.both(want{reason: call.InitializeFailed, posts: none, session: "-", detail: string(call.ResetBeforeHead)})
		})
	})
}

func endsInEvent(t *testing.T, k *stage) {
	whole := strings.TrimSuffix(hostile.Event(response), "\n\n")
	k.eras(t, hostile.Setup{}, func(t *testing.T, s *scene) {
		s.each([]variant{
			{"a reset", hostile.StreamReset(half)},
			{"an end below TLS", hostile.StreamFIN(half)},
			{"an end of the body", hostile.Stream(half)},
			{"an end of the connection", hostile.StreamClosed(half)},
			{"a reset behind events", hostile.StreamReset(hostile.Event(progress), half)},
			{"a reset of a body without a coding", reset("HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n" + half)},
			{"an end in the coding", cut("HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n1000\r\n" + half)},
			{"an end in a JSON body", cut(okHead + "Content-Length: 1000\r\n\r\n" + `{"jsonrpc":"2.0","id":$ID,"result":{"` + bait)},
			{"a reset in a JSON body", reset(okHead + "Content-Length: 1000\r\n\r\n" + `{"jsonrpc":"2.0"`)},
			{"a JSON body one byte short", hostile.Bytes(okHead + "Transfer-Encoding: chunked\r\n\r\n5\r\n{\"js")},
			// A whole message counts only where its end was said.
			{"a reset behind a whole message", hostile.StreamReset(whole)},
			{"an end below TLS behind a whole message", hostile.StreamFIN(whole)},
		}, want{reason: call.StreamEndedEarly, status: http.StatusOK})
		s.on(hostile.StreamReset(half))
		s.ask(hostile.Ask{Plain: true, Tool: "change"}, want{reason: call.StreamEndedEarly, status: http.StatusOK})
		// Without a coding the end of the connection is that of the body, said or
		// not: a message that is whole cannot be the beginning of a longer one.
		unsaid := cut("HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n" + whole)
		for _, script := range []hostile.Script{hostile.Stream(whole), hostile.StreamClosed(whole), unsaid} {
			s.on(script)
			s.ask(hostile.Ask{}, want{result: done})
		}
	})
}

func endsBetweenEvents(t *testing.T, k *stage) {
	event := hostile.Event(progress)
	k.eras(t, hostile.Setup{}, func(_ *testing.T, s *scene) {
		s.each([]variant{
			{"a reset", hostile.StreamReset(event)},
			{"an end below TLS", hostile.StreamFIN(event)},
			{"an end of the body", hostile.Stream(event, event)},
			{"an end of the connection", hostile.StreamClosed(event)},
			{"nothing", hostile.Stream()},
			{"nothing, without a coding", hostile.StreamClosed()},
			{"comments", hostile.Stream(": " + bait + "\n\n")},
			{"an event without data", hostile.Stream("event: message\n\n", "id: 1\n\n")},
			{"an event of another type", hostile.Stream("event: endpoint\ndata: /messages\n\n")},
			{"the answer to somebody else", hostile.Stream(hostile.Event(`{"jsonrpc":"2.0","id":"foreign","result":{"x":"` + bait + `"}}`))},
		}, want{reason: call.StreamEndedEarly, status: http.StatusOK})
		s.on(hostile.Stream(event))
		s.ask(hostile.Ask{Plain: true}, want{reason: call.StreamEndedEarly, status: http.StatusOK})
	})
}

func staysOpen(t *testing.T, k *stage) {
	k.eras(t, hostile.Setup{}, func(t *testing.T, s *scene) {
		tails := map[string][]string{
			"silence": nil, "pings": {": ping\n\n"}, "half an event": {half}, "a second answer": {hostile.Answer(`{"x":"` + bait + `"}`)},
			"an error":                 {hostile.Event(`{"jsonrpc":"2.0","id":$ID,"error":{"code":1,"message":"` + bait + `"}}`)},
			"an event that is no JSON": {"data: " + bait + "\n\n"},
		}
		for name, tail := range tails {
			s.under(name, func(s *scene) {
				gone := make(chan struct{})
				open := hostile.StreamOpen(slices.Concat([]string{hostile.Event(progress), hostile.Event(response)}, tail)...)
				s.on(func(c *hostile.Conn, r hostile.Request) {
					defer close(gone)
					open(c, r)
				})
				began := time.Now()
				s.ask(hostile.Ask{}, want{result: done})
				if took := time.Since(began); took > 20*time.Second {
					t.Errorf("the answer took %s, want it at once", took)
				}
				<-gone // the relay has closed the connection
			})
		}
		// The stream goes on at full speed.
		s.on(hostile.StreamEndless(hostile.Event(response), strings.Repeat(hostile.Event(progress), 50)))
		s.ask(hostile.Ask{}, want{result: done})
		s.ask(hostile.Ask{Plain: true}, want{result: done})
	})
}

// short is the time that a call has in which nothing comes; long enough for a
// handshake on a busy machine.
const short = 750 * time.Millisecond

// late asks once a variant with little time, and wants the server to be told.
func late(k *stage, t *testing.T, variants []variant, w want) {
	t.Helper()
	w.told = true
	for _, era := range []hostile.Era{hostile.Modern, hostile.Legacy} {
		s := k.warm(t, era, hostile.Setup{}).again(hostile.Keys{"request_timeout_ms": short.Milliseconds()})
		for _, v := range variants {
			s.under(string(era)+", "+v.name, func(s *scene) {
				gone := make(chan struct{})
				s.on(func(c *hostile.Conn, r hostile.Request) {
					defer close(gone)
					v.script(c, r)
				})
				told := s.up.Count("notifications/cancelled")
				reply := s.ask(hostile.Ask{}, w)
				<-gone
				if got := reply.Record.DurationMS; got < float64(short.Milliseconds()) || got > 10*float64(short.Milliseconds()) {
					t.Errorf("the call took %.0f ms, want about %s", got, short)
				}
				wanted := 1
				if s.up.Era() == hostile.Modern {
					wanted = 0 // the end of the connection says it
				}
				s.counted("notifications/cancelled", s.up.Count("notifications/cancelled")-told, wanted)
			})
		}
	}
	t.Run("on the plain face", func(t *testing.T) {
		s := k.warm(t, hostile.Modern, hostile.Setup{}).again(hostile.Keys{"request_timeout_ms": short.Milliseconds()})
		s.on(variants[0].script)
		s.ask(hostile.Ask{Plain: true, Tool: "change"}, w)
	})
}

// pause is how long a slow server waits between two bytes.
const pause = 5 * time.Millisecond

func slowHead(t *testing.T, k *stage) {
	late(k, t, []variant{
		{"silence", hostile.Stall},
		{"byte by byte", func(c *hostile.Conn, _ hostile.Request) {
			c.Drip(okHead+"X-Long: "+strings.Repeat("x", 1<<20), pause, false)
		}},
		{"informational replies", func(c *hostile.Conn, _ hostile.Request) {
			c.Drip("HTTP/1.1 103 Early Hints\r\nX-Long: "+strings.Repeat("x", 1<<20), pause, false)
		}},
	}, want{reason: call.HeadTimeout})
}

func slowBody(t *testing.T, k *stage) {
	drip := func(begin, again string) hostile.Script {
		return func(c *hostile.Conn, _ hostile.Request) {
			c.Send(begin)
			c.Drip(again, pause, true)
		}
	}
	stream := "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n"
	late(k, t, []variant{
		{"silence", hostile.StreamOpen()},
		{"comments", drip(stream, ": keep-alive\n\n")},
		{"progress", drip(stream, hostile.Event(progress))},
		{"blanks in JSON", drip(okHead+"Content-Length: 100000\r\n\r\n{", " ")},
		{"silence in JSON", func(c *hostile.Conn, _ hostile.Request) {
			c.Send(okHead + "Content-Length: 1000\r\n\r\n{\"jsonrpc\"")
			c.AwaitGone()
			c.FIN()
		}},
	}, want{reason: call.CallTimeout, status: http.StatusOK})
}
