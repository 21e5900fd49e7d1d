package egress_test

import (
	"bytes"
	_ "embed"
	"encoding/binary"
	"flag"
	"fmt"
	"math/rand/v2"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"mcprelay/shared/call"
	"mcprelay/shared/egress"
	"mcprelay/test/peers"
)

var seed = flag.Uint64("seed", 0, "the seed of the differential run; 0 picks one")

// differencesFile lists where Python calls an address globally reachable that
// is refused here, and why. "always" must occur whatever Python's version is;
// "some" may not, because releases of Python differ in it.
//
//go:embed testdata/differences.tsv
var differencesFile string

//go:embed testdata/is_global.py
var isGlobal string

// difference is one row of the file.
type difference struct {
	prefix netip.Prefix
	isatap bool // any address with such an interface id, in place of a prefix
	always bool
	found  int
}

func differences(t *testing.T) []*difference {
	t.Helper()
	var all []*difference
	for line := range strings.Lines(differencesFile) {
		column := strings.Split(strings.TrimSuffix(line, "\n"), "\t")
		if column[0] == "block" {
			continue
		}
		if len(column) != 3 || column[1] != "always" && column[1] != "some" || len(column[2]) < 20 {
			t.Fatalf("a difference without an explanation: %q", line)
		}
		d := &difference{always: column[1] == "always", isatap: column[0] == "isatap"}
		if !d.isatap {
			d.prefix = netip.MustParsePrefix(column[0])
		}
		all = append(all, d)
	}
	return all
}

// explaining is the narrowest row that holds a, nil if none does.
func explaining(rows []*difference, a netip.Addr) *difference {
	var best *difference
	for _, d := range rows {
		narrower := best == nil || best.isatap || !d.isatap && d.prefix.Bits() > best.prefix.Bits()
		if narrower && (d.isatap && isatap(a) || !d.isatap && d.prefix.Contains(a)) {
			best = d
		}
	}
	return best
}

// isatap finds the interface ids of RFC 5214 section 6.1.
func isatap(a netip.Addr) bool {
	raw := a.As16()
	return a.Is6() && (string(raw[8:12]) == "\x00\x00\x5e\xfe" || string(raw[8:12]) == "\x02\x00\x5e\xfe")
}

// borders are the edges of every block that is listed anywhere, in every dress.
func borders(rows []*difference) []netip.Addr {
	list := blocks()
	for _, d := range rows {
		if !d.isatap {
			list = append(list[:len(list):len(list)], block{Prefix: d.prefix})
		}
	}
	var all []netip.Addr
	for _, b := range list {
		for _, e := range b.edges() {
			if !e.addr.IsValid() {
				continue
			}
			all = append(all, e.addr)
			for _, d := range dresses() {
				if e.addr.Is4() {
					all = append(all, d.on(e.addr.As4()))
				}
			}
		}
	}
	return all
}

// million are as many addresses: all over both families, and where it matters.
func million(r *rand.Rand) []netip.Addr {
	any4 := func() (v4 [4]byte) {
		binary.BigEndian.PutUint32(v4[:], r.Uint32())
		return v4
	}
	in := func(p netip.Prefix) netip.Addr {
		var random [16]byte
		binary.BigEndian.PutUint64(random[:8], r.Uint64())
		binary.BigEndian.PutUint64(random[8:], r.Uint64())
		raw := p.Addr().AsSlice()
		for i := p.Bits() / 8; i < len(raw); i++ {
			host := byte(0xff) // the bits that the prefix leaves open
			if i == p.Bits()/8 {
				host >>= p.Bits() % 8
			}
			raw[i] |= random[i] & host
		}
		a, _ := netip.AddrFromSlice(raw)
		return a
	}
	everything, global := netip.MustParsePrefix("::/0"), netip.MustParsePrefix("2000::/3")
	list, forms := blocks(), dresses()
	all := make([]netip.Addr, 0, 1_000_000)
	for len(all) < cap(all) {
		b, d := list[r.IntN(len(list))], forms[r.IntN(len(forms))]
		for range 4 {
			all = append(all, netip.AddrFrom4(any4()))
		}
		all = append(all, in(global), in(global), in(global), in(everything), in(b.Prefix), d.on(any4()))
	}
	return all
}

// python is the interpreter of the tests' own environment, or the machine's.
func python(t *testing.T) string {
	t.Helper()
	own := filepath.Join(peers.CacheDir(), "venv", "bin", "python3")
	if _, err := os.Stat(own); err == nil {
		return own
	}
	path, err := exec.LookPath("python3")
	if err != nil {
		t.Fatalf("python3 is not installed: %v", err)
	}
	return path
}

// asking starts Python on the addresses. Answer waits for its version, and for
// each address whether it is global.
func asking(t *testing.T, addrs []netip.Addr) (answer func() (version string, global []byte)) {
	t.Helper()
	var in, out bytes.Buffer
	for _, a := range addrs {
		raw := a.AsSlice()
		in.WriteByte(byte(len(raw)))
		in.Write(raw)
	}
	command := exec.CommandContext(t.Context(), python(t), "-c", isGlobal)
	command.Stdin, command.Stdout = &in, &out
	if err := command.Start(); err != nil {
		t.Fatalf("starting Python: %v", err)
	}
	return func() (string, []byte) {
		if err := command.Wait(); err != nil {
			t.Fatalf("asking Python: %v", err)
		}
		line, global, _ := bytes.Cut(out.Bytes(), []byte("\n"))
		if len(global) != len(addrs) {
			t.Fatalf("asked for %d addresses, %d were answered", len(addrs), len(global))
		}
		return string(line), global
	}
}

// Python's ipaddress was written by others from the same registries. Where the
// two differ, a row of the file says why; any other difference fails.
func TestAMillionAddressesDifferFromPythonOnlyAsListed(t *testing.T) {
	t.Parallel()
	if *seed == 0 {
		*seed = rand.Uint64()
	}
	rows := differences(t)
	edges := borders(rows)
	addrs := append(edges, million(rand.New(rand.NewPCG(*seed, *seed)))...)
	answer := asking(t, addrs)
	verdicts := make([]call.Reason, len(addrs)) // "" for allowed
	for i, a := range addrs {
		verdicts[i], _ = egress.Classify(a)
	}
	version, global := answer()
	t.Logf("%d addresses and %d edges against Python %s, -seed=%d", len(addrs)-len(edges), len(edges), version, *seed)
	const shown = 20
	wrong := 0
	for i, a := range addrs {
		refused := verdicts[i] != ""
		if refused != (global[i] == 1) {
			continue
		}
		if d := explaining(rows, a); refused && d != nil {
			d.found++
		} else if wrong++; wrong <= shown {
			t.Errorf("%s: refused here %t (%s), global for Python %s %t: not listed (-seed=%d)", a, refused, verdicts[i], version, global[i] == 1, *seed)
		}
	}
	if wrong > shown {
		t.Errorf("and %d more", wrong-shown)
	}
	for _, d := range rows {
		if d.always && d.found == 0 {
			t.Errorf("%s: listed as a difference, and none occurs", name(d))
		}
	}
}

func name(d *difference) string {
	if d.isatap {
		return "isatap"
	}
	return fmt.Sprint(d.prefix)
}
