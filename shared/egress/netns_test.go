package egress_test

import (
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"mcprelay/shared/call"
	"mcprelay/shared/egress"
	"mcprelay/test/canary"
	"mcprelay/test/fakedns"
	"mcprelay/test/netns"
)

// These tests run the guard as production does: the system's resolver and
// authorities, real names, public addresses. The machine they do it on is a
// namespace without a way out.

const public, second = "93.184.216.34", "93.184.216.35"

func TestAPublicServerIsReachedWhateverTheEnvironmentSays(t *testing.T) {
	o := netns.Options{Addresses: prefixes(public + "/32")}
	netns.Run(t, o, func(t *testing.T) {
		a := newAuthority(t)
		roots := filepath.Join(t.TempDir(), "roots.pem")
		if err := os.WriteFile(roots, a.pem(), 0o600); err != nil {
			t.Fatal(err)
		}
		proxy := canary.Listen(t, "127.0.0.1:0")
		t.Setenv("SSL_CERT_FILE", roots)
		t.Setenv("SSL_CERT_DIR", t.TempDir())
		t.Setenv("SSLKEYLOGFILE", filepath.Join(t.TempDir(), "keys"))
		t.Setenv("GODEBUG", "netdns=cgo,http2client=1,tls10server=1,multipathtcp=1")
		for _, name := range []string{"HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "https_proxy", "all_proxy"} {
			t.Setenv(name, "http://"+proxy.Addr().String())
		}
		dns := fakedns.StartAt(t, "127.0.0.1:53", to(fakedns.Addrs(second, public)))
		p := listeningAt(t, public+":443", a.serving(t, []string{host}, nil), nil)
		g := guard(t, egress.Config{})
		conn := connect(t, g, "https://"+host+"/mcp")
		if conn.Addr() != netip.MustParseAddrPort(public+":443") {
			t.Errorf("want the address that answers, got %s", conn.Addr())
		}
		exchange(t, conn, p.next())
		again := connect(t, g, "https://"+host+"/mcp")
		if !again.Reused() {
			t.Error("want the connection kept")
		}
		again.Close()
		if dns.Count("A", host) != 1 || dns.Count("AAAA", host) != 1 || proxy.Hits() != 0 || p.attempts() != 1 {
			t.Errorf("want one question a family and one connection, got %v, proxy %d, server %d", dns.Asked(), proxy.Hits(), p.attempts())
		}
		if _, err := os.Stat(os.Getenv("SSLKEYLOGFILE")); err == nil {
			t.Error("want no key log")
		}
	})
}

func TestARegisteredNetworkIsReachedOverBothFamilies(t *testing.T) {
	o := netns.Options{Addresses: prefixes("10.77.0.2/24", "fd77::2/64")}
	netns.Run(t, o, func(t *testing.T) {
		fakedns.StartAt(t, "127.0.0.1:53", map[string]fakedns.Answer{
			"four.corp.internal": fakedns.Addrs("10.77.0.2"),
			"six.corp.internal":  fakedns.Addrs("fd77::2"),
		})
		a := newAuthority(t)
		config := a.serving(t, []string{"four.corp.internal", "six.corp.internal"}, nil)
		four := listeningAt(t, "10.77.0.2:8443", config, nil)
		six := listeningAt(t, "[fd77::2]:8443", config, nil)
		g := guard(t, egress.Config{Roots: a.pool()})
		rules := egress.Rules{Networks: prefixes("10.77.0.0/16", "fd77::/16"), IPv6: true}
		for name, p := range map[string]*peer{"four.corp.internal": four, "six.corp.internal": six} {
			u := at(t, "https://"+name+":8443/mcp")
			_, err := g.Resolve(t.Context(), u, egress.Rules{IPv6: true})
			refused(t, err, call.PrivateAddress)
			r, err := g.Resolve(t.Context(), u, rules)
			if err != nil {
				t.Fatal(err)
			}
			conn, err := g.Conn(t.Context(), r)
			if err != nil {
				t.Fatal(err)
			}
			exchange(t, conn, p.next())
			// Other networks that hold the address are other rules.
			wider, err := open(t, g, u.String(), egress.Rules{Networks: prefixes("10.0.0.0/8", "fd00::/8"), IPv6: true})
			if err != nil || wider.Reused() {
				t.Errorf("want a connection of its own for other networks, got %v, %v", wider, err)
			}
			p.next()
			wider.Close()
			// Without the networks the kept connection is nobody's.
			_, err = g.Conn(t.Context(), egress.Unchecked(u, egress.Rules{IPv6: true}, r.Addrs()[0]))
			refused(t, err, call.PrivateAddress)
		}
	})
}

