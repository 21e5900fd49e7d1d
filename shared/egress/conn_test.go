package egress_test

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"os"
	"strings"
	"testing"
	"time"

	"mcprelay/shared/egress"
)

// faces runs a test over plain TCP and over TLS.
func faces(t *testing.T, test func(t *testing.T, g *egress.Guard, p *peer, c *clock)) {
	for _, secure := range []bool{false, true} {
		name := map[bool]string{false: "plain", true: "TLS"}[secure]
		t.Run(name, func(t *testing.T) {
			a := newAuthority(t)
			var config *tls.Config
			if secure {
				config = a.serving(t, []string{"localhost"}, nil)
			}
			clock := newClock()
			g := guard(t, egress.Config{Loopback: true, Roots: a.pool(), Now: clock.Now})
			test(t, g, listening(t, config), clock)
		})
	}
}

// exchange sends a request and its reply over conn and releases it.
func exchange(t *testing.T, conn *egress.Conn, server net.Conn) {
	t.Helper()
	converse(t, conn, server)
	conn.Release()
}

func converse(t *testing.T, conn *egress.Conn, server net.Conn) {
	t.Helper()
	if _, err := conn.Write([]byte("request")); err != nil {
		t.Fatal(err)
	}
	receive(t, server, "request")
	send(t, server, "reply")
	receive(t, conn.Reader, "reply")
}

func TestAConnectionCountsTheBytesOfItsUse(t *testing.T) {
	faces(t, func(t *testing.T, g *egress.Guard, p *peer, _ *clock) {
		conn := connect(t, g, p.url("localhost"))
		server := p.next()
		if conn.Written() != 0 || conn.Received() != 0 {
			t.Errorf("a new connection: want 0 and 0 bytes, got %d and %d", conn.Written(), conn.Received())
		}
		exchange(t, conn, server)
		again := connect(t, g, p.url("localhost"))
		if !again.Reused() || again.Written() != 0 || again.Received() != 0 {
			t.Errorf("a reused connection: want 0 and 0 bytes, got %d and %d", again.Written(), again.Received())
		}
		exchange(t, again, server)
		exchange(t, connect(t, g, p.url("localhost")), server)
		for _, c := range []*egress.Conn{conn, again} {
			if c.Written() != int64(len("request")) || c.Received() != int64(len("reply")) {
				t.Errorf("want 7 and 5 bytes, got %d and %d", c.Written(), c.Received())
			}
		}
	})
}

func TestTheReaderHolds64KiB(t *testing.T) {
	faces(t, func(t *testing.T, g *egress.Guard, p *peer, _ *clock) {
		conn := connect(t, g, p.url("localhost"))
		defer conn.Close()
		if size := conn.Reader.Size(); size != 64<<10 {
			t.Errorf("want a buffer of 64 KiB, got %d", size)
		}
	})
}

func TestLargeBodiesPassBothWays(t *testing.T) {
	faces(t, func(t *testing.T, g *egress.Guard, p *peer, _ *clock) {
		conn := connect(t, g, p.url("localhost"))
		server := p.next()
		body := strings.Repeat("0123456789abcdef", 1<<16) // 1 MiB
		echoed := make(chan error, 1)
		go func() {
			_, err := io.CopyN(server, server, int64(len(body)))
			echoed <- err
		}()
		wrote := make(chan error, 1)
		go func() {
			_, err := conn.Write([]byte(body))
			wrote <- err
		}()
		got := make([]byte, len(body))
		if _, err := io.ReadFull(conn.Reader, got); err != nil || string(got) != body {
			t.Fatalf("want the body back, got %d bytes, %v", len(got), err)
		}
		if err := errors.Join(<-echoed, <-wrote); err != nil {
			t.Fatal(err)
		}
		conn.Release()
		if g.Idle() != 1 {
			t.Error("want the connection kept after a large body")
		}
	})
}

