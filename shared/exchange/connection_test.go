package exchange_test

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"net"
	"net/http/httptest"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"mcprelay/shared/call"
	"mcprelay/shared/egress"
	"mcprelay/shared/exchange"
	"mcprelay/shared/session"
)

func TestConnectionIsReusedOnlyWhereTheReplyWasReadWhole(t *testing.T) {
	sized := func(w net.Conn, g got) { answered(w, g) }
	for name, tc := range map[string]struct {
		answer script
		want   int // connections of three calls
	}{
		"length": {sized, 1},
		"chunked": {func(w net.Conn, g got) {
			b := result(g, hello)
			send(w, "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n%x\r\n%s\r\n0\r\n\r\n", len(b), b)
		}, 1},
		"error reply":   {saysJSON(500, failure("ID", 1, "x")), 1},
		"error page":    {says(500, "text/html", "<html>"), 1},
		"server closes": {func(w net.Conn, g got) { write(w, 200, "application/json", result(g, hello), "Connection: close") }, 3},
		"HTTP/1.0": {func(w net.Conn, g got) {
			send(w, "HTTP/1.0 200 OK\r\nContent-Type: application/json\r\n\r\n%s", result(g, hello))
			w.Close()
		}, 3},
		"second reply": {func(w net.Conn, g got) {
			var b strings.Builder
			answered(fakeConn{Builder: &b}, g)
			send(w, "%s%s", b.String(), b.String())
		}, 3},
		"bytes behind": {func(w net.Conn, g got) {
			var b strings.Builder
			answered(fakeConn{Builder: &b}, g)
			send(w, "%sX", b.String())
		}, 3},
		"gzip": {func(w net.Conn, g got) {
			write(w, 200, "application/json", zipped(result(g, hello)), "Content-Encoding: gzip")
		}, 3},
		"redirect":   {says(307, "text/html", "<html>", "Location: /x"), 3},
		"401":        {says(401, "", ""), 3},
		"login page": {says(200, "text/html", "<html>"), 3},
		"stream left open": {func(w net.Conn, g got) {
			send(w, "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n%s", event(result(g, hello)))
		}, 3},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newPeer(t, tc.answer)
			s := newStore()
			knows(s, session.Modern)
			x := process(t, s)
			for range 3 {
				_, _ = x.Call(t.Context(), request(t, p.url))
			}
			if p.connections() != tc.want || p.posts("tools/call") != 3 {
				t.Errorf("want %d connections for 3 calls, got %d for %d", tc.want, p.connections(), p.posts("tools/call"))
			}
		})
	}
}

// fakeConn collects what a script writes.
type fakeConn struct {
	net.Conn
	*strings.Builder
}

func (c fakeConn) Write(p []byte) (int, error) { return c.Builder.Write(p) }

func (c fakeConn) Close() error { return nil }

func TestHandshakeAndCallShareAConnection(t *testing.T) {
	p := newLegacyPeer(t, answered)
	if _, err := process(t, nil).Call(t.Context(), request(t, p.url)); err != nil {
		t.Fatal(err)
	}
	if p.connections() != 1 {
		t.Errorf("want 1 connection for %v, got %d", p.methods(), p.connections())
	}
}

func TestConnectionThatEndedWhileIdleIsReplaced(t *testing.T) {
	var mu sync.Mutex
	var open []net.Conn
	p := newPeer(t, modern(func(w net.Conn, g got) {
		mu.Lock()
		open = append(open, w)
		mu.Unlock()
		answered(w, g)
	}))
	x := process(t, nil)
	for range 5 {
		reply, err := x.Call(t.Context(), request(t, p.url))
		if err != nil || reply.Facts.Posts != 1 {
			t.Fatalf("got %v, %+v", err, reply.Facts)
		}
		mu.Lock()
		for _, conn := range open {
			conn.Close()
		}
		mu.Unlock()
	}
	if p.posts("tools/call") != 5 {
		t.Errorf("want each call once, got %d", p.posts("tools/call"))
	}
}