func TestSearchListsAreLeftOut(t *testing.T) {
	o := netns.Options{ResolvConf: "search evil.test\noptions ndots:5\nnameserver 127.0.0.1\n"}
	netns.Run(t, o, func(t *testing.T) {
		dns := fakedns.StartAt(t, "127.0.0.1:53", map[string]fakedns.Answer{host + ".evil.test": fakedns.Addrs(public)})
		g := guard(t, egress.Config{})
		_, err := g.Resolve(t.Context(), at(t, "https://"+host+"/mcp"), egress.Rules{})
		refused(t, err, call.DNS)
		for _, q := range dns.Asked() {
			if strings.Contains(q, "evil") {
				t.Errorf("want no question with the suffix, got %q", q)
			}
		}
	})
}

func TestTheHostsFileIsAnsweredFromAndChecked(t *testing.T) {
	o := netns.Options{
		Addresses: prefixes(public + "/32"),
		Hosts: "127.0.0.1 loop.example.com\n::1 loop6.example.com\n169.254.169.254 meta.example.com\n" +
			public + " good.example.com\n::ffff:127.0.0.1 mapped.example.com\n" +
			public + " both.example.com\n127.0.0.1 both.example.com\n" +
			"2001:4860:4860::8888%lo zoned.example.com\n10.77.0.2 corp.example.com\n",
	}
	netns.Run(t, o, func(t *testing.T) {
		c := canary.Listen(t, "127.0.0.1:443")
		dns := fakedns.StartAt(t, "127.0.0.1:53", nil)
		a := newAuthority(t)
		p := listeningAt(t, public+":443", a.serving(t, []string{"good.example.com"}, nil), nil)
		g := guard(t, egress.Config{Loopback: true, Roots: a.pool()})
		for name, want := range map[string]call.Reason{
			"loop": call.Loopback, "loop6": call.Loopback, "meta": call.Metadata, "mapped": call.Loopback,
			"both": call.Loopback, "zoned": call.SpecialUse, "corp": call.PrivateAddress,
		} {
			_, err := g.Resolve(t.Context(), at(t, "https://"+name+".example.com/mcp"), egress.Rules{IPv6: true})
			refused(t, err, want)
		}
		connect(t, g, "https://good.example.com/mcp").Close()
		p.next()
		corp, err := g.Resolve(t.Context(), at(t, "https://corp.example.com/mcp"), egress.Rules{Networks: prefixes("10.77.0.0/16")})
		if err != nil || fmt.Sprint(corp.Addrs()) != "[10.77.0.2:443]" {
			t.Errorf("want the private address of the file, got %v, %v", corp.Addrs(), err)
		}
		if c.Hits() != 0 || len(dns.Asked()) != 0 {
			t.Errorf("want no connection to loopback and no question, got %d, %v", c.Hits(), dns.Asked())
		}
	})
}

func TestANameServerThatIsAwayRefuses(t *testing.T) {
	netns.Run(t, netns.Options{}, func(t *testing.T) {
		g := guard(t, egress.Config{})
		_, err := g.Resolve(t.Context(), at(t, "https://"+host+"/mcp"), egress.Rules{})
		if refusal := refused(t, err, call.DNS); strings.Contains(refusal.Detail, "127.0.0.1") {
			t.Errorf("want a detail without the name server, got %q", refusal.Detail)
		}
	})
}

func TestADialThatNothingAnswersNamesTheAddress(t *testing.T) {
	netns.Run(t, netns.Options{}, func(t *testing.T) {
		fakedns.StartAt(t, "127.0.0.1:53", to(fakedns.Addrs(public)))
		g := guard(t, egress.Config{})
		_, err := g.Conn(t.Context(), route(t, g, "https://"+host+"/mcp"))
		refusal := refused(t, err, call.Connect)
		if want := host + " at " + public + ":443: network is unreachable"; refusal.Detail != want {
			t.Errorf("want %q, got %q", want, refusal.Detail)
		}
	})
}
