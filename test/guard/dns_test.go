package guard_test

import (
	"fmt"
	"net/netip"
	"strings"
	"testing"
	"time"

	"golang.org/x/net/dns/dnsmessage"

	"mcprelay/shared/call"
	"mcprelay/shared/egress"
	"mcprelay/shared/endpoint"
	"mcprelay/test/fakedns"
	"mcprelay/test/hostile"
	"mcprelay/test/netns"
)

// many are n answers of which the last one is where the server is. Nothing of
// the others is on this machine, so each is tried and fails at once.
func many(n int) fakedns.Answer {
	var a fakedns.Answer
	for i := range n - 1 {
		a.Addrs = append(a.Addrs, netip.AddrFrom4([4]byte{93, 185, byte(i >> 8), byte(i)}))
	}
	a.Addrs = append(a.Addrs, netip.MustParseAddr(public))
	return a
}

func faulty(f fakedns.Fault) fakedns.Answer {
	a := fakedns.Addrs(public)
	a.Fault = f
	return a
}

func code(c dnsmessage.RCode) fakedns.Answer { return fakedns.Answer{Code: c} }

// row is one answer of the table; an empty reason is an answered call.
type row struct {
	number, rule string
	answer       fakedns.Answer
	want         call.Reason
}

func rows() []row {
	all := []row{
		{"D1", "a public address", fakedns.Addrs(public), ""},
		{"D3", "the last of two is bad", fakedns.Addrs(public, "127.0.0.1"), call.Loopback},
		{"D3", "the first of two is bad", fakedns.Addrs("127.0.0.1", public), call.Loopback},
		{"D4", "IPv6 alone", fakedns.Addrs(public6), call.NoIPv4},
		{"D5", "a bad AAAA beside a good A", fakedns.Addrs(public, "::1"), call.Loopback},
		{"D6", "a mapped AAAA alone", fakedns.Addrs("::ffff:127.0.0.1"), call.Loopback},
		{"D6", "a mapped AAAA beside a good A", fakedns.Addrs(public, "::ffff:127.0.0.1"), call.Loopback},
		{"D7", "sixteen addresses", many(16), ""},
		{"D8", "seventeen addresses", many(17), call.TooManyAddresses},
		{"D8", "two hundred addresses", many(200), call.TooManyAddresses},
		{"D8", "three thousand addresses", many(3000), call.TooManyAddresses},
		{"D9", "two aliases to a public address", fakedns.Answer{CNAME: "one.example.net"}, ""},
		{"D10", "an alias to metadata", fakedns.Answer{CNAME: "metadata.google.internal"}, call.Metadata},
		{"D11", "aliases in a circle", fakedns.Answer{CNAME: "circle.example.net"}, call.DNS},
		{"D11", "an alias to nothing", fakedns.Answer{CNAME: "gone.example.net"}, call.DNS},
		{"D12", "no such name", code(dnsmessage.RCodeNameError), call.DNS},
		{"D12", "server failure", code(dnsmessage.RCodeServerFailure), call.DNS},
		{"D12", "refused by the name server", code(dnsmessage.RCodeRefused), call.DNS},
		{"D12", "no records", fakedns.Answer{}, call.DNS},
		{"D12", "server failure for one family", fakedns.Answer{
			Addrs: fakedns.Addrs(public).Addrs, CodeAAAA: dnsmessage.RCodeServerFailure}, call.DNS},
		{"D14", "truncated, then over TCP", faulty(fakedns.Truncated), ""},
		{"D17", "malformed HTTPS records", faulty(fakedns.BrokenSVCB), ""},
		{"D18", "an oversized TXT record", faulty(fakedns.LongTXT), call.DNS},
	}
	for addr, want := range map[string]call.Reason{
		"127.0.0.1": call.Loopback, "169.254.169.254": call.Metadata, "10.0.0.7": call.PrivateAddress,
		"100.100.100.200": call.Metadata, "168.63.129.16": call.Metadata, "192.0.0.192": call.Metadata,
	} {
		all = append(all, row{"D2", addr, fakedns.Addrs(addr), want})
	}
	for addr, want := range map[string]call.Reason{
		"0.0.0.0": call.Unspecified, "255.255.255.255": call.SpecialUse, "224.0.0.1": call.Multicast, "240.0.0.1": call.SpecialUse,
	} {
		all = append(all, row{"D19", addr, fakedns.Addrs(addr), want})
	}
	return all
}