// TestReusedConnectionThatDiesAfterTheRequestIsNotTriedAgain: the bytes were
// written, so the server may have read them before it died.
func TestReusedConnectionThatDiesAfterTheRequestIsNotTriedAgain(t *testing.T) {
	for name, die := range map[string]func(net.Conn){
		"end":   func(w net.Conn) { w.Close() },
		"reset": func(w net.Conn) { _ = w.(*net.TCPConn).SetLinger(0); w.Close() },
	} {
		used := map[net.Conn]int{}
		p := newPeer(t, func(w net.Conn, g got) {
			if used[w]++; used[w] == 2 {
				die(w)
				return
			}
			answered(w, g)
		})
		s := newStore()
		knows(s, session.Modern)
		x := process(t, s)
		if _, err := x.Call(t.Context(), request(t, p.url)); err != nil {
			t.Fatal(err)
		}
		reply, err := x.Call(t.Context(), request(t, p.url))
		refusal := refusalOf(t, err)
		if refusal.Reason != call.ResetBeforeHead || refusal.MayHaveRun() != call.ImpactUnknown || reply.Facts.Posts != 1 {
			t.Errorf("%s: got %v with %s, %+v", name, refusal, refusal.MayHaveRun(), reply.Facts)
		}
		if p.posts("tools/call") != 2 || p.connections() != 1 {
			t.Errorf("%s: want 2 POSTs on 1 connection, got %d on %d", name, p.posts("tools/call"), p.connections())
		}
	}
}

// hooked is a context that runs a function whenever somebody asks for its end:
// the exchange does so when it binds a connection, just before it writes.
type hooked struct {
	context.Context
	hook func()
}

func (c hooked) Done() <-chan struct{} {
	c.hook()
	return c.Context.Done()
}

// TestConnectionThatDiesBeforeTheRequestIsReplacedOnce: not one byte was taken.
func TestConnectionThatDiesBeforeTheRequestIsReplacedOnce(t *testing.T) {
	for name, tc := range map[string]struct {
		deaths int
		want   call.Reason
	}{
		"the kept one":     {1, call.OK},
		"the new one also": {2, call.ResetBeforeHead},
	} {
		t.Run(name, func(t *testing.T) {
			accepted := make(chan net.Conn, 3)
			p := newPeer(t, answered)
			p.mu.Lock()
			p.accepted = accepted
			p.mu.Unlock()
			s := newStore()
			knows(s, session.Modern)
			x := process(t, s)
			r := request(t, p.url, func(r *exchange.Request) { r.Open = 0 })
			if _, err := x.Call(t.Context(), r); err != nil {
				t.Fatal(err)
			}
			left := tc.deaths
			reply, err := x.Call(hooked{t.Context(), func() {
				if left == 0 {
					return
				}
				select {
				case conn := <-accepted:
					left--
					_ = conn.(*net.TCPConn).SetLinger(0)
					conn.Close()
				case <-time.After(patience): // dialling asks too, before there is one
				}
			}}, r)
			if got := reasonOf(t, err); got != tc.want {
				t.Fatalf("want %s, got %v", tc.want, err)
			}
			if err != nil && (refusalOf(t, err).MayHaveRun() != call.ImpactNone || reply.Facts.Posts != 0) {
				t.Errorf("want impact none, got %s after %d POSTs", refusalOf(t, err).MayHaveRun(), reply.Facts.Posts)
			}
			if want := 2; err == nil && (p.posts("tools/call") != want || reply.Facts.Posts != 1) {
				t.Errorf("want each call once, got %d", p.posts("tools/call"))
			}
			if p.connections() != 2 {
				t.Errorf("want 2 connections, got %d", p.connections())
			}
		})
	}
}

func TestServerThatCannotBeReachedRanNothing(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	closed := "http://" + listener.Addr().String() + "/mcp"
	listener.Close()
	for name, era := range map[string]session.Era{"opening": "", "call": session.Modern} {
		s := newStore()
		if era != "" {
			knows(s, era)
		}
		reply, err := process(t, s).Call(t.Context(), request(t, closed))
		refusal := refusalOf(t, err)
		if refusal.Reason != call.Connect || refusal.MayHaveRun() != call.ImpactNone || reply.Facts.Posts != 0 || !errors.Is(err, syscall.ECONNREFUSED) {
			t.Errorf("%s: got %v with %s", name, refusal, refusal.MayHaveRun())
		}
	}
}

// secure gives a TLS configuration and a guard that trusts it.
func secure(t testing.TB) (*tls.Config, *egress.Guard) {
	server := httptest.NewTLSServer(nil)
	t.Cleanup(server.Close)
	roots := x509.NewCertPool()
	roots.AddCert(server.Certificate())
	return &tls.Config{Certificates: server.TLS.Certificates}, egress.New(egress.Config{Loopback: true, Roots: roots})
}

