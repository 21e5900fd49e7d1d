package egress_test

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/net/dns/dnsmessage"

	"mcprelay/shared/call"
	"mcprelay/shared/egress"
	"mcprelay/test/fakedns"
)

// many gives n public addresses.
func many(n int) fakedns.Answer {
	addrs := make([]netip.Addr, n)
	for i := range addrs {
		addrs[i] = netip.AddrFrom4([4]byte{93, 184, byte(i >> 8), byte(i)})
	}
	return fakedns.Answer{Addrs: addrs}
}

func TestResolveChecksEveryAnswerOfARealNameServer(t *testing.T) {
	const public, public6 = "93.184.216.34", "2606:2800:220:1::1"
	code := func(c dnsmessage.RCode) fakedns.Answer { return fakedns.Answer{Code: c} }
	faulty := func(f fakedns.Fault) fakedns.Answer {
		a := fakedns.Addrs(public)
		a.Fault = f
		return a
	}
	table := []struct {
		rule    string
		answers map[string]fakedns.Answer
		rules   egress.Rules
		want    call.Reason // "" for a route
		addrs   int         // of the route
	}{
		{rule: "a public address", answers: to(fakedns.Addrs(public)), addrs: 1},
		{rule: "loopback", answers: to(fakedns.Addrs("127.0.0.1")), want: call.Loopback},
		{rule: "instance metadata", answers: to(fakedns.Addrs("169.254.169.254")), want: call.Metadata},
		{rule: "private", answers: to(fakedns.Addrs("10.0.0.1")), want: call.PrivateAddress},
		{rule: "Alibaba metadata", answers: to(fakedns.Addrs("100.100.100.200")), want: call.Metadata},
		{rule: "Azure WireServer", answers: to(fakedns.Addrs("168.63.129.16")), want: call.Metadata},
		{rule: "Oracle metadata", answers: to(fakedns.Addrs("192.0.0.192")), want: call.Metadata},
		{rule: "the last of two is bad", answers: to(fakedns.Addrs(public, "127.0.0.1")), want: call.Loopback},
		{rule: "the first of two is bad", answers: to(fakedns.Addrs("127.0.0.1", public)), want: call.Loopback},
		{rule: "the last of sixteen is bad", answers: to(with(many(15), "10.1.2.3")), want: call.PrivateAddress},
		{rule: "IPv6 alone is not dialled", answers: to(fakedns.Addrs(public6)), want: call.NoIPv4},
		{rule: "IPv6 alone where it is allowed", answers: to(fakedns.Addrs(public6)), rules: egress.Rules{IPv6: true}, addrs: 1},
		{rule: "both families, one dialled", answers: to(fakedns.Addrs(public, public6)), addrs: 1},
		{rule: "both families dialled", answers: to(fakedns.Addrs(public, public6)), rules: egress.Rules{IPv6: true}, addrs: 2},
		{rule: "a bad AAAA beside a good A", answers: to(fakedns.Addrs(public, "::1")), want: call.Loopback},
		{rule: "a mapped AAAA", answers: to(fakedns.Addrs(public, "::ffff:127.0.0.1")), want: call.Loopback},
		{rule: "a mapped AAAA of a public address", answers: to(fakedns.Addrs(public, "::ffff:8.8.8.8")), want: call.SpecialUse},
		{rule: "a mapped AAAA of a public address alone", answers: to(fakedns.Addrs("::ffff:8.8.8.8")), want: call.SpecialUse},
		{rule: "sixteen addresses", answers: to(many(16)), addrs: 16},
		{rule: "seventeen addresses", answers: to(many(17)), want: call.TooManyAddresses},
		{rule: "two hundred addresses, over TCP", answers: to(many(200)), want: call.TooManyAddresses},
		{rule: "a thousand addresses", answers: to(many(1000)), want: call.TooManyAddresses},
		{rule: "sixteen and one of the other family", answers: to(with(many(16), public6)), want: call.TooManyAddresses},
		{rule: "two aliases to a public address", answers: map[string]fakedns.Answer{
			host: {CNAME: "a.example.net"}, "a.example.net": {CNAME: "b.example.net"}, "b.example.net": fakedns.Addrs(public)}, addrs: 1},
		{rule: "an alias to metadata", answers: map[string]fakedns.Answer{
			host: {CNAME: "metadata.google.internal"}, "metadata.google.internal": fakedns.Addrs("169.254.169.254")}, want: call.Metadata},
		{rule: "aliases in a circle", answers: map[string]fakedns.Answer{
			host: {CNAME: "a.example.net"}, "a.example.net": {CNAME: host}}, want: call.DNS},
		{rule: "an alias to nothing", answers: to(fakedns.Answer{CNAME: "gone.example.net"}), want: call.DNS},
		{rule: "no such name", want: call.DNS},
		{rule: "server failure", answers: to(code(dnsmessage.RCodeServerFailure)), want: call.DNS},
		{rule: "refused by the name server", answers: to(code(dnsmessage.RCodeRefused)), want: call.DNS},
		{rule: "no records", answers: to(fakedns.Answer{}), want: call.DNS},
		{rule: "one family fails, so all of it does", answers: to(fakedns.Answer{
			Addrs: fakedns.Addrs(public).Addrs, CodeAAAA: dnsmessage.RCodeServerFailure}), want: call.DNS},
		{rule: "truncated, then over TCP", answers: to(faulty(fakedns.Truncated)), addrs: 1},
		{rule: "malformed HTTPS records beside the address", answers: to(faulty(fakedns.BrokenSVCB)), addrs: 1},
		{rule: "0.0.0.0", answers: to(fakedns.Addrs("0.0.0.0")), want: call.Unspecified},
		{rule: "broadcast", answers: to(fakedns.Addrs("255.255.255.255")), want: call.SpecialUse},
		{rule: "multicast", answers: to(fakedns.Addrs("224.0.0.1")), want: call.Multicast},
		{rule: "reserved", answers: to(fakedns.Addrs("240.0.0.1")), want: call.SpecialUse},
	}
	for _, row := range table {
		t.Run(row.rule, func(t *testing.T) {
			g, _ := resolving(t, row.answers)
			route, err := g.Resolve(t.Context(), at(t, "https://"+host+"/mcp"), row.rules)
			if row.want != "" {
				refused(t, err, row.want)
				return
			}
			if err != nil || len(route.Addrs()) != row.addrs {
				t.Fatalf("want a route with %d addresses, got %v, %v", row.addrs, route.Addrs(), err)
			}
			for _, a := range route.Addrs() {
				if a.Port() != 443 {
					t.Errorf("want port 443, got %s", a)
				}
			}
		})
	}
}

