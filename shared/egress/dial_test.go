package egress_test

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"mcprelay/shared/call"
	"mcprelay/shared/egress"
	"mcprelay/test/canary"
)

func port(n uint16) netip.AddrPort { return netip.AddrPortFrom(netip.MustParseAddr("127.0.0.1"), n) }

// The second lock is for the day the first one has a hole.
func TestTheSocketChecksTheAddressAgain(t *testing.T) {
	c := canary.Listen(t, "127.0.0.1:0")
	g := guard(t, egress.Config{})
	u := at(t, fmt.Sprintf("https://mcp.example.com:%d/mcp", c.Port()))
	spelled := at(t, fmt.Sprintf("http://127.0.0.1:%d/mcp", c.Port()))
	for _, route := range []egress.Route{
		egress.Unchecked(u, egress.Rules{}, port(c.Port())),
		egress.Unchecked(spelled, egress.Rules{}, port(c.Port())),
		egress.Unchecked(u, egress.Rules{Networks: prefixes("127.0.0.0/8")}, port(c.Port())),
		egress.Unchecked(u, egress.Rules{}, netip.AddrPortFrom(netip.MustParseAddr("::1"), c.Port())),
	} {
		_, err := g.Conn(t.Context(), route)
		refused(t, err, call.Loopback)
	}
	mapped := netip.AddrPortFrom(netip.MustParseAddr("::ffff:127.0.0.1"), c.Port())
	if _, err := g.Conn(t.Context(), egress.Unchecked(u, egress.Rules{}, mapped)); err == nil {
		t.Error("a mapped address: want it refused")
	}
	// An address that is refused ends the attempt; nothing else is tried.
	peer := listening(t, nil)
	open := guard(t, egress.Config{Loopback: true})
	bad := netip.MustParseAddrPort("10.0.0.1:80")
	_, err := open.Conn(t.Context(), egress.Unchecked(at(t, peer.url("127.0.0.1")), egress.Rules{}, bad, port(peer.port())))
	refused(t, err, call.PrivateAddress)
	if hits := c.Hits(); hits != 0 || peer.attempts() != 0 {
		t.Errorf("want no connection, got %d and %d", hits, peer.attempts())
	}
}

func TestADialGoesToTheNextAddressWhenOneRefuses(t *testing.T) {
	closed := canary.Listen(t, "127.0.0.1:0") // its address, and another port's nobody
	peer := listening(t, nil)
	g := guard(t, egress.Config{Loopback: true})
	u := at(t, peer.url("127.0.0.1"))
	nobody := netip.AddrPortFrom(netip.MustParseAddr("127.0.0.99"), peer.port())
	conn, err := g.Conn(t.Context(), egress.Unchecked(u, egress.Rules{}, nobody, port(peer.port())))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	peer.next()
	if conn.Addr() != port(peer.port()) || peer.attempts() != 1 || conn.Reused() {
		t.Errorf("want one new connection to %s, got %d to %s", port(peer.port()), peer.attempts(), conn.Addr())
	}
	_, err = g.Conn(t.Context(), egress.Unchecked(u, egress.Rules{}, nobody, netip.AddrPortFrom(netip.MustParseAddr("127.0.0.98"), peer.port())))
	refusal := refused(t, err, call.Connect)
	for _, want := range []string{"127.0.0.1", nobody.String() + " and 1 more", syscall.ECONNREFUSED.Error()} {
		if !strings.Contains(refusal.Detail, want) {
			t.Errorf("want a detail with %q, got %q", want, refusal.Detail)
		}
	}
	if closed.Hits() != 0 {
		t.Error("want nobody else connected to")
	}
}

func TestASocketSendsSmallWritesAtOnce(t *testing.T) {
	peer := listening(t, nil)
	g := guard(t, egress.Config{Loopback: true})
	conn := connect(t, g, peer.url("127.0.0.1"))
	defer conn.Close()
	var noDelay int
	var err error
	conn.Socket(func(fd int) { noDelay, err = unix.GetsockoptInt(fd, unix.IPPROTO_TCP, unix.TCP_NODELAY) })
	if err != nil || noDelay == 0 {
		t.Errorf("want TCP_NODELAY set, got %d, %v", noDelay, err)
	}
}

// connect resolves and connects.
func connect(t testing.TB, g *egress.Guard, url string) *egress.Conn {
	t.Helper()
	route, err := g.Resolve(t.Context(), at(t, url), egress.Rules{})
	if err != nil {
		t.Fatal(err)
	}
	conn, err := g.Conn(t.Context(), route)
	if err != nil {
		t.Fatal(err)
	}
	return conn
}