func TestAnswersOfANameServer(t *testing.T) {
	machine(t, netns.Options{}, func(t *testing.T) {
		dns := fakedns.StartAt(t, "127.0.0.1:53", map[string]fakedns.Answer{
			"one.example.net": {CNAME: "two.example.net"}, "two.example.net": fakedns.Addrs(public),
			"metadata.google.internal": fakedns.Addrs("169.254.169.254"), "circle.example.net": {CNAME: host},
		})
		store := hostile.Open(t)
		for i, r := range rows() {
			t.Run(r.number+" "+r.rule, func(t *testing.T) {
				w := start(t, dns, r.answer, hostile.Options{}, hostile.Setup{Store: store, Tenant: fmt.Sprintf("t%d", i)})
				before4, before6 := w.asked()
				if r.want == "" {
					w.wantAnswered(t, public+":443")
				} else {
					w.wantRefused(t, r.want)
				}
				if v4, v6 := w.asked(); v4 == before4 || v6 == before6 {
					t.Errorf("want both families asked for, got %d and %d", v4-before4, v6-before6)
				}
			})
		}
	})
}

// D13 and the rest of D18: nothing that answers the question comes.
func TestANameServerWithoutAUsableReplyEndsTheCallInTwoSeconds(t *testing.T) {
	machine(t, netns.Options{}, func(t *testing.T) {
		dns := fakedns.StartAt(t, "127.0.0.1:53", nil)
		for name, fault := range map[string]fakedns.Fault{
			"D13 silence": fakedns.Silent, "D18 another transaction": fakedns.WrongID,
			"D18 an answer for another name": fakedns.OtherQuestion, "D18 bytes that are no message": fakedns.Garbage,
		} {
			t.Run(name, func(t *testing.T) {
				w := start(t, dns, faulty(fault), hostile.Options{}, hostile.Setup{})
				began := time.Now()
				w.wantRefused(t, call.DNS)
				if took := time.Since(began); took < 1900*time.Millisecond || took > 8*time.Second {
					t.Errorf("want about 2s, got %s", took)
				}
			})
		}
	})
}

// Records that belong to another name are handed on by the resolver, so what
// they say is checked like the rest.
func TestD18RecordsOfAnotherNameAreChecked(t *testing.T) {
	machine(t, netns.Options{}, func(t *testing.T) {
		dns := fakedns.StartAt(t, "127.0.0.1:53", nil)
		poisoned := fakedns.Addrs("169.254.169.254")
		poisoned.Fault = fakedns.OtherOwner
		start(t, dns, poisoned, hostile.Options{}, hostile.Setup{}).wantRefused(t, call.Metadata)
	})
}

func TestRebinding(t *testing.T) {
	machine(t, netns.Options{}, func(t *testing.T) {
		dns := fakedns.StartAt(t, "127.0.0.1:53", nil)
		for _, era := range hostile.Eras() {
			t.Run(string(era), func(t *testing.T) {
				rebinding := fakedns.Addrs(public)
				rebinding.Then = []fakedns.Answer{fakedns.Addrs("127.0.0.1")}
				c := &clock{}
				before := dns.Count("A", host)
				w := start(t, dns, rebinding, hostile.Options{Era: era}, hostile.Setup{Now: c.now})
				// D15: one question a call, and the connection goes to its answer.
				w.wantAnswered(t, public+":443")
				w.wantAnswered(t, public+":443")
				if v4, _ := w.asked(); v4 != before+1 {
					t.Errorf("want one A query for both calls, got %d", v4-before)
				}
				// D16: the process stands still, and then resolves anew. Nothing
				// goes out on the session that the first call opened.
				c.passed = 31 * time.Second
				w.wantRefused(t, call.Loopback)
				if v4, _ := w.asked(); v4 != before+2 {
					t.Errorf("want a second A query, got %d", v4-before)
				}
			})
		}
	})
}

