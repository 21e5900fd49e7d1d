package cases_test

import (
	"net/http"
	"slices"
	"strings"
	"testing"

	"mcprelay/shared/call"
	"mcprelay/test/hostile"
)

// What a stream that has no answer comes to: it may have run, and is not sent
// again.
var (
	endedEarly = want{reason: call.StreamEndedEarly, effect: call.ImpactUnknown, status: 200}
	tooLarge   = want{reason: call.ReplyTooLarge, effect: call.ImpactUnknown, status: 200}
	tooMany    = want{reason: call.TooManyEvents, effect: call.ImpactUnknown, status: 200}
)

const progressed = `{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":"t","progress":1,"total":2}}`

// Section B, second part: what the events of a stream say.
func streams() []row {
	return []row{
		{"B13", "notifications before the answer do not end the call, and reach the agent that they are for", both(handedOn, answeredBy([]variant{
			{"progress", hostile.Stream(hostile.Event(progressed), hostile.Answer(hello))},
			{"progress a hundred times", hostile.Stream(strings.Repeat(hostile.Event(progressed), 100), hostile.Answer(hello))},
			{"a log message", hostile.Stream(hostile.Event(`{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":"x"}}`), hostile.Answer(hello))},
			{"a changed list", hostile.Stream(hostile.Event(`{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}`), hostile.Answer(hello))},
			{"an unknown one", hostile.Stream(hostile.Event(`{"jsonrpc":"2.0","method":"x","params":{"id":$ID}}`), hostile.Answer(hello))},
			{"in one chunk", hostile.Stream(hostile.Event(progressed) + hostile.Answer(hello))},
		}))},
		{"B14", "a server's request is counted and never answered", serverAsks},
		{"B15", "the call returns when its id arrives", returnsAtOnce},
		{"B16", "a stream that ends without the answer is an error, and nothing is sent again", endsEarly},
		{"B17", "long lines have no bound but the relay's own", longLines},
		{"B20", "answers to others are ignored", answeredBy([]variant{
			{"another number", hostile.Stream(hostile.Event(`{"jsonrpc":"2.0","id":987654321,"result":{"wrong":true}}`), hostile.Answer(hello))},
			{"a string", hostile.Stream(hostile.Event(`{"jsonrpc":"2.0","id":"other","result":{"wrong":true}}`), hostile.Answer(hello))},
			{"a negative number", hostile.Stream(hostile.Event(`{"jsonrpc":"2.0","id":-1,"result":{"wrong":true}}`), hostile.Answer(hello))},
			{"ours with a zero behind", hostile.Stream(hostile.Event(`{"jsonrpc":"2.0","id":$ID0,"result":{"wrong":true}}`), hostile.Answer(hello))},
			{"an error", hostile.Stream(hostile.Event(`{"jsonrpc":"2.0","id":"other","error":{"code":-32603,"message":"wrong"}}`), hostile.Answer(hello))},
			{"a result without an id", hostile.Stream(hostile.Event(`{"jsonrpc":"2.0","id":null,"result":{"wrong":true}}`), hostile.Answer(hello))},
			{"many", hostile.Stream(strings.Repeat(hostile.Event(`{"jsonrpc":"2.0","id":"other","result":{}}`), 50), hostile.Answer(hello))},
		})},
		{"B21", "a stream without events is an error at once", func(t *testing.T, k *stage) {
			k.eras(t, hostile.Setup{}, func(t *testing.T, s *scene) {
				s.each([]variant{
					{"nothing", hostile.Stream()},
					{"a length of zero", hostile.Status(200, "text/event-stream", "")},
					{"blank lines", hostile.Stream("\n\n\r\n\n")},
					{"comments", hostile.Stream(": hello\n\n: bye\n\n")},
					{"a priming event", hostile.Stream("id: 0\nretry: 1\ndata:\n\n")},
					{"until the end of the connection", hostile.StreamClosed()},
					{"a byte order mark", hostile.Stream("\ufeff")},
				}, endedEarly)
			})
		}},
	}
}

// both runs two tests of one case.
func both(one, other func(*testing.T, *stage)) func(*testing.T, *stage) {
	return func(t *testing.T, k *stage) {
		one(t, k)
		other(t, k)
	}
}

