package egress_test

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"mcprelay/shared/call"
	"mcprelay/shared/egress"
	"mcprelay/shared/endpoint"
	"mcprelay/test/canary"
)

func TestNetworksOpenThePrivateAddressesInThemAndNothingElse(t *testing.T) {
	table := []struct {
		networks []netip.Prefix
		answers  []string
		ipv6     bool
		want     call.Reason
	}{
		{prefixes("10.0.0.0/8"), []string{"10.1.2.3"}, false, ""},
		{prefixes("10.0.0.0/8", "192.168.7.0/24"), []string{"10.1.2.3", "192.168.7.9"}, false, ""},
		{prefixes("100.64.0.0/10"), []string{"100.64.0.1"}, false, ""},
		{prefixes("fd12:3456::/32"), []string{"fd12:3456::1"}, true, ""},
		{prefixes("fd12:3456::/32"), []string{"fd12:3456::1"}, false, call.NoIPv4},
		{prefixes("10.0.0.0/8"), []string{"192.168.0.1"}, false, call.NotInNetworks},
		{prefixes("10.0.0.0/16"), []string{"10.1.0.0"}, false, call.NotInNetworks},
		{prefixes("10.0.0.0/8"), []string{"93.184.216.34"}, false, call.NotInNetworks},
		{prefixes("10.0.0.0/8"), []string{"10.1.2.3", "93.184.216.34"}, false, call.NotInNetworks},
		{prefixes("10.0.0.0/8"), []string{"10.1.2.3", "2606:4700::1"}, false, call.NotInNetworks},
		// A network that holds public addresses opens none of them.
		{prefixes("0.0.0.0/0"), []string{"93.184.216.34"}, false, call.NotInNetworks},
		{prefixes("2000::/3"), []string{"2606:4700::1"}, true, call.NotInNetworks},
		// What is refused whatever a registration says.
		{prefixes("0.0.0.0/0", "::/0"), []string{"127.0.0.1"}, false, call.Loopback},
		{prefixes("127.0.0.0/8"), []string{"127.0.0.1"}, false, call.Loopback},
		{prefixes("::/0"), []string{"::1"}, true, call.Loopback},
		{prefixes("169.254.0.0/16"), []string{"169.254.169.254"}, false, call.Metadata},
		{prefixes("169.254.0.0/16"), []string{"169.254.1.1"}, false, call.LinkLocal},
		{prefixes("100.64.0.0/10"), []string{"100.100.100.200"}, false, call.Metadata},
		{prefixes("fc00::/7"), []string{"fd00:ec2::254"}, true, call.Metadata},
		{prefixes("168.63.129.16/32"), []string{"168.63.129.16"}, false, call.Metadata},
		{prefixes("fe80::/10"), []string{"fe80::1"}, true, call.LinkLocal},
		{prefixes("0.0.0.0/0"), []string{"0.0.0.0"}, false, call.Unspecified},
		{prefixes("224.0.0.0/4"), []string{"224.0.0.1"}, false, call.Multicast},
		{prefixes("192.0.2.0/24"), []string{"192.0.2.1"}, false, call.SpecialUse},
		{prefixes("198.18.0.0/15"), []string{"198.18.0.1"}, false, call.SpecialUse},
		// A private address inside another one is no private address.
		{prefixes("10.0.0.0/8", "::/0"), []string{"::ffff:10.1.2.3"}, true, call.NotInNetworks},
		{prefixes("10.0.0.0/8", "::/0"), []string{"2002:a01:203::1"}, true, call.NotInNetworks},
		{prefixes("fd00::/8"), []string{"fd00::5efe:a01:203"}, true, call.NotInNetworks},
	}
	for _, row := range table {
		t.Run(fmt.Sprint(row.answers, " in ", row.networks), func(t *testing.T) {
			g := guard(t, egress.Config{Lookup: saying(row.answers...)})
			route, err := g.Resolve(t.Context(), at(t, "https://mcp.corp.internal/mcp"), egress.Rules{Networks: row.networks, IPv6: row.ipv6})
			if row.want != "" {
				refused(t, err, row.want)
				return
			}
			if err != nil || len(route.Addrs()) != len(row.answers) {
				t.Errorf("want a route to %v, got %v, %v", row.answers, route.Addrs(), err)
			}
		})
	}
}

