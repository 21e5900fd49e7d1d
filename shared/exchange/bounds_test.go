package exchange_test

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"mcprelay/shared/call"
	"mcprelay/shared/exchange"
	"mcprelay/shared/session"
)

func TestOneEventHasABoundOfItsOwn(t *testing.T) {
	const note = `{"jsonrpc":"2.0","method":"notifications/message","params":{"a":"PAD"}}`
	padded := func(text string, size int) string {
		return strings.Replace(text, "PAD", strings.Repeat("x", size-len(text)+len("PAD")), 1)
	}
	for name, tc := range map[string]struct {
		body string
		want call.Reason
	}{
		"many below it": {strings.Repeat(event(padded(note, 1024)), 20) + event(`{"jsonrpc":"2.0","id":ID,"result":{}}`), call.OK},
		"one over it":   {event(padded(note, 1025)) + event(`{"jsonrpc":"2.0","id":ID,"result":{}}`), call.ReplyTooLarge},
		"ignored type":  {"event: ping\ndata: " + strings.Repeat("x", 1025) + "\n\n" + event(`{"jsonrpc":"2.0","id":ID,"result":{}}`), call.ReplyTooLarge},
		"in lines":      {"data: {\"jsonrpc\":\"2.0\",\n" + strings.Repeat("data: "+strings.Repeat(" ", 100)+"\n", 11) + "data: \"id\":ID,\"result\":{}}\n\n", call.ReplyTooLarge},
		"the response":  {event(`{"jsonrpc":"2.0","id":ID,"result":{"a":"` + strings.Repeat("x", 1024) + `"}}`), call.ReplyTooLarge},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newPeer(t, modern(streaming(tc.body)))
			_, err := process(t, nil).Call(t.Context(), request(t, p.url, func(r *exchange.Request) { r.Limits.FrameBytes = 1024 }))
			if got := reasonOf(t, err); got != tc.want {
				t.Fatalf("want %s, got %v", tc.want, err)
			}
			if err != nil && refusalOf(t, err).Detail != "an event larger than its bound" {
				t.Errorf("got %v", err)
			}
		})
	}
	p := newPeer(t, modern(streaming(event(`{"jsonrpc":"2.0","id":ID,"result":{"a":"`+strings.Repeat("x", 2<<20)+`"}}`))))
	_, err := process(t, nil).Call(t.Context(), request(t, p.url, func(r *exchange.Request) { r.Limits.ResultBytes = 5 << 20 }))
	if reasonOf(t, err) != call.ReplyTooLarge {
		t.Errorf("want 1 MiB without a bound of its own, got %v", err)
	}
}

var (
	refusedConnection = &call.Refusal{Reason: call.Connect, Err: errors.New("refused")}
	cutHandshake      = &call.Refusal{Reason: call.TLS, Err: io.EOF}
)

func TestConnectingIsTriedAgainAfterAPause(t *testing.T) {
	for name, tc := range map[string]struct {
		limits   exchange.Limits
		failures []error
		tries    int
		took     time.Duration
		fails    bool
	}{
		"at once":              {exchange.Limits{}, nil, 1, 0, false},
		"the second time":      {exchange.Limits{}, []error{refusedConnection}, 2, 250 * time.Millisecond, false},
		"never":                {exchange.Limits{}, []error{refusedConnection, refusedConnection}, 2, 250 * time.Millisecond, true},
		"the fourth time":      {exchange.Limits{ConnectRetries: 3, Backoff: time.Second}, []error{refusedConnection, cutHandshake, refusedConnection}, 4, 3 * time.Second, false},
		"not allowed":          {exchange.Limits{ConnectRetries: -1}, []error{refusedConnection}, 1, 0, true},
		"handshake cut":        {exchange.Limits{}, []error{cutHandshake}, 2, 250 * time.Millisecond, false},
		"certificate":          {exchange.Limits{}, []error{&call.Refusal{Reason: call.TLS, Err: &tls.CertificateVerificationError{Err: errors.New("x")}}}, 1, 0, true},
		"address":              {exchange.Limits{}, []error{&call.Refusal{Reason: call.Metadata}}, 1, 0, true},
		"name":                 {exchange.Limits{}, []error{&call.Refusal{Reason: call.DNS}}, 1, 0, true},
		"cancelled meanwhile":  {exchange.Limits{}, []error{&call.Refusal{Reason: call.Cancelled}}, 1, 0, true},
		"no refusal":           {exchange.Limits{}, []error{context.DeadlineExceeded}, 1, 0, true},
		"longer than the time": {exchange.Limits{Backoff: time.Hour}, []error{refusedConnection}, 1, time.Minute, true},
	} {
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			begin, tries := time.Now(), 0
			got, err := exchange.Again(ctx, tc.limits, func() (int, error) {
				if tries++; tries <= len(tc.failures) {
					return 0, tc.failures[tries-1]
				}
				return 7, nil
			})
			if tries != tc.tries || time.Since(begin) != tc.took || (err != nil) != tc.fails || (got == 7) == tc.fails {
				t.Errorf("%s: got %d, %v after %d tries and %v", name, got, err, tries, time.Since(begin))
			}
		})
	}
}

// flaky closes the first connections before a byte was exchanged.
type flaky struct {
	net.Listener
	left atomic.Int32
}

func (f *flaky) Accept() (net.Conn, error) {
	for {
		conn, err := f.Listener.Accept()
		if err != nil || f.left.Add(-1) < 0 {
			return conn, err
		}
		_ = conn.(*net.TCPConn).SetLinger(0)
		conn.Close()
	}
}

func TestServerThatRestartsIsConnectedToAgain(t *testing.T) {
	for cut, fails := range map[int32]bool{1: false, 2: true} {
		config, guard := secure(t)
		tcp, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		f := &flaky{Listener: tcp}
		f.left.Store(cut)
		p := servePeer(t, tls.NewListener(f, config), "https://"+tcp.Addr().String()+"/mcp", modern(answered))
		s := newStore()
		knows(s, session.Modern)
		x := process(t, s, func(c *exchange.Config) { c.Guard = guard })
		reply, err := x.Call(t.Context(), request(t, p.url, func(r *exchange.Request) { r.Limits.Backoff = time.Millisecond }))
		// A reset may come before the client knows that it is connected.
		if got := reasonOf(t, err); fails && got != call.TLS && got != call.Connect || !fails && err != nil {
			t.Errorf("%d cut: got %v", cut, err)
		}
		if posts := map[bool]int{true: 1}[err == nil]; p.posts("tools/call") != posts || reply.Facts.Posts != posts {
			t.Errorf("%d cut: want %d POSTs, got %v", cut, posts, p.methods())
		}
	}
}

func TestServerThatIsDownCostsNoMoreThanItsRetries(t *testing.T) {
	tcp, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	tcp.Close()
	begin := time.Now()
	_, err = process(t, nil).Call(t.Context(), request(t, "http://"+tcp.Addr().String()+"/mcp", func(r *exchange.Request) {
		r.Limits.ConnectRetries, r.Limits.Backoff = 2, 20*time.Millisecond
	}))
	refusal := refusalOf(t, err)
	if took := time.Since(begin); refusal.Reason != call.Connect || refusal.MayHaveRun() != call.ImpactNone || took < 40*time.Millisecond {
		t.Errorf("got %v with %s after %v", refusal, refusal.MayHaveRun(), took)
	}
}
