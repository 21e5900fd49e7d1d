package egress_test

import (
	"fmt"
	"net/netip"
	"testing"

	"mcprelay/shared/call"
	"mcprelay/shared/egress"
	"mcprelay/test/canary"
	"mcprelay/test/fakedns"
	"mcprelay/test/netns"
)

const public6, second6 = "2606:2800:220:1::34", "2606:2800:220:1::35"

func TestIPv6IsDialledAfterIPv4AndOnlyWhereTheRegistrationSaysSo(t *testing.T) {
	for _, row := range []struct {
		answers []string
		ipv6    bool
		want    string
	}{
		{[]string{public6, public}, false, "[93.184.216.34:443]"},
		{[]string{public6, public, second6, second}, true,
			"[93.184.216.34:443 93.184.216.35:443 [2606:2800:220:1::34]:443 [2606:2800:220:1::35]:443]"},
		{[]string{second6, public6}, true, "[[2606:2800:220:1::35]:443 [2606:2800:220:1::34]:443]"},
		{[]string{second, public}, true, "[93.184.216.35:443 93.184.216.34:443]"},
	} {
		g := guard(t, egress.Config{Lookup: saying(row.answers...)})
		r, err := g.Resolve(t.Context(), at(t, "https://"+host+"/mcp"), egress.Rules{IPv6: row.ipv6})
		if got := fmt.Sprint(r.Addrs()); err != nil || got != row.want {
			t.Errorf("%v with IPv6 %t: want %s, got %s, %v", row.answers, row.ipv6, row.want, got, err)
		}
	}
}

// Both families are checked whether or not they are dialled.
func TestABadAddressOfEitherFamilyRefusesWhicheverIsDialled(t *testing.T) {
	for _, bad := range []string{"::1", "fd00:ec2::254", "fe80::1", "64:ff9b::a9fe:a9fe", "2606:4700::5efe:7f00:1", "127.0.0.1"} {
		want, _ := egress.Classify(netip.MustParseAddr(bad))
		for _, answers := range [][]string{{public, bad}, {bad, public}, {public6, bad}, {bad, public6}, {public, public6, bad}} {
			for _, ipv6 := range []bool{false, true} {
				g := guard(t, egress.Config{Lookup: saying(answers...)})
				_, err := g.Resolve(t.Context(), at(t, "https://"+host+"/mcp"), egress.Rules{IPv6: ipv6})
				refused(t, err, want)
			}
		}
	}
}

func TestTheSocketDialsNoIPv6ForARegistrationWithoutIt(t *testing.T) {
	g := guard(t, egress.Config{})
	u := at(t, "https://"+host+"/mcp")
	_, err := g.Conn(t.Context(), egress.Unchecked(u, egress.Rules{}, netip.MustParseAddrPort("["+public6+"]:443")))
	refused(t, err, call.Internal)
}

// The kernel of the namespace has both families, and the name server too.
func TestIPv6IsReachedWhereIPv4IsNotThereOrDoesNotAnswer(t *testing.T) {
	o := netns.Options{Addresses: prefixes(public+"/32", second+"/32", public6+"/128")}
	netns.Run(t, o, func(t *testing.T) {
		dns := fakedns.StartAt(t, "127.0.0.1:53", map[string]fakedns.Answer{
			"both.example.com": fakedns.Addrs(public6, public),
			"dead.example.com": fakedns.Addrs(public6, second),
			"six.example.com":  fakedns.Addrs(public6),
			"bad.example.com":  fakedns.Addrs(public6, "::1"),
		})
		a := newAuthority(t)
		config := a.serving(t, []string{"both.example.com", "dead.example.com", "six.example.com"}, nil)
		four := listeningAt(t, public+":443", config, nil)
		six := listeningAt(t, "["+public6+"]:443", config, nil)
		inside := canary.Listen(t, "[::1]:443")
		g := guard(t, egress.Config{Roots: a.pool()})
		for _, row := range []struct {
			name string
			ipv6 bool
			p    *peer // nil: refused
			want call.Reason
		}{
			{"both", false, four, ""},
			{"both", true, four, ""},
			{"dead", false, nil, call.Connect},
			{"dead", true, six, ""},
			{"six", false, nil, call.NoIPv4},
			{"six", true, six, ""},
			{"bad", false, nil, call.Loopback},
			{"bad", true, nil, call.Loopback},
		} {
			conn, err := open(t, g, "https://"+row.name+".example.com/mcp", egress.Rules{IPv6: row.ipv6})
			if row.p == nil {
				refused(t, err, row.want)
				continue
			}
			if err != nil {
				t.Fatalf("%s with IPv6 %t: %v", row.name, row.ipv6, err)
			}
			server := row.p.next()
			if want := netip.MustParseAddrPort(server.LocalAddr().String()); conn.Addr() != want {
				t.Errorf("%s with IPv6 %t: want %s, got %s", row.name, row.ipv6, want, conn.Addr())
			}
			converse(t, conn, server)
			conn.Close()
		}
		for _, name := range []string{"both", "dead", "six", "bad"} {
			if v4, v6 := dns.Count("A", name+".example.com"), dns.Count("AAAA", name+".example.com"); v4 == 0 || v4 != v6 {
				t.Errorf("%s: want both families asked for alike, got %d and %d", name, v4, v6)
			}
		}
		if hits := inside.Hits(); hits != 0 {
			t.Errorf("want no connection to loopback, got %d", hits)
		}
	})
}