func TestLoopbackIsOpenWhereItIsSpelledAndInjected(t *testing.T) {
	unasked := func(context.Context, string) ([]netip.Addr, error) {
		t.Error("a host spelled as loopback was looked up")
		return nil, errors.New("no")
	}
	open := guard(t, egress.Config{Loopback: true, Lookup: unasked})
	closed := guard(t, egress.Config{Lookup: unasked})
	for url, want := range map[string]string{
		"http://127.0.0.1:8080/mcp":   "127.0.0.1:8080",
		"https://127.8.9.1/mcp":       "127.8.9.1:443",
		"http://[::1]:8080/mcp":       "[::1]:8080",
		"http://localhost:8080/mcp":   "127.0.0.1:8080",
		"https://mcp.localhost/mcp":   "127.0.0.1:443",
		"http://a.b.localhost/mcp":    "127.0.0.1:80",
		"https://localhost:65535/mcp": "127.0.0.1:65535",
	} {
		route, err := open.Resolve(t.Context(), at(t, url), egress.Rules{})
		if err != nil || fmt.Sprint(route.Addrs()) != "["+want+"]" {
			t.Errorf("%s: want %s, got %v, %v", url, want, route.Addrs(), err)
		}
		_, err = closed.Resolve(t.Context(), at(t, url), egress.Rules{})
		refused(t, err, call.Loopback)
		// A server that names networks is in them and nowhere else.
		_, err = open.Resolve(t.Context(), at(t, url), egress.Rules{Networks: prefixes("127.0.0.0/8", "::1/128")})
		refused(t, err, call.Loopback)
	}
}

func TestANameThatResolvesToLoopbackIsRefusedWhateverIsInjected(t *testing.T) {
	c := canary.Listen(t, "127.0.0.1:0")
	for _, answer := range []string{"127.0.0.1", "::1", "::ffff:127.0.0.1", "0.0.0.0", "::"} {
		g := guard(t, egress.Config{Loopback: true, Lookup: saying("93.184.216.34", answer)})
		_, err := g.Resolve(t.Context(), at(t, fmt.Sprintf("https://mcp.example.com:%d/mcp", c.Port())), egress.Rules{})
		if err == nil {
			t.Errorf("%s: want it refused", answer)
		}
	}
	if hits := c.Hits(); hits != 0 {
		t.Errorf("want no connection to the canary, got %d", hits)
	}
}

func TestOwnHostsAreALoop(t *testing.T) {
	own := []string{"relay.example.com", "API.example.com:8443", "93.184.216.34:443", "203.0.113.7", "127.0.0.1:8080", "[::1]:8080", ""}
	for _, row := range []struct {
		url, answer string
		loop        bool
	}{
		{"https://relay.example.com/v1/mcp", "8.8.8.8", true},
		{"https://relay.example.com:8443/v1/mcp", "8.8.8.8", true},
		{"https://api.example.com:8443/v1/mcp", "8.8.8.8", true},
		{"https://api.example.com/v1/mcp", "8.8.8.8", false},
		{"https://other.example.com/v1/mcp", "8.8.8.8", false},
		{"https://relay.example.com.example.org/v1/mcp", "8.8.8.8", false},
		{"https://other.example.com/v1/mcp", "93.184.216.34", true},
		{"https://other.example.com:444/v1/mcp", "93.184.216.34", false},
		{"https://other.example.com:444/v1/mcp", "203.0.113.7", true},
		{"http://127.0.0.1:8080/v1/mcp", "", true},
		{"http://localhost:8080/v1/mcp", "", true},
		{"http://[::1]:8080/v1/mcp", "", true},
		{"http://localhost:8081/v1/mcp", "", false},
	} {
		g := guard(t, egress.Config{Loopback: true, OwnHosts: own, Lookup: saying(row.answer)})
		_, err := g.Resolve(t.Context(), at(t, row.url), egress.Rules{})
		if row.loop {
			refused(t, err, call.Loop)
		} else if err != nil {
			t.Errorf("%s at %s: want a route, got %v", row.url, row.answer, err)
		}
	}
}

