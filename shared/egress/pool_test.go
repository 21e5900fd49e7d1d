package egress_test

import (
	"bytes"
	"fmt"
	"io"
	"net"
	"net/netip"
	"runtime"
	"sync"
	"testing"
	"time"

	"mcprelay/shared/egress"
)

func TestAConnectionIsReusedWhileItIsYoungByTheWallClock(t *testing.T) {
	for _, row := range []struct {
		rule   string
		rest   []time.Duration // before each further use
		freeze bool
		reused bool // the last one
	}{
		{"at once", []time.Duration{0}, false, true},
		{"just under 20s idle", []time.Duration{20*time.Second - 1}, false, true},
		{"20s idle", []time.Duration{20 * time.Second}, false, false},
		{"20s idle in a frozen process", []time.Duration{20 * time.Second}, true, false},
		{"19s idle in a frozen process", []time.Duration{19 * time.Second}, true, true},
		{"just under 5min old", repeat(15*time.Second, 19), false, true},
		{"5min old", repeat(15*time.Second, 20), false, false},
		{"the clock was set back", []time.Duration{-time.Minute}, false, false},
	} {
		t.Run(row.rule, func(t *testing.T) {
			faces(t, func(t *testing.T, g *egress.Guard, p *peer, c *clock) {
				conn := connect(t, g, p.url("localhost"))
				server := p.next()
				for i, d := range row.rest {
					exchange(t, conn, server)
					if row.freeze {
						c.freeze(t, d)
					} else {
						c.pass(d)
					}
					conn = connect(t, g, p.url("localhost"))
					want := i < len(row.rest)-1 || row.reused
					if conn.Reused() != want {
						t.Fatalf("use %d: want reused %t, got %t", i+2, want, conn.Reused())
					}
				}
				conn.Close()
			})
		})
	}
}

func repeat(d time.Duration, n int) []time.Duration {
	list := make([]time.Duration, n)
	for i := range list {
		list[i] = d
	}
	return list
}

func TestTheBoundsOfReuseAreConfigurable(t *testing.T) {
	c := newClock()
	p := listening(t, nil)
	g := guard(t, egress.Config{Loopback: true, Now: c.Now, IdleMax: time.Second, AgeMax: 3 * time.Second})
	exchange(t, connect(t, g, p.url("localhost")), p.next())
	c.pass(time.Second)
	conn := connect(t, g, p.url("localhost"))
	if conn.Reused() {
		t.Error("want a new connection after IdleMax")
	}
	server := p.next()
	for range 3 {
		exchange(t, conn, server)
		c.pass(900 * time.Millisecond)
		conn = connect(t, g, p.url("localhost"))
	}
	c.pass(900 * time.Millisecond)
	exchange(t, conn, server)
	if g.Idle() != 0 {
		t.Error("want a connection that is too old closed when released")
	}
}

// A server that ends or speaks after its reply is not to be asked again on
// that connection: the request would be lost, or answered by the wrong reply.
func TestAConnectionThatIsNotSilentIsNotReused(t *testing.T) {
	for name, act := range map[string]func(t *testing.T, p *peer, server net.Conn){
		"ended":            func(t *testing.T, _ *peer, server net.Conn) { server.Close() },
		"sent a reply":     func(t *testing.T, _ *peer, server net.Conn) { send(t, server, "HTTP/1.1 200 OK\r\n\r\n") },
		"sent half a word": func(t *testing.T, p *peer, server net.Conn) { send(t, p.socket(server), "\x17") },
		"ended one way":    func(t *testing.T, p *peer, server net.Conn) { p.socket(server).(*net.TCPConn).CloseWrite() },
		"was reset": func(t *testing.T, p *peer, server net.Conn) {
			p.socket(server).(*net.TCPConn).SetLinger(0)
			p.socket(server).Close()
		},
	} {
		t.Run(name, func(t *testing.T) {
			faces(t, func(t *testing.T, g *egress.Guard, p *peer, _ *clock) {
				conn := connect(t, g, p.url("localhost"))
				server := p.next()
				exchange(t, conn, server)
				if !g.AllSilent() || g.Idle() != 1 {
					t.Fatal("want the connection kept and silent")
				}
				act(t, p, server)
				for g.AllSilent() { // until the kernel has delivered it
					runtime.Gosched()
				}
				again := connect(t, g, p.url("localhost"))
				if again.Reused() {
					t.Error("want a new connection")
				}
				again.Close()
			})
		})
	}
}

