package faults_test

import (
	"context"
	"crypto/tls"
	"net"
	"net/http"
	"net/netip"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/net/dns/dnsmessage"

	"mcprelay/shared/call"
	"mcprelay/shared/egress"
	"mcprelay/test/fakedns"
	"mcprelay/test/hostile"
	"mcprelay/test/netns"
)

func addresses() []row {
	return []row{
		{21, "a name with an address that is refused, with too many or with none", refusedAddresses},
		{23, "a server that cannot be connected to", unconnected},
		{24, "a handshake that fails, before the credential is written", handshakes},
		{61, "a call that comes back to the relay", circle},
	}
}

const host = "mcp.example.com"

// nothing is what a record says where nothing was sent.
func nothing(reason call.Reason) want { return want{reason: reason, posts: none, session: "-"} }

// many are different public addresses.
func many(n int) (literals []string) {
	for i := range n {
		literals = append(literals, netip.AddrFrom4([4]byte{93, 184, 216, byte(i + 1)}).String())
	}
	return literals
}

func refusedAddresses(t *testing.T, k *stage) {
	dns := fakedns.Start(t, nil)
	for _, row := range []struct {
		name   string
		answer fakedns.Answer
		reason call.Reason
	}{
		{"loopback", fakedns.Addrs("127.0.0.1"), call.Loopback},
		{"loopback of the next version", fakedns.Addrs("::1"), call.Loopback},
		{"loopback, mapped", fakedns.Addrs("::ffff:127.0.0.1"), call.Loopback},
		{"metadata", fakedns.Addrs("169.254.169.254"), call.Metadata},
		{"private", fakedns.Addrs("10.1.2.3"), call.PrivateAddress},
		{"one good and one bad", fakedns.Addrs("93.184.216.34", "127.0.0.1"), call.Loopback},
		{"one bad and one good", fakedns.Addrs("192.168.0.1", "93.184.216.34"), call.PrivateAddress},
		{"a bad one in the other family", fakedns.Addrs("93.184.216.34", "fd00:ec2::254"), call.Metadata},
		{"17", fakedns.Addrs(many(17)...), call.TooManyAddresses},
		{"200", fakedns.Addrs(many(200)...), call.TooManyAddresses},
		{"none", fakedns.Answer{}, call.DNS},
		{"no such name", fakedns.Answer{Code: dnsmessage.RCodeNameError}, call.DNS},
		{"a name server that fails", fakedns.Answer{Code: dnsmessage.RCodeServerFailure}, call.DNS},
	} {
		t.Run(row.name, func(t *testing.T) {
			dns.Set(host, row.answer)
			s := k.set(t, hostile.Options{Host: host}, hostile.Setup{NoLoopback: true, Lookup: egress.NewLookup(dns.Dial)})
			s.both(nothing(row.reason))
			if got := s.up.Connections(); got != 0 {
				t.Errorf("the server saw %d connections, want 0", got)
			}
		})
	}
}

func unconnected(t *testing.T, k *stage) {
	for name, listen := range map[string]func(*testing.T) int{"refused": closedPort, "no reply": deafPort} {
		t.Run(name, func(t *testing.T) {
			keys := hostile.Keys{
				"endpoint":           "https://up.mcp.localhost:" + strconv.Itoa(listen(t)) + "/mcp",
				"startup_timeout_ms": 500, "backoff_ms": 1,
			}
			s := k.set(t, hostile.Options{}, hostile.Setup{Server: keys})
			for _, plain := range []bool{false, true} {
				reply := s.ask(hostile.Ask{Plain: plain}, nothing(call.Connect))
				if most := 10 * time.Second; reply.Record.DurationMS > float64(most.Milliseconds()) {
					t.Errorf("it took %.0f ms, want about 500", reply.Record.DurationMS)
				}
			}
		})
	}
	t.Run("gone since the last call", func(t *testing.T) {
		for _, era := range hostile.Eras() {
			s := k.warm(t, era, hostile.Setup{})
			s = s.again(hostile.Keys{"endpoint": s.up.URL(), "backoff_ms": 1})
			s.up.HangUp()
			s.ask(hostile.Ask{}, want{})
		}
	})
}

