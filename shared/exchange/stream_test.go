package exchange_test

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"net"
	"strings"
	"testing"

	"mcprelay/shared/call"
)

func zipped(s string) string {
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	_, _ = w.Write([]byte(s))
	_ = w.Close()
	return b.String()
}

// streaming answers with these bytes of a stream and closes. ID stands for the
// id of the request.
func streaming(body string) script {
	return func(w net.Conn, g got) {
		send(w, "%s%s", stream, strings.ReplaceAll(body, "ID", g.ID))
		w.Close()
	}
}

func hostileStreams() []hostile {
	const note = `{"jsonrpc":"2.0","method":"notifications/message","params":{}}`
	const ok = `{"jsonrpc":"2.0","id":ID,"result":{}}`
	return []hostile{
		{name: "no event", answer: streaming(""), want: call.StreamEndedEarly},
		{name: "comments only", answer: streaming(": keepalive\n\n: keepalive\n\n"), want: call.StreamEndedEarly},
		{name: "priming event only", answer: streaming("id: 0\nretry: 3000\ndata:\n\n"), want: call.StreamEndedEarly},
		{name: "end after a notification", answer: streaming(event(note)), want: call.StreamEndedEarly},
		{name: "end inside the response", answer: streaming("data: " + ok[:20]), want: call.StreamEndedEarly},
		{name: "reset after a notification", answer: func(w net.Conn, g got) {
			send(w, "%s%s", stream, event(note))
			_ = w.(*net.TCPConn).SetLinger(0)
			w.Close()
		}, want: call.StreamEndedEarly},
		{name: "chunk cut between events", answer: func(w net.Conn, g got) {
			e := event(note)
			send(w, "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n%x\r\n%s\r\n", len(e), e)
			w.Close()
		}, want: call.StreamEndedEarly},
		{name: "chunk cut after a whole response line", answer: func(w net.Conn, g got) {
			send(w, "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\nfff\r\ndata: %s\n", result(g, "{}"))
			w.Close()
		}, want: call.StreamEndedEarly},
		{name: "only responses to others", answer: streaming(event(`{"jsonrpc":"2.0","id":"x","result":{}}`)), want: call.StreamEndedEarly},
		{name: "JSON array in an event", answer: streaming(event("[" + ok + "]")), want: call.Protocol},
		{name: "no JSON in an event", answer: streaming(event("hello")), want: call.Protocol},
		{name: "response of another event type", answer: streaming("event: ping\ndata: " + ok + "\n\n"), want: call.StreamEndedEarly},
		{name: "endless notifications", answer: endless(stream, strings.Repeat(event(note), 100)), want: call.TooManyEvents},
		{name: "endless tiny events", answer: endless(stream, strings.Repeat("data:\n\n", 1000)), want: call.TooManyEvents},
		{name: "endless comments", answer: endless(stream, strings.Repeat(": keepalive\n\n", 1000)), want: call.ReplyTooLarge},
		{name: "endless line", answer: endless(stream+"data: ", strings.Repeat("x", 1<<16)), want: call.ReplyTooLarge},
		{name: "gzip bomb", answer: func(w net.Conn, g got) {
			body := zipped(strings.Repeat(": "+strings.Repeat("k", 1000)+"\n\n", 100_000))
			write(w, 200, "text/event-stream", body, "Content-Encoding: gzip")
		}, want: call.ReplyTooLarge},
	}
}

