package egress_test

import (
	"flag"
	"fmt"
	"net/netip"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"mcprelay/shared/call"
	"mcprelay/shared/egress"
)

var update = flag.Bool("update", false, "write the golden file anew, to be read by eye")

// dress writes an IPv4 address inside an IPv6 one.
type dress struct {
	name string
	on   func(v4 [4]byte) netip.Addr
}

func dresses() []dress {
	return []dress{
		{"mapped", at12("::ffff:0:0")},
		{"compatible", at12("::")},
		{"translated", at12("::ffff:0:0:0")},
		{"NAT64", at12("64:ff9b::")},
		{"local NAT64", func(v [4]byte) netip.Addr {
			raw := netip.MustParseAddr("64:ff9b:1::").As16()
			raw[6], raw[7], raw[9], raw[10] = v[0], v[1], v[2], v[3]
			return netip.AddrFrom16(raw)
		}},
		{"local NAT64 at the end", at12("64:ff9b:1::")},
		{"6to4", func(v [4]byte) netip.Addr { return dressed("2002::1", v, 2) }},
		{"Teredo server", func(v [4]byte) netip.Addr { return dressed("2001::f7f7:f7f7", v, 4) }},
		{"Teredo client", func(v [4]byte) netip.Addr {
			return dressed("2001:0:808:808::", [4]byte{^v[0], ^v[1], ^v[2], ^v[3]}, 12)
		}},
		{"ISATAP", at12("2606:4700::5efe:0:0")},
		{"ISATAP of a global address", at12("2606:4700::200:5efe:0:0")},
		{"ISATAP on the link", at12("fe80::5efe:0:0")},
	}
}

func at12(base string) func([4]byte) netip.Addr {
	return func(v [4]byte) netip.Addr { return dressed(base, v, 12) }
}

func dressed(base string, v4 [4]byte, at int) netip.Addr {
	raw := netip.MustParseAddr(base).As16()
	copy(raw[at:], v4[:])
	return netip.AddrFrom16(raw)
}

// In a dress every address is refused, one that is refused itself for its own
// reason. The exception: :: and ::1 are what they are in the compatible form.
// (Two inner addresses are told apart by which of them tells more.)
func checkDresses(t *testing.T, v4 netip.Addr) {
	t.Helper()
	plain, plainRefused := egress.Classify(v4)
	for _, d := range dresses() {
		a := d.on(v4.As4())
		reason, refused := egress.Classify(a)
		if !refused {
			t.Errorf("%s as %s (%s): want it refused", v4, d.name, a)
		}
		itself := d.name == "compatible" && v4.As4()[0] == 0
		zero := plain == call.Unspecified // which the other layout outweighs
		if plainRefused && !itself && !zero && reason != plain {
			t.Errorf("%s as %s (%s): want the reason %s, got %s", v4, d.name, a, plain, reason)
		}
	}
}

func TestClassifyRefusesEveryEdgeInEveryDress(t *testing.T) {
	cases := 0
	for _, b := range blocks() {
		for _, e := range b.edges() {
			if e.addr.Is4() {
				checkDresses(t, e.addr)
				cases += len(dresses())
			}
		}
	}
	// Below 0.0.0.0 and above 255.255.255.255, where two blocks end each, is nothing.
	if want := (42*4 - 4) * 12; cases != want {
		t.Errorf("want %d cases, got %d", want, cases)
	}
}

func TestTheGoldenFileHoldsEveryVerdict(t *testing.T) {
	const path = "testdata/verdicts.golden"
	var b strings.Builder
	for _, block := range blocks() {
		fmt.Fprintf(&b, "%s %s\n", block.Prefix, block.name)
		for _, e := range block.edges() {
			fmt.Fprintf(&b, "  %-5s %s\n", e.name, verdicts(e.addr))
		}
	}
	if *update {
		if err := os.WriteFile(path, []byte(b.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), b.String()); diff != "" {
		t.Errorf("the verdicts changed (-want +got); after reading them by eye: go test ./shared/egress -run Golden -update\n%s", diff)
	}
}

// verdicts is an address with its verdict, plain, with a zone or in the dresses
// of IPv4; dresses of one verdict are named once.
func verdicts(a netip.Addr) string {
	if !a.IsValid() {
		return "there is none"
	}
	text := fmt.Sprintf("%s: %s", a, verdict(a))
	if a.Is6() {
		return text + "; with a zone " + verdict(a.WithZone("eth0"))
	}
	var order []string
	names := map[string][]string{}
	for _, d := range dresses() {
		v := verdict(d.on(a.As4()))
		if names[v] == nil {
			order = append(order, v)
		}
		names[v] = append(names[v], d.name)
	}
	if len(order) == 1 {
		return text + "; in every dress " + order[0]
	}
	for _, v := range order {
		text += fmt.Sprintf("; %s as %s", v, strings.Join(names[v], ", "))
	}
	return text
}

func verdict(a netip.Addr) string {
	if reason, refused := egress.Classify(a); refused {
		return string(reason)
	}
	return "allowed"
}
