package cases_test

import (
	"net/http"
	"strings"
	"testing"

	"mcprelay/shared/call"
	"mcprelay/test/hostile"
)

// What odd bytes come to.
var (
	oddType     = want{reason: call.ContentType, effect: call.ImpactUnknown, status: 200}
	oddEncoding = want{reason: call.Encoding, effect: call.ImpactUnknown, status: 200}
	oddMessage  = want{reason: call.Protocol, effect: call.ImpactUnknown, status: 200}
)

const page = `<!DOCTYPE html><html><head><title>Sign in</title></head><body>Please <a href="https://login.example">sign in</a></body></html>`

// Section C, first part: content types, encodings and bodies.
func contents() []row {
	return []row{
		{"C23", "content types are parsed, in both directions", contentTypes},
		{"C25", "whatever an agent accepts, it is served JSON", acceptAnything},
		{"C26", "JSON that is no JSON-RPC is an error with the agent's id", noJSONRPC},
		{"C28", "a web page is an error that shows nothing of it", webPage},
		{"C29", "gzip that nobody asked for is read, bounded; other encodings are refused", encodings},
		{"C38", "an array is refused", func(t *testing.T, k *stage) {
			k.eras(t, hostile.Setup{}, func(t *testing.T, s *scene) {
				s.each([]variant{
					{"of the answer", hostile.JSON("[" + response + "]")},
					{"of the answer, as an event", hostile.Stream(hostile.Event("[" + response + "]"))},
					{"empty", hostile.JSON("[]")},
					{"behind white space", hostile.JSON(" \r\n\t[" + response + "]")},
					{"behind a byte order mark", hostile.JSON("\ufeff[" + response + "]")},
					{"of two", hostile.JSON("[" + progressed + "," + response + "]")},
					{"nested", hostile.JSON("[[" + response + "]]")},
				}, oddMessage)
			})
		}},
	}
}

func contentTypes(t *testing.T, k *stage) {
	k.eras(t, hostile.Setup{}, func(t *testing.T, s *scene) {
		for _, kind := range []string{
			"Application/JSON; Charset=UTF-8", "application/json;charset=utf-8", "APPLICATION/JSON", "application/json ; charset=\"utf-8\"",
			"application/json; charset=utf-8; profile=\"a;b\"", "  application/json  ", "application/json;", "application/json; charset",
		} {
			s.under("json "+kind, func(s *scene) {
				s.up.On("tools/call", hostile.Status(200, kind, response))
				s.ask(hostile.Ask{}, want{result: hello})
			})
		}
		for _, kind := range []string{"Text/Event-Stream", "text/event-stream; charset=utf-8", "text/event-stream;charset=UTF-8;x=y", "TEXT/EVENT-STREAM ; q=1"} {
			s.under("stream "+kind, func(s *scene) {
				s.up.On("tools/call", hostile.Status(200, kind, hostile.Answer(hello)))
				s.ask(hostile.Ask{}, want{result: hello})
			})
		}
		for _, kind := range []string{"", "text/plain", "text/json", "application/jsonp", "application/json-seq", "application/octet-stream", "application/x-ndjson", "application/json, text/event-stream", "json", ";"} {
			s.under("neither "+kind, func(s *scene) {
				s.up.On("tools/call", hostile.Status(200, kind, response))
				s.ask(hostile.Ask{}, oddType)
			})
		}
		s.up.On("tools/call", hostile.Result(hello))
		for _, kind := range []string{"Application/JSON; Charset=UTF-8", "application/json;charset=utf-8", "APPLICATION/JSON"} {
			s.ask(hostile.Ask{Header: http.Header{"Content-Type": {kind}}}, want{result: hello})
			s.ask(hostile.Ask{All: true, Header: http.Header{"Content-Type": {kind}}}, want{result: hello})
		}
		before := len(s.up.Requests())
		for i, kind := range []string{"text/plain", "", "application/x-www-form-urlencoded", "text/plain", "", "application/x-www-form-urlencoded"} {
			reply := s.relay.Ask(t.Context(), t, hostile.Ask{All: i > 2, Header: http.Header{"Content-Type": {kind}}})
			if reply.Status != http.StatusUnsupportedMediaType {
				t.Errorf("an agent's %q: got status %d", kind, reply.Status)
			}
		}
		s.counted("requests", len(s.up.Requests()), before)
	})
}