func TestExchangeOverTLS(t *testing.T) {
	config, guard := secure(t)
	p := newTLSPeer(t, config, modern(answered))
	x := process(t, nil, func(c *exchange.Config) { c.Guard = guard })
	for range 3 {
		reply, err := x.Call(t.Context(), request(t, p.url))
		if err != nil || string(reply.Result) != hello {
			t.Fatalf("got %v, %s", err, reply.Result)
		}
	}
	if p.connections() != 1 {
		t.Errorf("want 1 connection, got %d", p.connections())
	}
	if g := p.last(t, "tools/call"); "https://"+g.Host+"/mcp" != p.url {
		t.Errorf("Host is %s for %s", g.Host, p.url)
	}
}

func TestCredentialIsNotSentWhereTLSFails(t *testing.T) {
	config, _ := secure(t)
	p := newTLSPeer(t, config, modern(answered))
	for name, era := range map[string]session.Era{"opening": "", "call": session.Modern} {
		s := newStore()
		if era != "" {
			knows(s, era)
		}
		reply, err := process(t, s).Call(t.Context(), request(t, p.url)) // trusts other roots
		if refusal := refusalOf(t, err); refusal.Reason != call.TLS || refusal.MayHaveRun() != call.ImpactNone || reply.Facts.Posts != 0 {
			t.Errorf("%s: got %v", name, refusal)
		}
	}
	if len(p.all()) != 0 {
		t.Errorf("something was sent: %v", p.methods())
	}
}

// TestReplyToARequestThatWasNotReadWhole: the server says why it stops reading.
func TestReplyToARequestThatWasNotReadWhole(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			_, _ = conn.Read(make([]byte, 4096))
			write(conn, 413, "text/plain", "too large for me")
			<-t.Context().Done()
			conn.Close()
		}
	}()
	s := newStore()
	knows(s, session.Modern)
	r := request(t, "http://"+listener.Addr().String()+"/mcp")
	r.Arguments = json.RawMessage(`{"a":"` + strings.Repeat("x", 200<<10) + `"}`)
	_, err = process(t, s).Call(t.Context(), r)
	if refusal := refusalOf(t, err); refusal.Reason != call.UpstreamStatus || refusal.Status != 413 {
		t.Errorf("want the server's own words, got %v", refusal)
	}
}

func TestFactsSayWhatWasDone(t *testing.T) {
	p := newLegacyPeer(t, answered)
	x := process(t, nil)
	var facts []exchange.Facts
	for range 2 {
		reply, err := x.Call(t.Context(), request(t, p.url))
		if err != nil {
			t.Fatal(err)
		}
		facts = append(facts, reply.Facts)
	}
	for i, f := range facts {
		if f.Address.String() != strings.TrimSuffix(strings.TrimPrefix(p.url, "http://"), "/mcp") || f.Status != 200 || f.Posts != 1 || f.Version != "2025-11-25" || f.Era != session.Legacy {
			t.Errorf("call %d: %+v", i, f)
		}
		if f.BytesOut < 200 || f.BytesIn < 100 {
			t.Errorf("call %d: %d bytes out, %d in", i, f.BytesOut, f.BytesIn)
		}
	}
	if facts[0].BytesOut < facts[1].BytesOut+500 {
		t.Errorf("the handshake is not in the bytes: %d, %d", facts[0].BytesOut, facts[1].BytesOut)
	}
}

// TestMemoryIsBoundedUnderEndlessReplies: what a server sends beyond the bound
// is neither kept nor read.
func TestMemoryIsBoundedUnderEndlessReplies(t *testing.T) {
	more := []byte(strings.Repeat("x", 1<<16))
	pour := func(begin string) script {
		return func(w net.Conn, g got) {
			send(w, "%s", begin)
			for {
				if _, err := w.Write(more); err != nil {
					return
				}
			}
		}
	}
	for name, begin := range map[string]string{
		"head":      "HTTP/1.1 200 OK\r\nX: ",
		"JSON":      "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n\r\n\"",
		"event":     openHead + "data: ",
		"comment":   openHead + ": ",
		"error":     "HTTP/1.1 500 No\r\nContent-Type: text/plain\r\n\r\n",
		"huge body": "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 9223372036854775807\r\n\r\n",
	} {
		p := newPeer(t, pour(begin))
		s := newStore()
		knows(s, session.Modern)
		x := process(t, s)
		r := request(t, p.url)
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		for range 4 {
			reply, err := x.Call(t.Context(), r)
			if err == nil {
				t.Errorf("%s: an endless reply was taken", name)
			}
			if reply.Facts.BytesIn > 2<<20 {
				t.Errorf("%s: %d bytes were read", name, reply.Facts.BytesIn)
			}
		}
		runtime.ReadMemStats(&after)
		if got := (after.TotalAlloc - before.TotalAlloc) / 4; got > 8<<20 {
			t.Errorf("%s: a call allocates %d KiB", name, got>>10)
		}
	}
}