func TestStreamGivesTheResponseWithOurID(t *testing.T) {
	const ok = `{"jsonrpc":"2.0","id":ID,"result":{"n":1}}`
	const note = `{"jsonrpc":"2.0","method":"notifications/message","params":{}}`
	for name, body := range map[string]string{
		"LF":                       "data: " + ok + "\n\n",
		"CRLF":                     "event: message\r\ndata: " + ok + "\r\n\r\n",
		"CR":                       "data: " + ok + "\r\r",
		"BOM":                      "\ufeffdata: " + ok + "\n\n",
		"no blank after the colon": "data:" + ok + "\n\n",
		"several data lines":       "data: {\"jsonrpc\":\"2.0\",\ndata: \"id\":ID,\ndata: \"result\":{\"n\":1}}\n\n",
		"priming event":            "id: 0\nretry: 3000\ndata:\n\ndata: " + ok + "\n\n",
		"comments":                 ": keepalive\n\n: keepalive\ndata: " + ok + "\n\n",
		"other event types":        "event: ping\ndata: 2026-11-30\n\ndata: " + ok + "\n\n",
		"odd fields":               "id: a\x00b\nretry: abc\nnonsense\ndata: " + ok + "\n\n",
		"response to another":      event(`{"jsonrpc":"2.0","id":"x","result":{"n":2}}`) + event(ok),
		"error of another":         event(`{"jsonrpc":"2.0","id":77777,"error":{"code":1,"message":"x"}}`) + event(ok),
		"request of the server":    event(`{"jsonrpc":"2.0","id":"srv-1","method":"ping"}`) + event(ok),
		"notification first":       event(note) + event(ok),
		"string id":                "data: " + strings.Replace(ok, "ID", `"ID"`, 1) + "\n\n",
		"complete at a clean end":  "data: " + ok + "\n",
		"complete without newline": "data: " + ok,
		"more after the response":  event(ok) + event(note) + event("garbage"),
		"300 KB":                   event(`{"jsonrpc":"2.0","method":"x","params":{"a":"`+strings.Repeat("y", 300<<10)+`"}}`) + event(ok),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newPeer(t, modern(streaming(body)))
			reply, err := process(t, nil).Call(t.Context(), request(t, p.url))
			if err != nil {
				t.Fatal(err)
			}
			if string(reply.Result) != `{"n":1}` {
				t.Errorf("want the response, got %s", reply.Result)
			}
			if n := p.posts("tools/call"); n != 1 {
				t.Errorf("want 1 POST, got %d", n)
			}
		})
	}
}

func TestStreamCountsWhatItDoesNotAnswer(t *testing.T) {
	p := newPeer(t, modern(streaming(
		event(`{"jsonrpc":"2.0","id":1,"method":"sampling/createMessage","params":{}}`)+
			event(`{"jsonrpc":"2.0","id":"r","method":"roots/list"}`)+
			event(`{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}`)+
			event(`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":"t","progress":1}}`)+
			event(`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":"t","progress":1e2}}`)+
			event(`{"jsonrpc":"2.0","id":ID,"result":{}}`))))
	var progress []string
	r := request(t, p.url)
	r.Meta = json.RawMessage(`{"progressToken":"t"}`)
	r.Notify = func(_ string, params json.RawMessage) { progress = append(progress, string(params)) }
	reply, err := process(t, nil).Call(t.Context(), r)
	if err != nil {
		t.Fatal(err)
	}
	if reply.Facts.ServerRequests != 2 || reply.Facts.Notifications != 3 {
		t.Errorf("want 2 requests and 3 notifications, got %d and %d", reply.Facts.ServerRequests, reply.Facts.Notifications)
	}
	want := []string{`{"progressToken":"t","progress":1}`, `{"progressToken":"t","progress":1e2}`}
	if fmt.Sprint(progress) != fmt.Sprint(want) {
		t.Errorf("want progress %v, got %v", want, progress)
	}
	if got := p.methods(); len(got) != 2 {
		t.Errorf("something was answered: %v", got)
	}
}

func TestOpenStreamIsLeftAsSoonAsTheResponseCame(t *testing.T) {
	gone := make(chan error, 1)
	p := newPeer(t, modern(func(w net.Conn, g got) {
		send(w, "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n")
		e := event(result(g, hello))
		send(w, "%x\r\n%s\r\n", len(e), e)
		_, err := w.Read(make([]byte, 1)) // ends when the relay closes
		gone <- err
		w.Close()
	}))
	reply, err := process(t, nil).Call(t.Context(), request(t, p.url))
	if err != nil {
		t.Fatal(err)
	}
	if string(reply.Result) != hello {
		t.Errorf("want %s, got %s", hello, reply.Result)
	}
	if err := <-gone; err == nil {
		t.Error("the stream was kept open")
	}
}

func TestStreamThatEndsKeepsItsConnection(t *testing.T) {
	p := newPeer(t, modern(func(w net.Conn, g got) {
		e := event(result(g, hello))
		send(w, "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n%x\r\n%s\r\n0\r\n\r\n", len(e), e)
	}))
	x := process(t, nil)
	for range 5 {
		if _, err := x.Call(t.Context(), request(t, p.url)); err != nil {
			t.Fatal(err)
		}
	}
	if n := p.connections(); n != 1 {
		t.Errorf("want 1 connection, got %d", n)
	}
}