func acceptAnything(t *testing.T, k *stage) {
	k.eras(t, hostile.Setup{}, func(t *testing.T, s *scene) {
		for _, script := range []hostile.Script{hostile.Result(hello), hostile.Stream(hostile.Answer(hello))} {
			s.up.On("tools/call", script)
			for _, accept := range []string{"application/json", "text/event-stream", "*/*", "application/*", "application/json;q=0.1, text/event-stream;q=0.9", ""} {
				header := http.Header{"Accept": {accept}}
				if accept == "" {
					header = http.Header{"Accept": nil}
				}
				for _, all := range []bool{false, true} {
					reply := s.ask(hostile.Ask{All: all, Header: header}, want{result: hello})
					if kind := reply.Header.Get("Content-Type"); kind != "application/json" {
						t.Errorf("accepting %q: got %q", accept, kind)
					}
				}
				if got := s.up.Last("tools/call").Header.Get("Accept"); got != "application/json, text/event-stream" {
					t.Errorf("the relay accepts %q", got)
				}
			}
		}
	})
}

func noJSONRPC(t *testing.T, k *stage) {
	bodies := map[string]string{
		"another service": `{"Output":{},"Version":"1"}`, "empty object": `{}`, "null": `null`, "a string": `"ok"`, "a number": `1`,
		"no version": `{"id":$ID,"result":{}}`, "version 1.0": `{"jsonrpc":"1.0","id":$ID,"result":{}}`, "nothing": ``,
		"long": `{"Output":"` + strings.Repeat("z", 100<<10) + `"}`, "cut": `{"jsonrpc":"2.0","id":$ID,"resu`,
	}
	for name, body := range bodies {
		up := hostile.Start(t, hostile.Options{Era: hostile.Legacy, On: map[string]hostile.Script{"initialize": hostile.JSON(body)}})
		s := k.before(t, up, hostile.Setup{})
		s.t = t
		reply := s.ask(hostile.Ask{ID: `"mine"`}, want{reason: call.InitializeFailed, effect: call.ImpactNone, calls: none, opened: 1})
		snippet(t, name, reply)
	}
	k.eras(t, hostile.Setup{}, func(t *testing.T, s *scene) {
		for name, body := range bodies {
			s.up.On("tools/call", hostile.JSON(body))
			snippet(t, name, s.ask(hostile.Ask{ID: `"mine"`}, oddMessage))
		}
	})
}

// maxDetail is ample for a sentence and call.MaxQuote quoted bytes.
const maxDetail = 512

// snippet checks that an agent sees nothing of what came, under its own id,
// and that the record has a bounded beginning of it.
func snippet(t *testing.T, name string, reply hostile.Reply) {
	t.Helper()
	if reply.ID() != `"mine"` || strings.Contains(reply.Body, "Output") {
		t.Errorf("%s: the agent got %s", name, reply.Body)
	}
	if len(reply.Record.Detail) > maxDetail {
		t.Errorf("%s: the record has a detail of %d bytes", name, len(reply.Record.Detail))
	}
	if name == "another service" && !strings.Contains(reply.Record.Detail, "Output") {
		t.Errorf("%s: the record says %q, want the beginning of the body", name, reply.Record.Detail)
	}
}

