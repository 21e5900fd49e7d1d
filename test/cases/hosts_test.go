package cases_test

import (
	"context"
	"fmt"
	"net/http"
	"net/netip"
	"sync/atomic"
	"testing"
	"time"

	"mcprelay/shared/call"
	"mcprelay/test/canary"
	"mcprelay/test/hostile"
	"mcprelay/test/netns"
)

// Section I, second part: names, addresses and sockets.
func hosts() []row {
	return []row{
		{"I87", "Host and SNI are the configured name, and nothing of the agent's address goes upstream", configuredName},
		{"I88", "a connection that died while idle is replaced, and nothing is sent twice", deadConnections},
		{"I89", "one bad address refuses them all, and each call is checked anew", badAddresses},
	}
}

func configuredName(t *testing.T, k *stage) {
	for _, host := range []string{"up.mcp.localhost", "localhost", "a.b.c.localhost", "127.0.0.1", "127.0.0.2"} {
		for _, era := range hostile.Eras() {
			listen := "127.0.0.1:0"
			if host == "127.0.0.2" {
				listen = "127.0.0.2:0"
			}
			s := k.set(t, hostile.Options{Era: era, Host: host, Listen: listen}, hostile.Setup{})
			strict := func(c *hostile.Conn, r hostile.Request) {
				if r.Host != s.up.Authority() || r.Header.Get("Origin") != "" {
					c.Reply(421, "text/plain", "Misdirected Request")
					return
				}
				s.up.Honest(c, r)
			}
			for _, method := range []string{"server/discover", "initialize", "notifications/initialized", "tools/list", "tools/call"} {
				s.up.On(method, strict)
			}
			s.ask(hostile.Ask{Header: http.Header{
				"Origin": {s.relay.URL}, "X-Forwarded-Host": {"evil.example"}, "X-Forwarded-For": {"10.0.0.1"}, "X-Forwarded-Proto": {"http"},
				"Forwarded": {"host=evil.example"}, "X-Real-Ip": {"10.0.0.1"}, "X-Original-Host": {"evil.example"},
			}}, want{opened: hostile.Opens(era), session: hostile.Fresh(era)})
			sni := host
			if _, err := netip.ParseAddr(host); err == nil {
				sni = "" // an address is no name (RFC 6066 section 3)
			}
			for _, r := range s.up.Requests() {
				if r.ServerName != sni || contains(r.Head, "evil") || contains(r.Head, "10.0.0.1") {
					t.Errorf("%s: SNI %q, want %q; head\n%s", r.Key(), r.ServerName, sni, r.Head)
				}
			}
		}
	}
	k.eras(t, hostile.Setup{}, func(t *testing.T, s *scene) {
		s.up.On("tools/call", hostile.Status(421, "text/plain", "Misdirected Request"))
		s.ask(hostile.Ask{}, want{reason: call.UpstreamStatus, effect: call.ImpactUnknown, status: 421})
		s.up.On("tools/call", hostile.Status(403, "text/plain", "Invalid Host header"))
		s.ask(hostile.Ask{}, want{reason: call.UpstreamUnauthorized, effect: call.ImpactNone, status: 403})
	})
}

func deadConnections(t *testing.T, k *stage) {
	for _, era := range hostile.Eras() {
		var late atomic.Int64
		clock := func() time.Time { return time.Now().Add(time.Duration(late.Load())) }
		s := k.warm(t, era, hostile.Setup{Now: clock})
		s.ask(hostile.Ask{}, want{session: hostile.Held(era)})
		connections := s.up.Connections()
		for name, kill := range map[string]func(){
			"closed by the server": s.up.HangUp,
			"frozen for a minute":  func() { late.Add(int64(time.Minute)) },
			"frozen for an hour":   func() { late.Add(int64(time.Hour)) },
			"frozen, then closed":  func() { late.Add(int64(time.Minute)); s.up.HangUp() },
		} {
			s.under(string(era)+" "+name, func(s *scene) {
				s.ask(hostile.Ask{Tool: "change"}, want{session: hostile.Held(era)})
				before := s.up.Connections()
				kill()
				s.ask(hostile.Ask{Tool: "change"}, want{session: hostile.Held(era)})
				s.counted("connections", s.up.Connections()-before, 1)
			})
		}
		s.under(string(era)+" spoken to before it is asked", func(s *scene) {
			s.up.On("tools/call", func(c *hostile.Conn, r hostile.Request) {
				body := r.Fill(response)
				c.Send(fmt.Sprintf("HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s", len(body), body) +
					"HTTP/1.1 408 Request Timeout\r\nContent-Length: 0\r\n\r\n")
			})
			for range 3 {
				s.ask(hostile.Ask{Tool: "change"}, want{session: hostile.Held(era), status: 200})
			}
		})
		s.under(string(era)+" dies under the request", func(s *scene) {
			s.up.On("tools/call", nil)
			s.ask(hostile.Ask{Tool: "change"}, want{session: hostile.Held(era)})
			s.up.On("tools/call", hostile.Reset)
			s.ask(hostile.Ask{Tool: "change"}, want{reason: call.ResetBeforeHead, effect: call.ImpactUnknown})
		})
		if connections != 1 {
			t.Errorf("%s: %d connections for calls in a row, want 1", era, connections)
		}
	}
}