func TestAnswersAreKeptHalfAMinuteByTheWallClock(t *testing.T) {
	for name, pass := range map[string]func(c *clock, d time.Duration){
		"running": (*clock).pass,
		"frozen":  func(c *clock, d time.Duration) { c.freeze(t, d) },
	} {
		var lookups atomic.Int64
		clock := newClock()
		g := guard(t, egress.Config{Now: clock.Now, Lookup: func(ctx context.Context, host string) ([]netip.Addr, error) {
			lookups.Add(1)
			return saying("93.184.216.34")(ctx, host)
		}})
		for _, step := range []struct {
			wait time.Duration
			want int64
		}{{0, 1}, {0, 1}, {29 * time.Second, 1}, {time.Second, 2}, {29 * time.Second, 2}, {-time.Hour, 3}} {
			pass(clock, step.wait)
			if _, err := g.Resolve(t.Context(), at(t, "https://mcp.example.com/mcp"), egress.Rules{}); err != nil {
				t.Fatal(err)
			}
			if got := lookups.Load(); got != step.want {
				t.Errorf("%s, after %s more: want %d lookups, got %d", name, step.wait, step.want, got)
			}
		}
	}
}

func TestRefusedAnswersAndFailuresAreNotKept(t *testing.T) {
	answers := [][]string{nil, {"10.0.0.1"}, tooMany(), {"93.184.216.34"}}
	turn := 0
	g := guard(t, egress.Config{Lookup: func(ctx context.Context, host string) ([]netip.Addr, error) {
		turn++
		if answers[turn-1] == nil {
			return nil, errors.New("down")
		}
		return saying(answers[turn-1]...)(ctx, host)
	}})
	u := at(t, "https://mcp.example.com/mcp")
	for _, want := range []call.Reason{call.DNS, call.PrivateAddress, call.TooManyAddresses} {
		_, err := g.Resolve(t.Context(), u, egress.Rules{})
		refused(t, err, want)
	}
	if _, err := g.Resolve(t.Context(), u, egress.Rules{}); err != nil {
		t.Errorf("want the corrected answer to be seen at once, got %v", err)
	}
}

func tooMany() []string {
	var list []string
	for i := range 17 {
		list = append(list, fmt.Sprintf("93.184.216.%d", i))
	}
	return list
}

func TestAKeptAnswerIsCheckedAgainstTheRulesOfTheMoment(t *testing.T) {
	g := guard(t, egress.Config{Lookup: saying("10.1.2.3")})
	u := at(t, "https://mcp.example.com/mcp")
	if _, err := g.Resolve(t.Context(), u, egress.Rules{Networks: prefixes("10.0.0.0/8")}); err != nil {
		t.Fatal(err)
	}
	_, err := g.Resolve(t.Context(), u, egress.Rules{})
	refused(t, err, call.PrivateAddress)
}

func TestKeptAnswersAreBounded(t *testing.T) {
	clock := newClock()
	g := guard(t, egress.Config{Lookup: saying("93.184.216.34"), Now: clock.Now})
	resolve := func(i int) {
		t.Helper()
		if _, err := g.Resolve(t.Context(), at(t, fmt.Sprintf("https://h%d.example.com/mcp", i)), egress.Rules{}); err != nil {
			t.Fatal(err)
		}
	}
	for i := range egress.AnswersMax + 5 {
		resolve(i)
		if i == egress.AnswersMax-10 {
			clock.pass(29 * time.Second)
		}
	}
	if kept := g.KeptAnswers(); kept > egress.AnswersMax || kept == 0 {
		t.Errorf("want 1 to %d hosts kept, got %d", egress.AnswersMax, kept)
	}
}