// socket is the TCP connection, under TLS where there is TLS.
func (p *peer) socket(conn net.Conn) net.Conn {
	if raw := p.under(conn); raw != nil {
		return raw
	}
	return conn
}

// What came in with the reply and is no part of it must be noticed on every
// level: in the reader, in what TLS has decrypted, and in what it has not.
func TestAConnectionWithUnreadBytesIsNotKept(t *testing.T) {
	chunk := bytes.Repeat([]byte("x"), 10_000) // one record each under TLS
	for name, use := range map[string]func(t *testing.T, p *peer, conn *egress.Conn, server net.Conn){
		"in the reader": func(t *testing.T, _ *peer, conn *egress.Conn, server net.Conn) {
			send(t, server, "reply and more")
			receive(t, conn.Reader, "reply")
		},
		"in the rest of a record, or of the kernel's buffer": func(t *testing.T, _ *peer, conn *egress.Conn, server net.Conn) {
			for range 7 {
				send(t, server, string(chunk))
			}
			if _, err := conn.Reader.Peek(conn.Reader.Size()); err != nil {
				t.Fatal(err)
			}
			conn.Reader.Discard(conn.Reader.Buffered())
		},
	} {
		t.Run(name, func(t *testing.T) {
			faces(t, func(t *testing.T, g *egress.Guard, p *peer, _ *clock) {
				conn := connect(t, g, p.url("localhost"))
				use(t, p, conn, p.next())
				conn.Release()
				again := connect(t, g, p.url("localhost"))
				if again.Reused() {
					t.Error("want a new connection")
				}
				again.Close()
			})
		})
	}
}

// With TLS, what follows the reply's record in the same segment was read from
// the kernel together with it.
func TestARecordBehindTheReplyIsNoticed(t *testing.T) {
	a := newAuthority(t)
	for name, more := range map[string]string{
		"a whole record": "HTTP/1.1 200 OK\r\n\r\n",
		"a byte of one":  "",
	} {
		t.Run(name, func(t *testing.T) {
			joining := &joined{}
			p := listeningAt(t, "127.0.0.1:0", a.serving(t, []string{"localhost"}, nil), func(c net.Conn) net.Conn {
				joining.Conn = c
				return joining
			})
			g := guard(t, egress.Config{Loopback: true, Roots: a.pool()})
			conn := connect(t, g, p.url("localhost"))
			server := p.next()
			joining.hold = true
			send(t, server, "reply")
			if more != "" {
				send(t, server, more)
			} else {
				joining.held.WriteByte(0x17)
			}
			joining.flush(t)
			receive(t, conn.Reader, "reply")
			conn.Release()
			if g.Idle() != 0 {
				t.Error("want the connection closed, not kept")
			}
		})
	}
}

// joined makes one TCP write of several.
type joined struct {
	net.Conn
	hold bool
	held bytes.Buffer
}

func (j *joined) Write(p []byte) (int, error) {
	if j.hold {
		return j.held.Write(p)
	}
	return j.Conn.Write(p)
}

func (j *joined) flush(t *testing.T) {
	t.Helper()
	if _, err := j.Conn.Write(j.held.Bytes()); err != nil {
		t.Fatal(err)
	}
}

