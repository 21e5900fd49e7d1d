package egress

import (
	"net/netip"
	"sync"
)

// form is one way to write an IPv4 address inside an IPv6 one.
type form struct {
	prefix netip.Prefix
	at     [4]int // the bytes that hold it
	flip   byte   // they are XORed with this
}

// forms lists them with their places. Where two layouts are in use both are
// here.
var forms = sync.OnceValue(func() []form {
	last := [4]int{12, 13, 14, 15}
	return []form{
		{netip.MustParsePrefix("::/96"), last, 0},                          // IPv4-compatible, RFC 4291 section 2.5.5.1
		{netip.MustParsePrefix("::ffff:0:0/96"), last, 0},                  // IPv4-mapped, RFC 4291 section 2.5.5.2
		{netip.MustParsePrefix("::ffff:0:0:0/96"), last, 0},                // IPv4-translated, RFC 2765
		{netip.MustParsePrefix("64:ff9b::/96"), last, 0},                   // NAT64, RFC 6052
		{netip.MustParsePrefix("64:ff9b:1::/48"), [4]int{6, 7, 9, 10}, 0},  // NAT64 local use, RFC 8215 with the /48 layout of RFC 6052
		{netip.MustParsePrefix("64:ff9b:1::/48"), last, 0},                 // the same cut to a /96
		{netip.MustParsePrefix("2002::/16"), [4]int{2, 3, 4, 5}, 0},        // 6to4, RFC 3056
		{netip.MustParsePrefix("2001::/32"), [4]int{4, 5, 6, 7}, 0},        // Teredo server, RFC 4380 section 4
		{netip.MustParsePrefix("2001::/32"), [4]int{12, 13, 14, 15}, 0xff}, // Teredo client, obfuscated
	}
})

// embedded gives the IPv4 addresses that a may stand for, none for a plain one.
func embedded(a netip.Addr) []netip.Addr {
	if a.Is4() || a.IsUnspecified() || a == netip.IPv6Loopback() {
		return nil // ::/96 holds :: and ::1, which are what they are
	}
	raw := a.As16()
	var inner []netip.Addr
	for _, f := range forms() {
		if f.prefix.Contains(a) {
			inner = append(inner, f.read(raw))
		}
	}
	if isatap(raw) {
		inner = append(inner, netip.AddrFrom4([4]byte(raw[12:])))
	}
	return inner
}

func (f form) read(raw [16]byte) netip.Addr {
	var v4 [4]byte
	for i, at := range f.at {
		v4[i] = raw[at] ^ f.flip
	}
	return netip.AddrFrom4(v4)
}

// isatap finds the interface ids 0000:5efe and 0200:5efe, which tunnel to the
// IPv4 address behind them from any prefix (RFC 5214 section 6.1).
func isatap(raw [16]byte) bool {
	return raw[8]&^0x02 == 0 && raw[9] == 0 && raw[10] == 0x5e && raw[11] == 0xfe
}
