package exchange_test

import (
	"context"
	"encoding/json"
	"errors"
	"net"
	"strings"
	"testing"
	"time"

	"mcprelay/shared/call"
	"mcprelay/shared/session"
)

// patience is how long the tests wait for what does not come: enough for a
// busy machine to connect and to read a head in.
const patience = 400 * time.Millisecond

// silent reads the request, says begin, and then waits for the relay to go.
// What it tells is how the connection ended.
func silent(begin string, gone chan<- error) script {
	return func(w net.Conn, g got) {
		send(w, "%s", strings.ReplaceAll(begin, "ID", g.ID))
		_, err := w.Read(make([]byte, 1))
		w.Close()
		gone <- err
	}
}

// trickle says begin and then sends more, piece by piece, for ever.
func trickle(begin, more string, gone chan<- error) script {
	return func(w net.Conn, g got) {
		send(w, "%s", begin)
		pace := time.NewTicker(time.Millisecond)
		defer pace.Stop()
		for range pace.C {
			if _, err := w.Write([]byte(more)); err != nil {
				w.Close()
				gone <- err
				return
			}
		}
	}
}

const (
	jsonHead = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 9000\r\n\r\n"
	openHead = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n"
)

// waiting are the points at which a call can be left waiting.
func waiting(gone chan<- error) map[string]struct {
	answer script
	late   call.Reason
} {
	return map[string]struct {
		answer script
		late   call.Reason
	}{
		"no head":            {silent("", gone), call.HeadTimeout},
		"half a head":        {silent("HTTP/1.1 200 OK\r\nContent-", gone), call.HeadTimeout},
		"head by the byte":   {trickle("HTTP/1.1 200 OK\r\nX: ", "x", gone), call.HeadTimeout},
		"early hints only":   {silent("HTTP/1.1 103 Early Hints\r\n\r\n", gone), call.HeadTimeout},
		"no body":            {silent(jsonHead, gone), call.CallTimeout},
		"half a body":        {silent(jsonHead+`{"jsonrpc":"2.0","id":ID,`, gone), call.CallTimeout},
		"body by the byte":   {trickle(jsonHead, " ", gone), call.CallTimeout},
		"no event":           {silent(openHead, gone), call.CallTimeout},
		"keep-alives":        {trickle(openHead, ": k\n\n", gone), call.CallTimeout},
		"half a response":    {silent(openHead+`data: {"jsonrpc":"2.0","id":ID,"result":{}}`, gone), call.CallTimeout},
		"body of an error":   {silent(strings.Replace(jsonHead, "200", "500", 1), gone), call.CallTimeout},
		"chunk without end":  {silent("HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n", gone), call.CallTimeout},
		"gzip without end":   {silent("HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Encoding: gzip\r\n\r\n"+zipped("{}")[:12], gone), call.CallTimeout},
		"event by the byte":  {trickle(openHead+"data: ", "x", gone), call.CallTimeout},
		"notification storm": {trickle(openHead, event(`{"jsonrpc":"2.0","method":"notifications/message"}`), gone), call.CallTimeout},
	}
}

func TestEndOfTimeIsNamedByWhatWasWaitedFor(t *testing.T) {
	gone := make(chan error, 64)
	for name, tc := range waiting(gone) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newPeer(t, modern(tc.answer))
			s := newStore()
			knows(s, session.Modern)
			ctx, cancel := context.WithTimeoutCause(t.Context(), patience, errors.New("budget spent"))
			defer cancel()
			reply, err := process(t, s).Call(ctx, request(t, p.url))
			refusal := refusalOf(t, err)
			if refusal.Reason != tc.late || refusal.MayHaveRun() != call.ImpactUnknown {
				t.Errorf("want %s with impact unknown, got %v with %s", tc.late, refusal, refusal.MayHaveRun())
			}
			if p.posts("tools/call") != 1 || reply.Facts.Posts != 1 {
				t.Errorf("want 1 POST, got %d, counted as %d", p.posts("tools/call"), reply.Facts.Posts)
			}
			// Which is all that tells a modern server of the cancellation.
			if err := <-gone; err == nil || !reply.Facts.Cancelled || p.posts(cancelled) != 0 {
				t.Errorf("the connection ended with %v, noted %v, %v", err, reply.Facts.Cancelled, p.methods())
			}
		})
	}
}

func TestCallerThatLeavesCancelsAtOnce(t *testing.T) {
	gone := make(chan error, 64)
	for name, tc := range waiting(gone) {
		t.Run(name, func(t *testing.T) {
			began := make(chan struct{})
			p := newPeer(t, modern(func(w net.Conn, g got) { close(began); tc.answer(w, g) }))
			s := newStore()
			knows(s, session.Modern)
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			go func() { <-began; cancel() }()
			_, err := process(t, s).Call(ctx, request(t, p.url))
			refusal := refusalOf(t, err)
			if refusal.Reason != call.Cancelled || refusal.MayHaveRun() != call.ImpactUnknown {
				t.Errorf("want cancelled with impact unknown, got %v with %s", refusal, refusal.MayHaveRun())
			}
			if err := <-gone; err == nil {
				t.Error("the connection was kept")
			}
		})
	}
}