func TestD20SearchListsAreLeftOut(t *testing.T) {
	o := netns.Options{ResolvConf: "search evil.test\noptions ndots:5\nnameserver 127.0.0.1\n"}
	machine(t, o, func(t *testing.T) {
		dns := fakedns.StartAt(t, "127.0.0.1:53", map[string]fakedns.Answer{host + ".evil.test": fakedns.Addrs(public)})
		start(t, dns, code(dnsmessage.RCodeNameError), hostile.Options{}, hostile.Setup{}).wantRefused(t, call.DNS)
		for _, q := range dns.Asked() {
			if strings.Contains(q, "evil") {
				t.Errorf("want no question with the suffix, got %q", q)
			}
		}
	})
}

func TestD21TheHostsFileIsCheckedToo(t *testing.T) {
	machine(t, netns.Options{Hosts: "127.0.0.1 localhost " + host + "\n"}, func(t *testing.T) {
		dns := fakedns.StartAt(t, "127.0.0.1:53", nil)
		start(t, dns, fakedns.Addrs(public), hostile.Options{}, hostile.Setup{}).wantRefused(t, call.Loopback)
	})
}

// The first address refuses the connection; the record names the one that was used.
func TestD22TheNextAddressIsTriedAndRecorded(t *testing.T) {
	machine(t, netns.Options{}, func(t *testing.T) {
		dns := fakedns.StartAt(t, "127.0.0.1:53", nil)
		w := start(t, dns, fakedns.Addrs(second, public), hostile.Options{}, hostile.Setup{})
		w.wantAnswered(t, public+":443")
		if got := w.up.Connections(); got != 1 {
			t.Errorf("want one connection, got %d", got)
		}
	})
}

func TestD23ABadCertificateIsShownNoCredential(t *testing.T) {
	machine(t, netns.Options{}, func(t *testing.T) {
		dns := fakedns.StartAt(t, "127.0.0.1:53", nil)
		for _, kind := range hostile.BadCertificates() {
			t.Run(string(kind), func(t *testing.T) {
				w := start(t, dns, fakedns.Addrs(public), hostile.Options{TLS: hostile.TLS{Certificate: kind}}, hostile.Setup{})
				reply := w.relay.Call(t, hostile.Ask{})
				if reply.Record.Reason != call.TLS || reply.Record.Posts != 0 || len(w.up.Requests()) != 0 {
					t.Errorf("want tls and nothing sent, got %+v, %v", reply.Record, w.up.Sequence())
				}
			})
		}
	})
}

// The name is a stranger's and the address is the relay's.
func TestD24AnAnswerThatIsTheRelayItselfIsALoop(t *testing.T) {
	machine(t, netns.Options{}, func(t *testing.T) {
		dns := fakedns.StartAt(t, "127.0.0.1:53", map[string]fakedns.Answer{
			host: fakedns.Addrs(public), "api.example.com": fakedns.Addrs(second), "both.example.com": fakedns.Addrs(second, public),
		})
		g := egress.New(egress.Config{OwnHosts: []string{"api.example.com", public}})
		defer g.Close()
		for _, name := range []string{host, "api.example.com", "both.example.com"} {
			u, err := endpoint.Parse("https://"+name+"/mcp", endpoint.Options{})
			if err != nil {
				t.Fatal(err)
			}
			_, err = g.Resolve(t.Context(), u, egress.Rules{})
			if refusal, ok := err.(*call.Refusal); !ok || refusal.Reason != call.Loop {
				t.Errorf("%s: want a loop, got %v", name, err)
			}
		}
		if got := dns.Count("A", "api.example.com"); got != 0 {
			t.Errorf("want the relay's own name not looked up, got %d questions", got)
		}
	})
}
