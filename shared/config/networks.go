package config

import (
	"errors"
	"net/netip"
)

// maxNetworks bounds the networks of one server.
const maxNetworks = 32

// private lists the networks that people number by themselves: RFC 1918 and
// RFC 4193. Everything else that is not public stays closed whatever a
// registration says.
var private = []netip.Prefix{
	netip.PrefixFrom(netip.AddrFrom4([4]byte{10}), 8),
	netip.PrefixFrom(netip.AddrFrom4([4]byte{172, 16}), 12),
	netip.PrefixFrom(netip.AddrFrom4([4]byte{192, 168}), 16),
	netip.PrefixFrom(netip.AddrFrom16([16]byte{0xfc}), 7),
}

// readNetworks reads allowed_networks; nil where there are none.
func readNetworks(n node) []netip.Prefix {
	var networks []netip.Prefix
	if len(n.list()) > maxNetworks {
		n.fail("it has more than %d networks", maxNetworks)
		return nil
	}
	for _, item := range n.list() {
		if item.kind != '"' {
			item.is('"', "a string")
			continue
		}
		network, err := parseNetwork(item.text())
		if err != nil {
			item.check(err)
			continue
		}
		for _, other := range networks {
			if network.Overlaps(other) {
				item.fail("it overlaps %s", other)
			}
		}
		networks = append(networks, network)
	}
	return networks
}

func parseNetwork(s string) (netip.Prefix, error) {
	p, err := netip.ParsePrefix(s)
	switch {
	case err != nil:
		return p, errors.New("it is not a network such as 10.20.0.0/16")
	case p.Masked() != p || p.String() != s:
		return p, errors.New("it is not in canonical form: " + p.Masked().String())
	}
	for _, whole := range private {
		if whole.Bits() <= p.Bits() && whole.Contains(p.Addr()) {
			return p, nil
		}
	}
	return p, errors.New("it is not a private network: 10.0.0.0/8, 172.16.0.0/12, 192.168.0.0/16 and fc00::/7 are")
}