func TestOpeningThatTakesTooLong(t *testing.T) {
	gone := make(chan error, 64)
	for _, method := range []string{"server/discover", "initialize", "notifications/initialized"} {
		for name, begin := range map[string]string{"no head": "", "no body": jsonHead} {
			if method == "notifications/initialized" && begin != "" {
				continue // the body of its reply is not waited for
			}
			t.Run(method+" "+name, func(t *testing.T) {
				t.Parallel()
				p := handshakePeer(t, handshake{method: silent(begin, gone)})
				for _, limit := range []string{"opening", "call"} {
					s := newStore()
					r, ctx := request(t, p.url), t.Context()
					if limit == "opening" {
						r.Open = patience
					} else {
						ctx = soon(t, patience)
					}
					reply, err := process(t, s).Call(ctx, r)
					refusal := refusalOf(t, err)
					if refusal.Reason != call.OpenTimeout || refusal.MayHaveRun() != call.ImpactNone || reply.Facts.Posts != 0 {
						t.Errorf("%s: want open_timeout with impact none, got %v with %s", limit, refusal, refusal.MayHaveRun())
					}
					<-gone
					if len(s.states) != 0 {
						t.Errorf("%s: something was stored: %v", limit, s.states)
					}
				}
				if p.posts("tools/call") != 0 {
					t.Error("the agent's request left")
				}
			})
		}
	}
}

func TestCallerThatLeavesDuringTheOpening(t *testing.T) {
	gone := make(chan error, 1)
	ctx, cancel := context.WithCancelCause(t.Context())
	wait := silent("", gone)
	p := handshakePeer(t, handshake{"initialize": func(w net.Conn, g got) { cancel(errors.New("the caller hung up")); wait(w, g) }})
	_, err := process(t, nil).Call(ctx, request(t, p.url))
	if refusal := refusalOf(t, err); refusal.Reason != call.Cancelled || refusal.MayHaveRun() != call.ImpactNone {
		t.Errorf("want cancelled with impact none, got %v with %s", refusal, refusal.MayHaveRun())
	}
	if <-gone == nil || p.posts("tools/call") != 0 {
		t.Error("the opening went on")
	}
}

func TestCallOfACallerThatIsGoneSendsNothing(t *testing.T) {
	p := newPeer(t, modern(answered))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for _, era := range []session.Era{"", session.Modern} {
		s := newStore()
		if era != "" {
			knows(s, era)
		}
		reply, err := process(t, s).Call(ctx, request(t, p.url))
		if refusal := refusalOf(t, err); refusal.Reason != call.Cancelled || refusal.MayHaveRun() != call.ImpactNone || reply.Facts.Posts != 0 {
			t.Errorf("want cancelled with impact none, got %v with %s", refusal, refusal.MayHaveRun())
		}
	}
	if len(p.methods()) != 0 {
		t.Errorf("something was sent: %v", p.methods())
	}
}

// TestServerThatDoesNotRead: part of the request is out, so what became of it
// is unknown.
func TestServerThatDoesNotRead(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	ctx, cancel := context.WithCancelCause(t.Context())
	go func() {
		conn, err := listener.Accept()
		if err == nil {
			_, _ = conn.Read(make([]byte, 1))
			cancel(context.DeadlineExceeded)
			<-t.Context().Done()
			conn.Close()
		}
	}()
	s := newStore()
	knows(s, session.Modern)
	r := request(t, "http://"+listener.Addr().String()+"/mcp")
	r.Arguments = json.RawMessage(`{"a":"` + strings.Repeat("x", 32<<20) + `"}`)
	reply, err := process(t, s).Call(ctx, r)
	refusal := refusalOf(t, err)
	if refusal.Reason != call.HeadTimeout || refusal.MayHaveRun() != call.ImpactUnknown || reply.Facts.Posts != 1 || reply.Facts.BytesOut == 0 {
		t.Errorf("got %v with %s, %+v", refusal, refusal.MayHaveRun(), reply.Facts)
	}
}

func TestConnectionIsNotKeptOverALaterEnd(t *testing.T) {
	p := newPeer(t, modern(answered))
	x := process(t, nil)
	for range 3 {
		ctx, cancel := context.WithCancel(t.Context())
		if _, err := x.Call(ctx, request(t, p.url)); err != nil {
			t.Fatal(err)
		}
		cancel() // after the call: it must not touch a connection of the next
	}
	if p.connections() != 1 {
		t.Errorf("want 1 connection, got %d", p.connections())
	}
}