func TestAFailedConnectionIsNotKept(t *testing.T) {
	faces(t, func(t *testing.T, g *egress.Guard, p *peer, _ *clock) {
		conn := connect(t, g, p.url("localhost"))
		server := p.next()
		converse(t, conn, server)
		server.Close()
		if _, err := conn.Reader.ReadByte(); err == nil {
			t.Fatal("want the end of the stream")
		}
		conn.Release()
		if g.Idle() != 0 {
			t.Error("want the connection closed, not kept")
		}
	})
}

func TestConnectionsAreSharedByNothingButTheirKey(t *testing.T) {
	p := listening(t, nil)
	g := guard(t, egress.Config{Loopback: true})
	u := at(t, p.url("localhost"))
	base := egress.Unchecked(u, egress.Rules{}, port(p.port()))
	first, err := g.Conn(t.Context(), base)
	if err != nil {
		t.Fatal(err)
	}
	exchange(t, first, p.next())
	other := listeningAt(t, fmt.Sprintf("127.0.0.2:%d", p.port()), nil, nil)
	for name, route := range map[string]egress.Route{
		"another authority": egress.Unchecked(at(t, p.url("127.0.0.1")), egress.Rules{}, port(p.port())),
		"another address":   egress.Unchecked(u, egress.Rules{}, netip.MustParseAddrPort(other.listener.Addr().String())),
		"IPv6 as well":      egress.Unchecked(u, egress.Rules{IPv6: true}, port(p.port())),
	} {
		conn, err := g.Conn(t.Context(), route)
		if err != nil {
			t.Fatal(err)
		}
		if conn.Reused() {
			t.Errorf("%s: want a new connection", name)
		}
		conn.Close()
	}
	path := egress.Unchecked(at(t, fmt.Sprintf("http://localhost:%d/other?x=1", p.port())), egress.Rules{}, port(p.port()))
	conn, err := g.Conn(t.Context(), path)
	if err != nil || !conn.Reused() {
		t.Errorf("another path of the authority: want the same connection, got %v, %v", conn, err)
	}
	conn.Close()
}

func TestFreshIsNeverAKeptConnectionAndMayBeKept(t *testing.T) {
	p := listening(t, nil)
	g := guard(t, egress.Config{Loopback: true})
	exchange(t, connect(t, g, p.url("localhost")), p.next())
	conn, err := g.Fresh(t.Context(), route(t, g, p.url("localhost")))
	if err != nil || conn.Reused() {
		t.Fatalf("want a new connection, got %v, %v", conn, err)
	}
	exchange(t, conn, p.next())
	if g.Idle() != 2 {
		t.Errorf("want both kept, got %d", g.Idle())
	}
}

func TestManyUsersNeverShareAConnection(t *testing.T) {
	faces(t, func(t *testing.T, g *egress.Guard, p *peer, _ *clock) {
		var servers sync.WaitGroup
		servers.Go(func() {
			for conn := range p.all() {
				servers.Go(func() { io.Copy(conn, conn) })
			}
		})
		const users, rounds = 8, 50
		var calls sync.WaitGroup
		for user := range users {
			calls.Go(func() {
				for round := range rounds {
					echo(t, g, p.url("localhost"), fmt.Sprintf("user %d round %03d", user, round))
				}
			})
		}
		calls.Wait()
		if made := p.attempts(); made > users {
			t.Errorf("want at most %d connections for %d calls, got %d", users, users*rounds, made)
		}
		g.Close()
		p.listener.Close()
		servers.Wait()
	})
}

// echo makes one exchange with a server that sends back what it gets.
func echo(t *testing.T, g *egress.Guard, url, text string) {
	conn := connect(t, g, url)
	defer conn.Close()
	if _, err := conn.Write([]byte(text)); err != nil {
		t.Error(err)
		return
	}
	got := make([]byte, len(text))
	if _, err := io.ReadFull(conn.Reader, got); err != nil || string(got) != text {
		t.Errorf("want %q, got %q, %v", text, got, err)
		return
	}
	conn.Release()
}
