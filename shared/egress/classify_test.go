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

func FuzzClassifyNeverAllowsADeniedAddressInAnyDress(f *testing.F) {
	for _, b := range blocks() {
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