func webPage(t *testing.T, k *stage) {
	k.eras(t, hostile.Setup{}, func(t *testing.T, s *scene) {
		for name, v := range map[string]struct {
			script hostile.Script
			w      want
		}{
			"200":                            {hostile.Status(200, "text/html", page), oddType},
			"200 with a charset":             {hostile.Status(200, "text/html; charset=utf-8", page), oddType},
			"200, XHTML":                     {hostile.Status(200, "application/xhtml+xml", page), oddType},
			"200 that claims JSON":           {hostile.JSON(page), oddMessage},
			"200 that claims to be a stream": {hostile.Status(200, "text/event-stream", page), endedEarly},
			"500":                            {hostile.Status(500, "text/html", page), want{reason: call.UpstreamStatus, effect: call.ImpactUnknown, status: 500}},
			"502 that claims JSON":           {hostile.Status(502, "application/json", page), want{reason: call.UpstreamStatus, effect: call.ImpactUnknown, status: 502}},
		} {
			s.up.On("tools/call", v.script)
			reply := s.ask(hostile.Ask{}, v.w)
			if strings.ContainsAny(reply.Error().Message, "<>") || strings.Contains(reply.Body, "html") || strings.Contains(reply.Body, "login.example") {
				t.Errorf("%s: the agent got %s", name, reply.Body)
			}
		}
	})
	for _, method := range []string{"initialize", "server/discover"} {
		up := hostile.Start(t, hostile.Options{Era: hostile.Legacy, On: map[string]hostile.Script{"initialize": hostile.Status(200, "text/html", page)}})
		up.On(method, hostile.Status(200, "text/html", page))
		s := k.before(t, up, hostile.Setup{})
		reply := s.ask(hostile.Ask{}, want{reason: call.InitializeFailed, effect: call.ImpactNone, calls: none, opened: 1})
		if strings.Contains(reply.Body, "html") {
			t.Errorf("%s: the agent got %s", method, reply.Body)
		}
	}
}

func encodings(t *testing.T, k *stage) {
	zippedStream := func(encoding, text string) hostile.Script {
		return func(c *hostile.Conn, r hostile.Request) {
			c.Reply(200, "text/event-stream", hostile.Gzip(r.Fill(text)), "Content-Encoding: "+encoding)
		}
	}
	bomb := `{"jsonrpc":"2.0","id":$ID,"result":{"x":"` + strings.Repeat("0", 2<<20) + `"}}`
	k.eras(t, hostile.Setup{}, func(t *testing.T, s *scene) {
		s.each([]variant{
			{"gzip", hostile.Zipped("gzip", response)},
			{"x-gzip", hostile.Zipped("x-gzip", response)},
			{"GZIP", hostile.Zipped("GZIP", response)},
			{"a stream", zippedStream("gzip", hostile.Event(progressed)+hostile.Answer(hello))},
			{"identity", hostile.Status(200, "application/json", response, "Content-Encoding: identity")},
			{"gzip in chunks", func(c *hostile.Conn, r hostile.Request) {
				c.Send("HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Encoding: gzip\r\nTransfer-Encoding: chunked\r\n\r\n")
				for _, b := range strings.Split(hostile.Gzip(r.Fill(response)), "") {
					c.Chunk(b)
				}
				c.LastChunk()
			}},
			{"gzip in two members", func(c *hostile.Conn, r hostile.Request) {
				text := r.Fill(response)
				c.Reply(200, "application/json", hostile.Gzip(text[:9])+hostile.Gzip(text[9:]), "Content-Encoding: gzip")
			}},
		}, want{result: hello, session: hostile.Held(s.up.Era())})
		s.each([]variant{
			{"br", hostile.Zipped("br", response)},
			{"zstd", hostile.Zipped("zstd", response)},
			{"deflate", hostile.Zipped("deflate", response)},
			{"gzip twice", hostile.Zipped("gzip, gzip", response)},
			{"a name of no encoding", hostile.Zipped("rot13", response)},
			{"br, a stream", zippedStream("br", hostile.Answer(hello))},
			{"gzip that is none", hostile.Status(200, "application/json", response, "Content-Encoding: gzip")},
		}, oddEncoding)
	})
	s := k.warm(t, hostile.Legacy, hostile.Setup{})
	s.each([]variant{
		{"a bomb", hostile.Zipped("gzip", bomb)},
		{"a bomb in a stream", zippedStream("gzip", hostile.Event(bomb))},
		{"a bomb of comments", zippedStream("gzip", strings.Repeat(":\n", 1<<20))},
		{"members for ever", func(c *hostile.Conn, _ hostile.Request) {
			c.Send("HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Encoding: gzip\r\nConnection: close\r\n\r\n")
			c.Repeat(strings.Repeat(hostile.Gzip(""), 500))
		}},
	}, tooLarge)
}