func TestALookupMayTakeTwoSeconds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := egress.New(egress.Config{Lookup: func(ctx context.Context, _ string) ([]netip.Addr, error) {
			<-ctx.Done()
			return nil, ctx.Err()
		}})
		began := time.Now()
		_, err := g.Resolve(t.Context(), at(t, "https://mcp.example.com/mcp"), egress.Rules{})
		refused(t, err, call.DNS)
		if took := time.Since(began); took != 2*time.Second {
			t.Errorf("want 2s, got %s", took)
		}
	})
}

func TestACallerThatLeavesIsNotAFailedLookup(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := egress.New(egress.Config{Lookup: func(ctx context.Context, _ string) ([]netip.Addr, error) {
			<-ctx.Done()
			return nil, ctx.Err()
		}})
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(time.Second, cancel)
		_, err := g.Resolve(ctx, at(t, "https://mcp.example.com/mcp"), egress.Rules{})
		if refusal := refused(t, err, call.Cancelled); refusal.MayHaveRun() != call.ImpactNone {
			t.Errorf("want a call that did not run, got %s", refusal.MayHaveRun())
		}
	})
}

func TestCallsAtTheSameTimeShareALookup(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var lookups atomic.Int64
		g := egress.New(egress.Config{Lookup: func(ctx context.Context, host string) ([]netip.Addr, error) {
			lookups.Add(1)
			time.Sleep(time.Second) // arch:allow sleeps: the bubble's clock moves it
			return saying("93.184.216.34")(ctx, host)
		}})
		u := at(t, "https://mcp.example.com/mcp")
		var all sync.WaitGroup
		for range 20 {
			all.Go(func() {
				if _, err := g.Resolve(t.Context(), u, egress.Rules{}); err != nil {
					t.Error(err)
				}
			})
		}
		all.Wait()
		if got := lookups.Load(); got != 1 {
			t.Errorf("want 1 lookup, got %d", got)
		}
	})
}

// The one who leads a lookup may leave; those who wait for it must not pay.
func TestALookupWhoseLeaderLeavesIsTakenOver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var lookups atomic.Int64
		g := egress.New(egress.Config{Lookup: func(ctx context.Context, host string) ([]netip.Addr, error) {
			if lookups.Add(1) == 1 {
				<-ctx.Done()
				return nil, ctx.Err()
			}
			return saying("93.184.216.34")(ctx, host)
		}})
		u := at(t, "https://mcp.example.com/mcp")
		leader, leave := context.WithCancel(t.Context())
		var all sync.WaitGroup
		all.Go(func() {
			if _, err := g.Resolve(leader, u, egress.Rules{}); !errors.Is(err, context.Canceled) {
				t.Errorf("want the leader to be cancelled, got %v", err)
			}
		})
		synctest.Wait()
		all.Go(func() {
			if _, err := g.Resolve(t.Context(), u, egress.Rules{}); err != nil {
				t.Errorf("want the follower to look up itself, got %v", err)
			}
		})
		synctest.Wait()
		leave()
		all.Wait()
		if got := lookups.Load(); got != 2 {
			t.Errorf("want 2 lookups, got %d", got)
		}
	})
}

func TestTheZeroValuesAreRefused(t *testing.T) {
	g := guard(t, egress.Config{Lookup: saying("93.184.216.34")})
	_, err := g.Resolve(t.Context(), endpoint.URL{}, egress.Rules{})
	refused(t, err, call.Internal)
	_, err = g.Conn(t.Context(), egress.Route{})
	refused(t, err, call.Internal)
}

func TestARouteCannotBeChanged(t *testing.T) {
	g := guard(t, egress.Config{Lookup: saying("93.184.216.34")})
	u := at(t, "https://mcp.example.com/mcp")
	route, err := g.Resolve(t.Context(), u, egress.Rules{})
	if err != nil {
		t.Fatal(err)
	}
	route.Addrs()[0] = netip.MustParseAddrPort("127.0.0.1:80")
	if got := fmt.Sprint(route.Addrs()); got != "[93.184.216.34:443]" {
		t.Errorf("want the checked address, got %s", got)
	}
	if route.Endpoint() != u {
		t.Errorf("want the endpoint that was resolved, got %v", route.Endpoint())
	}
}