func TestNoProxyOfTheEnvironmentIsUsed(t *testing.T) {
	c := canary.Listen(t, "127.0.0.1:0")
	for _, name := range []string{"HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"} {
		t.Setenv(name, "http://"+c.Addr().String())
		t.Setenv(strings.ToLower(name), "http://"+c.Addr().String())
	}
	t.Setenv("NO_PROXY", "")
	t.Setenv("REQUEST_METHOD", "POST")
	a := newAuthority(t)
	g := guard(t, egress.Config{Loopback: true, Roots: a.pool()})
	for _, peer := range []*peer{listening(t, nil), listening(t, a.serving(t, []string{"localhost"}, nil))} {
		connect(t, g, peer.url("localhost")).Close()
		peer.next()
	}
	if hits := c.Hits(); hits != 0 {
		t.Errorf("want no connection to the proxy, got %d", hits)
	}
}

// deaf listens and never answers: its queue is full, so the kernel drops what
// comes in.
func deaf(t *testing.T, host string) netip.AddrPort {
	t.Helper()
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM, 0)
	if err != nil {
		t.Fatal(err)
	}
	unix.CloseOnExec(fd)
	t.Cleanup(func() { unix.Close(fd) })
	ip := netip.MustParseAddr(host)
	if err := unix.Bind(fd, &unix.SockaddrInet4{Addr: ip.As4()}); err != nil {
		t.Fatal(err)
	}
	if err := unix.Listen(fd, 0); err != nil {
		t.Fatal(err)
	}
	name, err := unix.Getsockname(fd)
	if err != nil {
		t.Fatal(err)
	}
	addr := netip.AddrPortFrom(ip, uint16(name.(*unix.SockaddrInet4).Port))
	for range 8 { // until one is not answered
		conn, err := net.DialTimeout("tcp", addr.String(), 100*time.Millisecond)
		if err != nil {
			return addr
		}
		t.Cleanup(func() { conn.Close() })
	}
	t.Fatal("the queue of a listener with none does not fill")
	return addr
}

func TestAConnectionThatIsNotAnsweredEndsWithTheContext(t *testing.T) {
	addr := deaf(t, "127.0.0.1")
	g := guard(t, egress.Config{Loopback: true})
	route := egress.Unchecked(at(t, fmt.Sprintf("http://127.0.0.1:%d/mcp", addr.Port())), egress.Rules{}, addr)

	short, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	_, err := g.Conn(short, route)
	if refusal := refused(t, err, call.Connect); !strings.HasSuffix(refusal.Detail, "no answer in time") {
		t.Errorf("want a detail about time, got %q", refusal.Detail)
	}

	left, leave := context.WithCancel(t.Context())
	time.AfterFunc(50*time.Millisecond, leave)
	_, err = g.Conn(left, route)
	if refusal := refused(t, err, call.Cancelled); refusal.MayHaveRun() != call.ImpactNone {
		t.Errorf("want a call that did not run, got %s", refusal.MayHaveRun())
	}
	_, err = g.Conn(left, route)
	refused(t, err, call.Cancelled)
}

func TestAnAddressThatDoesNotAnswerLeavesTimeForTheNext(t *testing.T) {
	t.Parallel()
	peer := listening(t, nil)
	addr := deaf(t, "127.0.0.77")
	g := guard(t, egress.Config{Loopback: true})
	within, cancel := context.WithTimeout(t.Context(), 4*time.Second)
	defer cancel()
	u := at(t, peer.url("127.0.0.1"))
	began := time.Now()
	conn, err := g.Conn(within, egress.Unchecked(u, egress.Rules{}, addr, port(peer.port())))
	if err != nil {
		t.Fatalf("want the second address, got %v after %s", err, time.Since(began))
	}
	conn.Close()
	if took := time.Since(began); took < 1900*time.Millisecond {
		t.Errorf("want the first address to get its share of 2s, got %s", took)
	}
}

func TestShareDividesWhatRemains(t *testing.T) {
	now := time.Now()
	for _, row := range []struct {
		remains time.Duration
		left    int
		want    time.Duration
	}{
		{10 * time.Second, 1, 10 * time.Second},
		{10 * time.Second, 2, 5 * time.Second},
		{10 * time.Second, 16, 2 * time.Second},
		{3 * time.Second, 3, 2 * time.Second},
		{time.Second, 3, time.Second},
		{0, 3, 0},
		{-time.Second, 2, -500 * time.Millisecond},
	} {
		if got := egress.Share(now, now.Add(row.remains), row.left).Sub(now); got != row.want {
			t.Errorf("%s for %d: want %s, got %s", row.remains, row.left, row.want, got)
		}
	}
}