// handedOn: progress with the token of the call, and log messages, reach an
// agent that takes event streams, byte for byte and in order; nothing else does,
// and no other agent gets a stream.
func handedOn(t *testing.T, k *stage) {
	const told = `{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":"<&> \u00e9"}}`
	own := strings.Replace(progressed, `"t"`, `"mine"`, 1)
	script := hostile.Stream(hostile.Event(own)+hostile.Event(progressed)+hostile.Event(told),
		hostile.Event(`{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}`)+hostile.Event(`{"jsonrpc":"2.0","id":5,"method":"ping"}`)+hostile.Event(own), hostile.Answer(hello))
	all, progress := []string{own, told, own}, []string{own, own}
	k.eras(t, hostile.Setup{}, func(t *testing.T, s *scene) {
		s.t = t
		s.up.On("tools/call", script)
		s.paths(func(s *scene, path bool) {
			for _, v := range []struct {
				accept, meta string
				modern       bool
				want         []string
			}{
				{"application/json, text/event-stream", `"progressToken":"mine"`, false, all},
				{"text/event-stream", `"progressToken":"mine"`, true, progress}, // it asked for no log messages
				{"text/event-stream", `"progressToken":"mine","io.modelcontextprotocol/logLevel":"info"`, true, all},
				{"text/event-stream", `"progressToken":"other"`, false, []string{told}},
				{"text/event-stream", ``, true, nil},
				{"application/json", `"progressToken":"mine"`, false, nil},
				{"*/*", `"progressToken":"mine"`, true, nil},
				{"application/json, text/event-stream;q=0", `"progressToken":"mine"`, false, nil},
			} {
				reply := s.relay.Call(s.t, hostile.Ask{All: path, Modern: v.modern, Meta: v.meta, Header: http.Header{"Accept": {v.accept}}})
				reply.Answered("")
				if !slices.Equal(reply.Notes, v.want) {
					s.t.Errorf("accepting %s with %s: got\n%q\nwant\n%q", v.accept, v.meta, reply.Notes, v.want)
				}
				if kind := reply.Header.Get("Content-Type"); (kind == "text/event-stream") != (len(v.want) > 0) {
					t.Errorf("accepting %s with %s: got %s", v.accept, v.meta, kind)
				}
			}
		})
	})
}

func serverAsks(t *testing.T, k *stage) {
	asked := map[string]string{
		"ping":        `{"jsonrpc":"2.0","id":"srv-1","method":"ping"}`,
		"elicitation": `{"jsonrpc":"2.0","id":"srv-2","method":"elicitation/create","params":{"message":"?","requestedSchema":{"type":"object"}}}`,
		"sampling":    `{"jsonrpc":"2.0","id":3,"method":"sampling/createMessage","params":{"messages":[],"maxTokens":1}}`,
		"roots":       `{"jsonrpc":"2.0","id":0,"method":"roots/list"}`,
		"our id":      `{"jsonrpc":"2.0","id":$ID,"method":"ping"}`,
		"no method":   `{"jsonrpc":"2.0","id":"srv-4","method":"of/no/kind","params":[1]}`,
	}
	k.eras(t, hostile.Setup{}, func(t *testing.T, s *scene) {
		for name, request := range asked {
			for _, n := range []int{1, 3} {
				s.up.On("tools/call", hostile.Stream(strings.Repeat(hostile.Event(request), n), hostile.Answer(hello)))
				before := len(s.up.Requests())
				reply := s.ask(hostile.Ask{}, want{result: hello, session: hostile.Held(s.up.Era())})
				if reply.Record.ServerRequests != n {
					t.Errorf("%s: the record counts %d requests of the server, want %d", name, reply.Record.ServerRequests, n)
				}
				if got := len(s.up.Requests()) - before; got != 1 {
					t.Errorf("%s: the server saw %d requests, want the call alone", name, got)
				}
			}
			s.up.On("tools/call", hostile.Stream(hostile.Event(request)))
			s.ask(hostile.Ask{}, endedEarly) // the server's own request is no answer
		}
	})
}

func returnsAtOnce(t *testing.T, k *stage) {
	// A call that waited for the end of the stream would end by its timeout.
	k.eras(t, hostile.Setup{Server: hostile.Keys{"request_timeout_ms": 20_000}}, func(t *testing.T, s *scene) {
		for name, texts := range map[string][]string{
			"answer alone":          {hostile.Answer(hello)},
			"after progress":        {hostile.Event(progressed), hostile.Answer(hello)},
			"more behind it":        {hostile.Answer(hello) + hostile.Event(progressed)},
			"a second answer":       {hostile.Answer(hello) + hostile.Answer(`{"content":[],"wrong":true}`)},
			"half an event behind":  {hostile.Answer(hello) + "data: {\"json"},
			"rubbish behind":        {hostile.Answer(hello) + "data: rubbish\n\n"},
			"the blank line is CRs": {"data: " + response + "\r\r"},
		} {
			left := make(chan struct{})
			s.up.On("tools/call", func(c *hostile.Conn, r hostile.Request) {
				hostile.StreamOpen(texts...)(c, r)
				close(left)
			})
			reply := s.ask(hostile.Ask{}, want{result: hello, session: hostile.Held(s.up.Era()), status: 200})
			<-left // the relay has closed the stream
			if reply.Record.DurationMS > 10_000 {
				t.Errorf("%s: took %.0f ms", name, reply.Record.DurationMS)
			}
		}
	})
}