// closedPort is a port where nobody listens.
func closedPort(t *testing.T) int {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port
}

// deafPort is a port whose queue is full: the kernel drops what asks for it.
func deafPort(t *testing.T) int {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	raw, err := l.(*net.TCPListener).SyscallConn()
	if err != nil {
		t.Fatal(err)
	}
	var shorter error
	if err := raw.Control(func(fd uintptr) { shorter = syscall.Listen(int(fd), 0) }); err != nil || shorter != nil {
		t.Fatal(err, shorter)
	}
	const most = 16 // more than any kernel queues beyond what it was told
	for range most {
		ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
		conn, err := new(net.Dialer).DialContext(ctx, "tcp", l.Addr().String())
		cancel()
		if err != nil {
			return l.Addr().(*net.TCPAddr).Port
		}
		t.Cleanup(func() { conn.Close() })
	}
	t.Fatal("the queue of the listener does not fill")
	return 0
}

// recorder keeps what a client says, and answers nothing.
type recorder struct {
	mu   sync.Mutex
	text strings.Builder
}

func (r *recorder) listen(c *hostile.Conn) {
	var buf [4096]byte
	for {
		n, err := c.Read(buf[:])
		r.mu.Lock()
		r.text.Write(buf[:n])
		r.mu.Unlock()
		if err != nil {
			return
		}
	}
}

func (r *recorder) heard() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.text.String()
}

func handshakes(t *testing.T, k *stage) {
	kinds := map[string]hostile.TLS{
		"a protocol of its own": {Protocols: []string{"acme-tls/1"}},
		"TLS 1.1":               {Max: tls.VersionTLS11},
		"a client certificate":  {Clients: hostile.Roots(t)},
	}
	for _, kind := range hostile.BadCertificates() {
		kinds[string(kind)] = hostile.TLS{Certificate: kind}
	}
	for name, kind := range kinds {
		t.Run(name, func(t *testing.T) {
			s := k.set(t, hostile.Options{TLS: kind}, hostile.Setup{})
			s.both(nothing(call.TLS))
			if got := s.up.Requests(); len(got) != 0 {
				t.Errorf("the server saw %v, want nothing", s.up.Sequence())
			}
		})
	}
	raw := map[string]string{
		"plain HTTP": "HTTP/1.1 400 Bad Request\r\n\r\n" + bait, "SSH": "SSH-2.0-" + bait + "\r\n", "HTTP/2 alone": "\x15\x03\x03\x00\x02\x02\x78",
		"an early end": "", "a reset": "", "silence": "",
	}
	for name, says := range raw {
		t.Run(name, func(t *testing.T) {
			heard := &recorder{}
			instead := func(c *hostile.Conn) {
				switch c.Send(says); name {
				case "a reset":
					_, _ = c.Read(make([]byte, 1)) // an earlier one would be met by connect
					c.Reset()
				case "silence":
					heard.listen(c)
				default:
					_ = c.Conn.(*net.TCPConn).CloseWrite()
					heard.listen(c)
				}
			}
			s := k.set(t, hostile.Options{TLS: hostile.TLS{Instead: instead}}, hostile.Setup{Server: hostile.Keys{"startup_timeout_ms": 500, "backoff_ms": 1}})
			s.both(nothing(call.TLS))
			if text := heard.heard(); strings.Contains(text, hostile.Token) || strings.Contains(text, "POST") {
				t.Errorf("the server heard more than a hello: %q", text)
			}
		})
	}
}