// host is the name the tests resolve.
const host = "mcp.example.com"

func to(a fakedns.Answer) map[string]fakedns.Answer { return map[string]fakedns.Answer{host: a} }

func with(a fakedns.Answer, literals ...string) fakedns.Answer {
	a.Addrs = append(a.Addrs, fakedns.Addrs(literals...).Addrs...)
	return a
}

// Replies that are not to the question are passed over, so the lookup waits
// for a better one until its share of the time is over.
func TestResolveGivesUpOnUselessRepliesAfterTwoSeconds(t *testing.T) {
	for name, fault := range map[string]fakedns.Fault{
		"silence": fakedns.Silent, "another transaction": fakedns.WrongID, "another question": fakedns.OtherQuestion,
		"bytes that are no message": fakedns.Garbage,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			answer := fakedns.Addrs("93.184.216.34")
			answer.Fault = fault
			g, _ := resolving(t, to(answer))
			began := time.Now()
			_, err := g.Resolve(t.Context(), at(t, "https://"+host+"/mcp"), egress.Rules{})
			if refusal := refused(t, err, call.DNS); !strings.Contains(refusal.Detail, "in time") {
				t.Errorf("want a detail that speaks of time, got %q", refusal.Detail)
			}
			if took := time.Since(began); took < 1900*time.Millisecond || took > 8*time.Second {
				t.Errorf("want about 2s, got %s", took)
			}
		})
	}
}

func TestResolveAsksOnceForEachFamilyAndConnectsToWhatItChecked(t *testing.T) {
	rebinding := fakedns.Addrs("93.184.216.34")
	rebinding.Then = []fakedns.Answer{fakedns.Addrs("127.0.0.1")}
	g, dns := resolving(t, to(rebinding))
	route, err := g.Resolve(t.Context(), at(t, "https://"+host+"/mcp"), egress.Rules{})
	if err != nil {
		t.Fatal(err)
	}
	if got := fmt.Sprint(route.Addrs()); got != "[93.184.216.34:443]" {
		t.Errorf("want the first answer, got %s", got)
	}
	asked := dns.Asked()
	slices.Sort(asked)
	if want := []string{"A " + host, "AAAA " + host}; !slices.Equal(asked, want) {
		t.Errorf("want the questions %v, got %v", want, asked)
	}
}

func TestResolveChecksANewAnswerAnew(t *testing.T) {
	rebinding := fakedns.Addrs("93.184.216.34")
	rebinding.Then = []fakedns.Answer{fakedns.Addrs("127.0.0.1")}
	dns := fakedns.Start(t, to(rebinding))
	clock := newClock()
	g := guard(t, egress.Config{Lookup: egress.NewLookup(dns.Dial), Now: clock.Now})
	u := at(t, "https://"+host+"/mcp")
	if _, err := g.Resolve(t.Context(), u, egress.Rules{}); err != nil {
		t.Fatal(err)
	}
	clock.pass(31 * time.Second)
	_, err := g.Resolve(t.Context(), u, egress.Rules{})
	refused(t, err, call.Loopback)
}

// A refusal is for people to read, and the name server is nobody's business.
func TestResolveNamesHostAndAddressAndNotTheNameServer(t *testing.T) {
	g, dns := resolving(t, to(fakedns.Addrs("10.1.2.3")))
	_, err := g.Resolve(t.Context(), at(t, "https://"+host+"/mcp"), egress.Rules{})
	if got, want := refused(t, err, call.PrivateAddress).Detail, host+" is at 10.1.2.3"; got != want {
		t.Errorf("want %q, got %q", want, got)
	}
	dns.Set(host, fakedns.Answer{Code: dnsmessage.RCodeServerFailure})
	_, err = g.Resolve(t.Context(), at(t, "https://"+host+"/mcp"), egress.Rules{})
	if got, want := refused(t, err, call.DNS).Detail, host+": the name server failed"; got != want {
		t.Errorf("want %q, got %q", want, got)
	}
	_, err = g.Resolve(t.Context(), at(t, "https://gone.example.com/mcp"), egress.Rules{})
	if got, want := refused(t, err, call.DNS).Detail, "gone.example.com: no such name"; got != want {
		t.Errorf("want %q, got %q", want, got)
	}
}