func endsEarly(t *testing.T, k *stage) {
	half := "event: message\ndata: {\"jsonrpc\":\"2.0\",\"id\":$ID,\"result\":{\"content\":[{\"type\":\"te"
	k.eras(t, hostile.Setup{}, func(t *testing.T, s *scene) {
		s.each([]variant{
			{"progress, end", hostile.Stream(hostile.Event(progressed))},
			{"progress, FIN", hostile.StreamFIN(hostile.Event(progressed))},
			{"progress, reset", hostile.StreamReset(hostile.Event(progressed))},
			{"progress, end of the connection", hostile.StreamClosed(hostile.Event(progressed))},
			{"half an answer, end", hostile.Stream(half)},
			{"half an answer, FIN", hostile.StreamFIN(half)},
			{"half an answer, reset", hostile.StreamReset(half)},
			{"half an answer, end of the connection", hostile.StreamClosed(half)},
			{"a whole answer cut by a reset before its blank line", hostile.StreamReset("data: " + response + "\n")},
			{"a whole answer cut by FIN before its blank line", hostile.StreamFIN("data: " + response)},
		}, endedEarly)
		s.under("and a tool that only reads is not asked again either", func(s *scene) {
			s.up.On("tools/call", hostile.StreamReset(hostile.Event(progressed)))
			s.ask(hostile.Ask{Tool: "look"}, endedEarly)
			s.up.On("tools/call", nil)
			s.ask(hostile.Ask{Tool: "look"}, want{session: hostile.Held(s.up.Era())})
		})
		s.each([]variant{
			{"a whole answer at a clean end counts", hostile.Stream("data: " + response)},
			{"and at the end of the connection", hostile.StreamClosed("data: " + response + "\n")},
		}, want{result: hello})
	})
}

func longLines(t *testing.T, k *stage) {
	result := func(n int) string {
		return `{"content":[{"type":"text","text":"` + strings.Repeat("x", n) + `"}]}`
	}
	k.eras(t, hostile.Setup{}, func(t *testing.T, s *scene) {
		for _, n := range []int{64 << 10, 70 << 10, 300 << 10} {
			s.each([]variant{
				{"an event", hostile.Stream(hostile.Answer(result(n)))},
				{"an event without a type, line by CR", hostile.StreamClosed("data:{\"jsonrpc\":\"2.0\",\"id\":$ID,\"result\":" + result(n) + "}\r\r")},
			}, want{result: result(n)})
		}
		s.each([]variant{
			{"an event of 1.1 MB", hostile.Stream(hostile.Answer(result(1_100_000)))},
			{"a line that never ends", hostile.StreamEndless("data: ", strings.Repeat("x", 16<<10))},
		}, tooLarge)
	})
	s := k.warm(t, hostile.Modern, hostile.Setup{})
	s.each([]variant{
		{"an event of nearly 1 MiB", hostile.Stream(": "+strings.Repeat("y", 20<<10)+"\n\n", hostile.Answer(result(1000<<10)))},
		{"a JSON body of nearly 1 MiB", hostile.Result(result(1000 << 10))},
	}, want{result: result(1000 << 10)})
	s.each([]variant{
		{"a JSON body of 1.1 MB", hostile.Result(result(1_100_000))},
		{"two events that are 1.1 MB", hostile.Stream(hostile.Event(`{"jsonrpc":"2.0","id":"other","result":`+result(550_000)+`}`), hostile.Answer(result(550_000)))},
		{"a comment that never ends", hostile.StreamEndless(": ", strings.Repeat("x", 16<<10))},
		{"a body that never ends", func(c *hostile.Conn, _ hostile.Request) {
			c.Send("HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nConnection: close\r\n\r\n{\"x\":\"")
			c.Repeat(strings.Repeat("x", 16<<10))
		}},
	}, tooLarge)
	s = k.set(t, hostile.Options{}, hostile.Setup{Server: hostile.Keys{"max_result_bytes": 2000}})
	for _, v := range []struct {
		n int
		w want
	}{{1000, want{result: result(1000)}}, {2000, tooLarge}} {
		s.up.On("tools/call", hostile.Stream(hostile.Answer(result(v.n))))
		s.ask(hostile.Ask{}, v.w)
	}
}