func TestTheEndOfTheContextUnblocksAReadAndLosesTheConnection(t *testing.T) {
	ends := map[string]func(ctx context.Context) (context.Context, context.CancelFunc){
		"cancelled": func(ctx context.Context) (context.Context, context.CancelFunc) {
			ctx, cancel := context.WithCancel(ctx)
			time.AfterFunc(20*time.Millisecond, cancel)
			return ctx, cancel
		},
		"too late": func(ctx context.Context) (context.Context, context.CancelFunc) {
			return context.WithTimeout(ctx, 20*time.Millisecond)
		},
	}
	for name, end := range ends {
		t.Run(name, func(t *testing.T) {
			faces(t, func(t *testing.T, g *egress.Guard, p *peer, _ *clock) {
				conn := connect(t, g, p.url("localhost"))
				ctx, cancel := end(t.Context())
				defer cancel()
				stop := conn.Bind(ctx)
				if _, err := conn.Reader.ReadByte(); !errors.Is(err, os.ErrDeadlineExceeded) || ctx.Err() == nil {
					t.Errorf("want a timeout for the reader and an ended context, got %v, %v", err, ctx.Err())
				}
				stop()
				if _, err := conn.Write([]byte("x")); err == nil {
					t.Error("want writes to fail as well")
				}
				conn.Release()
				if g.Idle() != 0 {
					t.Error("want an interrupted connection closed, not kept")
				}
			})
		})
	}
}

func TestTheEndOfTheContextUnblocksAWrite(t *testing.T) {
	faces(t, func(t *testing.T, g *egress.Guard, p *peer, _ *clock) {
		conn := connect(t, g, p.url("localhost"))
		defer conn.Close()
		body := make([]byte, 64<<20) // nobody reads it
		ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
		defer cancel()
		defer conn.Bind(ctx)()
		n, err := conn.Write(body)
		if !errors.Is(err, os.ErrDeadlineExceeded) {
			t.Errorf("want a timeout, got %v", err)
		}
		if conn.Written() != int64(n) || n == 0 || n == 64<<20 {
			t.Errorf("want part of the bytes counted, got %d of which %d", n, conn.Written())
		}
	})
}

func TestAnInterruptionBetweenReadAndReleaseLosesTheConnection(t *testing.T) {
	faces(t, func(t *testing.T, g *egress.Guard, p *peer, _ *clock) {
		conn := connect(t, g, p.url("localhost"))
		ctx, cancel := context.WithCancel(t.Context())
		stop := conn.Bind(ctx)
		converse(t, conn, p.next())
		cancel()
		stop()
		conn.Release()
		if g.Idle() != 0 {
			t.Error("want the connection closed, not kept")
		}
	})
}

func TestAnUnboundConnectionOutlivesTheContext(t *testing.T) {
	faces(t, func(t *testing.T, g *egress.Guard, p *peer, _ *clock) {
		conn := connect(t, g, p.url("localhost"))
		server := p.next()
		first, endFirst := context.WithCancel(t.Context())
		second, endSecond := context.WithCancel(t.Context())
		stop := conn.Bind(first)
		conn.Bind(second) // in place of the first
		endFirst()
		exchange(t, conn, server) // which also ends the second
		stop()
		endSecond()
		again := connect(t, g, p.url("localhost"))
		if !again.Reused() {
			t.Fatal("want the connection kept")
		}
		stop = again.Bind(t.Context())
		converse(t, again, server)
		stop()
		again.Release() // stops once more
		if g.Idle() != 1 {
			t.Error("want the connection kept, however often it was unbound")
		}
	})
}

func TestAUseEndsOnce(t *testing.T) {
	faces(t, func(t *testing.T, g *egress.Guard, p *peer, _ *clock) {
		conn := connect(t, g, p.url("localhost"))
		server := p.next()
		exchange(t, conn, server)
		again := connect(t, g, p.url("localhost"))
		// The first user's handle is dead: it reaches the connection no more.
		conn.Release()
		if err := conn.Close(); err != nil || conn.Reader != nil {
			t.Errorf("want nothing to happen, got %v", err)
		}
		if _, err := conn.Write([]byte("stray")); !errors.Is(err, net.ErrClosed) {
			t.Errorf("want a closed handle, got %v", err)
		}
		exchange(t, again, server)
		third := connect(t, g, p.url("localhost"))
		if err := errors.Join(third.Close(), third.Close()); err != nil || g.Idle() != 0 {
			t.Errorf("want it closed once, got %v, %d kept", err, g.Idle())
		}
		third.Release()
		if g.Idle() != 0 {
			t.Error("want a closed connection not kept")
		}
	})
}

func TestCloseDoesNotWaitForAServerThatReadsNothing(t *testing.T) {
	faces(t, func(t *testing.T, g *egress.Guard, p *peer, _ *clock) {
		conn := connect(t, g, p.url("localhost"))
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
		defer cancel()
		conn.Bind(ctx)
		conn.Write(make([]byte, 64<<20)) // fills every buffer on the way
		began := time.Now()
		conn.Close()
		if took := time.Since(began); took > time.Second {
			t.Errorf("want it at once, got %s", took)
		}
	})
}
