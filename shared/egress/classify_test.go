package egress_test

import (
	"bufio"
	"net/netip"
	"os"
	"strings"
	"testing"

	"mcprelay/shared/call"
	"mcprelay/shared/egress"
)

// The table names for each address what the relay must do: A allow, D deny,
// D* deny although the address inside is public, A? allow for lack of a
// better reason, A/D undecided elsewhere and denied here.
func TestClassifyFollowsTheTable(t *testing.T) {
	file, err := os.Open("testdata/addrs.tsv")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	lines := bufio.NewScanner(file)
	rows := 0
	for lines.Scan() {
		field := strings.Split(lines.Text(), "\t")
		if field[0] == "addr" {
			continue
		}
		rows++
		want, known := map[string]bool{"A": false, "A?": false, "D": true, "D*": true, "A/D": true}[field[2]]
		if !known {
			t.Errorf("%s: the verdict %q is unknown", field[0], field[2])
		}
		reason, refused := egress.Classify(netip.MustParseAddr(field[0]))
		if refused != want {
			t.Errorf("%s (%s): want refused %t, got %t (%s)", field[0], field[1], want, refused, reason)
		}
		if refused != (reason != "") {
			t.Errorf("%s: want a reason exactly where it is refused, got %q", field[0], reason)
		}
	}
	if rows != 80 {
		t.Errorf("want the 80 rows of the table, got %d", rows)
	}
}

func TestClassifyNamesTheReason(t *testing.T) {
	table := map[call.Reason][]string{
		call.Loopback: {"127.0.0.1", "127.255.255.254", "::1", "::ffff:127.0.0.1", "::127.0.0.1",
			"::ffff:0:127.0.0.1", "64:ff9b::7f00:1", "2002:7f00:1::1", "2606:4700::5efe:7f00:1", "fe80::5efe:7f00:1"},
		call.Metadata: {"169.254.169.254", "169.254.170.2", "169.254.170.23", "169.254.169.253", "169.254.169.123",
			"169.254.100.1", "169.254.79.2", "169.254.79.129", "169.254.0.23", "169.254.42.42", "168.63.129.16",
			"100.100.100.200", "192.0.0.192", "fd00:ec2::254", "fd00:ec2::23", "fd00:ec2::253", "fd20:ce::254",
			"fd00:42::42", "::ffff:169.254.169.254", "64:ff9b:1::a9fe:a9fe", "2002:a9fe:a9fe::1", "fd00::5efe:a9fe:a9fe",
			"64:ff9b:1:a9fe:a9:fe00::", "fd00:ec2::254%eth0", "2001:0:a9fe:a9fe::1", "2001:0:0101:0101::5601:5601"},
		call.LinkLocal:   {"169.254.0.1", "169.254.255.255", "fe80::1", "febf::1", "fe80::1%eth0"},
		call.Unspecified: {"0.0.0.0", "::", "::ffff:0.0.0.0"},
		call.Multicast:   {"224.0.0.1", "239.255.255.255", "ff02::1", "ff0e::1"},
		call.PrivateAddress: {"10.0.0.1", "172.16.0.1", "172.31.255.255", "192.168.0.1", "100.64.0.1", "fc00::1",
			"fdff::1", "::ffff:10.0.0.1", "2002:a00:1::1"},
		call.SpecialUse: {"0.1.2.3", "192.0.0.1", "192.0.2.1", "198.18.0.1", "203.0.113.1", "240.0.0.1",
			"255.255.255.255", "::ffff:8.8.8.8", "64:ff9b::808:808", "2001:db8::1", "3ffe::1", "fec0::1", "4000::1",
			"5f00::1", "2001:4860:4860::8888%eth0", "2606:4700::5efe:808:808", "2606:4700::200:5efe:808:808"},
	}
	for want, addrs := range table {
		for _, addr := range addrs {
			if got, refused := egress.Classify(netip.MustParseAddr(addr)); !refused || got != want {
				t.Errorf("%s: want %s, got %q, refused %t", addr, want, got, refused)
			}
		}
	}
	if got, refused := egress.Classify(netip.Addr{}); !refused || got != call.SpecialUse {
		t.Errorf("the zero address: want special_use, got %q, refused %t", got, refused)
	}
}

// blocks are the IANA special-purpose registries of 2026-07-18, and what is
// denied beside them.
var blocks = prefixes(
	"0.0.0.0/8", "0.0.0.0/32", "10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "169.254.0.0/16", "172.16.0.0/12",
	"192.0.0.0/24", "192.0.0.0/29", "192.0.0.8/32", "192.0.0.9/32", "192.0.0.10/32", "192.0.0.170/32",
	"192.0.0.171/32", "192.0.2.0/24", "192.31.196.0/24", "192.52.193.0/24", "192.88.99.0/24", "192.88.99.2/32",
	"192.168.0.0/16", "192.175.48.0/24", "198.18.0.0/15", "198.51.100.0/24", "203.0.113.0/24", "240.0.0.0/4",
	"255.255.255.255/32", "224.0.0.0/4",
	"::1/128", "::/128", "::ffff:0:0/96", "64:ff9b::/96", "64:ff9b:1::/48", "100::/64", "100:0:0:1::/64",
	"2001::/23", "2001::/32", "2001:1::1/128", "2001:1::2/128", "2001:1::3/128", "2001:2::/48", "2001:3::/32",
	"2001:4:112::/48", "2001:10::/28", "2001:20::/28", "2001:30::/28", "2001:db8::/32", "2002::/16",
	"2620:4f:8000::/48", "3fff::/20", "5f00::/16", "fc00::/7", "fe80::/10",
	// In no registry.
	"168.63.129.16/32", "::/96", "::ffff:0:0:0/96", "fec0::/10", "ff00::/8", "3ffe::/16", "::/3", "4000::/2",
	"8000::/1",
)