func circle(t *testing.T, k *stage) {
	t.Run("at once", func(t *testing.T) {
		s := k.set(t, hostile.Options{}, hostile.Setup{})
		for _, via := range []string{"1.1 mcprelay", "1.0 fred, 1.1 mcprelay", "1.1 MCPRelay (0.1)", "HTTP/1.1 mcprelay:443"} {
			for _, plain := range []bool{false, true} {
				w := nothing(call.Loop)
				w.undecided = true
				s.ask(hostile.Ask{Plain: plain, Header: http.Header{"Via": {via}}}, w)
			}
		}
		if got := s.up.Connections(); got != 0 {
			t.Errorf("the server saw %d connections, want 0", got)
		}
	})
	// A server that hands on what it gets, as a second relay or a proxy does.
	k.eras(t, hostile.Setup{}, func(t *testing.T, s *scene) {
		inner := make(chan hostile.Reply, 1)
		s.on(func(c *hostile.Conn, r hostile.Request) {
			inner <- s.relay.Ask(t.Context(), t, hostile.Ask{Header: http.Header{"Via": r.Header["Via"]}, Tool: r.Name, Arguments: r.Arguments})
			s.up.Honest(c, r)
		})
		outer := s.relay.Ask(t.Context(), t, hostile.Ask{})
		if failure := (<-inner).Error(); failure.Reason != call.Loop || failure.Effect != call.ImpactNone || failure.Code != call.CodeAddress {
			t.Errorf("the call that came back got %+v, want it refused", failure)
		}
		if got := outer.Result(); got != s.echoed(hostile.Ask{}) || s.up.Calls() != 2 {
			t.Errorf("the call that went out got %s, the server saw %v", got, s.up.Sequence())
		}
		records := s.relay.Records()
		last := records[len(records)-2]
		if last.Reason != call.Loop || last.Outcome != call.RefusedByAddress || last.Posts != 0 {
			t.Errorf("the record of the call that came back is %+v", last)
		}
	})
}

// Rows 22 and 23 need addresses that are public: a network of their own has
// them.
func TestRows22And23AtPublicAddresses(t *testing.T) {
	const public, silent = "93.184.216.34", "93.184.216.35"
	var o netns.Options
	for _, a := range []string{public, silent} {
		o.Addresses = append(o.Addresses, netip.PrefixFrom(netip.MustParseAddr(a), 32))
	}
	netns.Run(t, o, func(t *testing.T) {
		k := newStage(t)
		dns := fakedns.Start(t, nil)
		setup := hostile.Setup{NoLoopback: true, Lookup: egress.NewLookup(dns.Dial)}
		for _, era := range hostile.Eras() {
			t.Run("22 a name that changes its address during the call, "+string(era), func(t *testing.T) {
				rebinding := fakedns.Addrs(public)
				rebinding.Then = []fakedns.Answer{fakedns.Addrs("127.0.0.1")}
				dns.Set(host, rebinding)
				s := k.set(t, hostile.Options{Host: host, Era: era, Listen: public + ":0"}, setup)
				s.on(func(c *hostile.Conn, r hostile.Request) {
					if got, err := egress.NewLookup(dns.Dial)(t.Context(), host); err != nil || !got[0].IsLoopback() {
						t.Errorf("the name has %v by now (%v), want it changed", got, err)
					}
					s.up.Honest(c, r)
				})
				reply := s.ask(hostile.Ask{}, want{session: hostile.Fresh(era), opened: hostile.Opens(era)})
				if got := reply.Record.Address; got != public+":"+strconv.Itoa(s.up.Port()) {
					t.Errorf("the record has the address %s, want %s", got, public)
				}
			})
		}
		t.Run("23 no address of several accepts", func(t *testing.T) {
			dns.Set(host, fakedns.Addrs(public, silent))
			s := k.set(t, hostile.Options{}, at(setup, "https://"+host+":"+strconv.Itoa(closedPort(t))+"/mcp"))
			s.both(nothing(call.Connect))
		})
		t.Run("23 the last address of several accepts", func(t *testing.T) {
			dns.Set(host, fakedns.Addrs(silent, public))
			s := k.set(t, hostile.Options{Host: host, Listen: public + ":0"}, setup)
			s.ask(hostile.Ask{}, want{session: "none"})
		})
	})
}

// at is a setup with another endpoint.
func at(s hostile.Setup, endpoint string) hostile.Setup {
	s.Server = hostile.Keys{"endpoint": endpoint, "backoff_ms": 1}
	return s
}