// answering is a lookup that gives the same addresses each time.
func answering(texts ...string) func(context.Context, string) ([]netip.Addr, error) {
	return func(context.Context, string) ([]netip.Addr, error) {
		var addrs []netip.Addr
		for _, text := range texts {
			addrs = append(addrs, netip.MustParseAddr(text))
		}
		return addrs, nil
	}
}

func badAddresses(t *testing.T, k *stage) {
	const public = "93.184.216.34"
	many := []string{}
	for i := range 17 {
		many = append(many, fmt.Sprintf("93.184.216.%d", i+1))
	}
	for _, v := range []struct {
		reason call.Reason
		addrs  []string
	}{
		{call.Metadata, []string{public, "::ffff:169.254.169.254"}},
		{call.Metadata, []string{"64:ff9b::a9fe:a9fe", public}},
		{call.Metadata, []string{public, "2002:a9fe:a9fe::1"}},
		{call.Metadata, []string{"169.254.169.254"}},
		{call.Metadata, []string{public, "fd00:ec2::254"}},
		{call.PrivateAddress, []string{public, "100.64.0.1"}},
		{call.PrivateAddress, []string{"10.0.0.1", public}},
		{call.Unspecified, []string{public, "0.0.0.0"}},
		{call.Loopback, []string{"127.0.0.1"}},
		{call.Loopback, []string{public, "::1"}},
		{call.Loopback, []string{public, "::ffff:127.0.0.1"}},
		{call.NoIPv4, []string{"2606:4700:4700::1111"}},
		{call.TooManyAddresses, many},
	} {
		t.Run(fmt.Sprintf("%.60s", fmt.Sprint(v.addrs)), func(t *testing.T) {
			up := hostile.Start(t, hostile.Options{Host: "mcp.example.com"})
			s := k.before(t, up, hostile.Setup{Lookup: answering(v.addrs...)})
			s.t = t
			s.ask(hostile.Ask{}, want{reason: v.reason, effect: call.ImpactNone, calls: none})
			if got := up.Connections(); got != 0 {
				t.Errorf("%d connections, want none", got)
			}
		})
	}
	t.Run("rebinding", func(t *testing.T) { rebinding(t, k) })
}

// rebinding points a name at a public address first and at a private one when
// it is asked again. Both have somebody who listens.
func rebinding(t *testing.T, k *stage) {
	o := netns.Options{Addresses: []netip.Prefix{netip.MustParsePrefix("93.184.216.34/32"), netip.MustParsePrefix("10.77.0.2/24")}}
	netns.Run(t, o, func(t *testing.T) {
		inside := canary.Listen(t, "10.77.0.2:443")
		up := hostile.Start(t, hostile.Options{Host: "mcp.example.com", Listen: "93.184.216.34:443"})
		var late, asked atomic.Int64
		s := k.before(t, up, hostile.Setup{
			NoLoopback: true,
			Now:        func() time.Time { return time.Now().Add(time.Duration(late.Load())) },
			Lookup: func(ctx context.Context, host string) ([]netip.Addr, error) {
				if asked.Add(1) == 1 {
					return answering("93.184.216.34")(ctx, host)
				}
				return answering("10.77.0.2")(ctx, host)
			},
		})
		reply := s.ask(hostile.Ask{}, want{})
		if reply.Record.Address != "93.184.216.34:443" || asked.Load() != 1 {
			t.Errorf("went to %s after %d lookups", reply.Record.Address, asked.Load())
		}
		s.ask(hostile.Ask{}, want{}) // the same answer holds for 30 s
		late.Add(int64(31 * time.Second))
		s.ask(hostile.Ask{}, want{reason: call.PrivateAddress, effect: call.ImpactNone, calls: none})
		if asked.Load() != 2 || inside.Hits() != 0 {
			t.Errorf("%d lookups, %d connections to the private address", asked.Load(), inside.Hits())
		}
	})
}