func prefixes(list ...string) []netip.Prefix {
	all := make([]netip.Prefix, len(list))
	for i, s := range list {
		all[i] = netip.MustParsePrefix(s)
	}
	return all
}

// denied is the oracle: a walk over the blocks, knowing nothing else.
func denied(a netip.Addr) bool {
	for _, b := range blocks {
		if b.Contains(a) {
			return true
		}
	}
	return false
}

// last is the highest address of a prefix.
func last(p netip.Prefix) netip.Addr {
	raw := p.Addr().AsSlice()
	for bit := p.Bits(); bit < len(raw)*8; bit++ {
		raw[bit/8] |= 1 << (7 - bit%8)
	}
	a, _ := netip.AddrFromSlice(raw)
	return a
}

func TestClassifyDeniesEveryBlockToItsEdgesAndNotBeyond(t *testing.T) {
	neighbours := 0
	for _, b := range blocks {
		for _, a := range []netip.Addr{b.Addr(), last(b)} {
			if _, refused := egress.Classify(a); !refused {
				t.Errorf("%s, an edge of %s: want it refused", a, b)
			}
		}
		for _, a := range []netip.Addr{b.Addr().Prev(), last(b).Next()} {
			if !a.IsValid() {
				continue
			}
			if reason, refused := egress.Classify(a); refused != denied(a) {
				t.Errorf("%s, a neighbour of %s: want refused %t, got %t (%s)", a, b, denied(a), refused, reason)
			} else if !refused {
				neighbours++
			}
		}
	}
	if neighbours < 35 {
		t.Errorf("want most neighbours allowed, got %d", neighbours)
	}
}

// dresses write an IPv4 address inside an IPv6 one.
var dresses = map[string]func(v4 [4]byte) netip.Addr{
	"mapped":     func(v [4]byte) netip.Addr { return dressed("::ffff:0:0", v, 12) },
	"compatible": func(v [4]byte) netip.Addr { return dressed("::", v, 12) },
	"translated": func(v [4]byte) netip.Addr { return dressed("::ffff:0:0:0", v, 12) },
	"nat64":      func(v [4]byte) netip.Addr { return dressed("64:ff9b::", v, 12) },
	"nat64 /48": func(v [4]byte) netip.Addr {
		raw := netip.MustParseAddr("64:ff9b:1::").As16()
		raw[6], raw[7], raw[9], raw[10] = v[0], v[1], v[2], v[3]
		return netip.AddrFrom16(raw)
	},
	"6to4":          func(v [4]byte) netip.Addr { return dressed("2002::1", v, 2) },
	"teredo server": func(v [4]byte) netip.Addr { return dressed("2001::", v, 4) },
	"teredo client": func(v [4]byte) netip.Addr {
		return dressed("2001:0:102:304::", [4]byte{^v[0], ^v[1], ^v[2], ^v[3]}, 12)
	},
	"isatap":        func(v [4]byte) netip.Addr { return dressed("2606:4700::5efe:0:0", v, 12) },
	"isatap global": func(v [4]byte) netip.Addr { return dressed("2606:4700::200:5efe:0:0", v, 12) },
}

func dressed(base string, v4 [4]byte, at int) netip.Addr {
	raw := netip.MustParseAddr(base).As16()
	copy(raw[at:], v4[:])
	return netip.AddrFrom16(raw)
}

func TestClassifyDeniesEveryDressWithTheReasonOfWhatItCarries(t *testing.T) {
	for _, b := range blocks {
		if !b.Addr().Is4() {
			continue
		}
		for _, v4 := range []netip.Addr{b.Addr(), last(b), b.Addr().Prev(), last(b).Next()} {
			if v4.IsValid() {
				checkDresses(t, v4)
			}
		}
	}
}

func checkDresses(t *testing.T, v4 netip.Addr) {
	t.Helper()
	plain, plainRefused := egress.Classify(v4)
	for name, dress := range dresses {
		a := dress(v4.As4())
		reason, refused := egress.Classify(a)
		if !refused {
			t.Errorf("%s as %s (%s): want it refused", v4, name, a)
		}
		// :: and ::1 are themselves; Teredo and local NAT64 can be read as two.
		two := strings.HasPrefix(name, "teredo") || name == "nat64 /48" && plain == call.SpecialUse
		itself := name == "compatible" && v4.As4()[0] == 0
		if plainRefused && !two && !itself && reason != plain {
			t.Errorf("%s as %s (%s): want the reason %s, got %s", v4, name, a, plain, reason)
		}
	}
}

func FuzzClassifyNeverAllowsADeniedAddressInAnyDress(f *testing.F) {
	for _, b := range blocks {
		raw := b.Addr().AsSlice()
		f.Add(raw)
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		a, ok := netip.AddrFromSlice(raw)
		if !ok {
			return
		}
		reason, refused := egress.Classify(a)
		if !refused && denied(a) {
			t.Errorf("%s: want it refused", a)
		}
		if refused != (reason != "") {
			t.Errorf("%s: want a reason exactly where it is refused, got %q", a, reason)
		}
		if a.Is4() {
			checkDresses(t, a)
			if refused != denied(a) {
				t.Errorf("%s: want refused %t, got %t", a, denied(a), refused)
			}
		}
		if a.Is6() {
			if _, zoned := egress.Classify(a.WithZone("eth0")); !zoned {
				t.Errorf("%s with a zone: want it refused", a)
			}
		}
	})
}
