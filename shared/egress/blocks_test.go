package egress_test

import (
	_ "embed"
	"net/netip"
	"strings"
	"sync"
	"testing"

	"mcprelay/shared/call"
	"mcprelay/shared/egress"
)

// blocksFile lists the IANA special-purpose registries of 2026-07-18, what is
// refused beside them, and the addresses of cloud platforms. The reason "inner"
// is that of the IPv4 address inside.
//
//go:embed testdata/blocks.tsv
var blocksFile string

// block is one row of the file.
type block struct {
	netip.Prefix
	reason call.Reason // "" for that of the address inside
	name   string
}

var blocks = sync.OnceValue(func() []block {
	var all []block
	for line := range strings.Lines(blocksFile) {
		column := strings.Split(strings.TrimSuffix(line, "\n"), "\t")
		if column[0] == "block" {
			continue
		}
		b := block{Prefix: netip.MustParsePrefix(column[0]), reason: call.Reason(column[1]), name: column[3]}
		if b.reason == "inner" {
			b.reason = ""
		}
		all = append(all, b)
	}
	return all
})

func prefixes(list ...string) []netip.Prefix {
	all := make([]netip.Prefix, len(list))
	for i, s := range list {
		all[i] = netip.MustParsePrefix(s)
	}
	return all
}

// narrowest is the oracle: the smallest block that holds a, found by a walk
// over the file and nothing else.
func narrowest(a netip.Addr) (found block, ok bool) {
	for _, b := range blocks() {
		if b.Contains(a) && (!ok || b.Bits() > found.Bits()) {
			found, ok = b, true
		}
	}
	return found, ok
}

func denied(a netip.Addr) bool {
	_, ok := narrowest(a)
	return ok
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

// edge is an address at the border of a block; one outside the family's space
// is invalid.
type edge struct {
	name string
	addr netip.Addr
}

func (b block) edges() []edge {
	return []edge{{"first", b.Addr()}, {"last", last(b.Prefix)}, {"below", b.Addr().Prev()}, {"above", last(b.Prefix).Next()}}
}

func TestTheFileOfBlocksIsWhole(t *testing.T) {
	v4, v6 := 0, 0
	seen := map[netip.Prefix]bool{}
	for _, b := range blocks() {
		if seen[b.Prefix] || b.Prefix != b.Masked() || b.name == "" {
			t.Errorf("%s: listed twice, not in canonical form or without a name", b.Prefix)
		}
		seen[b.Prefix] = true
		if b.reason != "" && b.reason.Row().Outcome != call.RefusedByAddress {
			t.Errorf("%s: %q is no reason for an address", b.Prefix, b.reason)
		}
		if b.Addr().Is4() {
			v4++
		} else {
			v6++
		}
	}
	// 27 of the registry and multicast, 13 of platforms and 2 beside; 25 of the
	// registry, 8 outside it, 3 of platforms.
	if v4 != 42 || v6 != 36 {
		t.Errorf("want 42 IPv4 and 36 IPv6 blocks, got %d and %d", v4, v6)
	}
}

func TestClassifyGivesEveryBlockItsReasonToItsEdgesAndNotBeyond(t *testing.T) {
	neighbours := 0
	for _, b := range blocks() {
		for _, e := range b.edges() {
			if !e.addr.IsValid() {
				continue
			}
			reason, refused := egress.Classify(e.addr)
			want, listed := narrowest(e.addr)
			if refused != listed || listed && want.reason != "" && reason != want.reason {
				t.Errorf("%s, %s of %s (%s): want %q of %s, got %q", e.addr, e.name, b.Prefix, b.name, want.reason, want.Prefix, reason)
			}
			if !listed {
				neighbours++
			}
		}
	}
	if neighbours < 35 {
		t.Errorf("want most neighbours allowed, got %d", neighbours)
	}
}
