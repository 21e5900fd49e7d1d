package egress

import (
	"net"
	"net/netip"
	"strconv"
	"strings"
)

// place is one of the relay's own: a name or an address, at one port or at
// every port.
type place struct {
	host string
	addr netip.Addr
	port uint16 // 0 for every port
}

// places reads the spellings that [Config.OwnHosts] allows.
func places(own []string) []place {
	list := make([]place, 0, len(own))
	for _, s := range own {
		if s == "" {
			continue
		}
		p := place{host: strings.Trim(s, "[]")}
		if host, port, err := net.SplitHostPort(s); err == nil {
			n, _ := strconv.ParseUint(port, 10, 16)
			p = place{host: host, port: uint16(n)}
		}
		if a, err := netip.ParseAddr(p.host); err == nil {
			p = place{addr: a.Unmap(), port: p.port}
		}
		p.host = strings.ToLower(strings.TrimSuffix(p.host, "."))
		list = append(list, p)
	}
	return list
}

// isOwn reports whether the relay itself answers at a name (host) or an
// address (a) and port. Endpoint hosts are lower-case already.
func (g *Guard) isOwn(host string, a netip.Addr, port uint16) bool {
	for _, p := range g.own {
		same := host != "" && p.host == host || a.IsValid() && p.addr == a
		if same && (p.port == 0 || p.port == port) {
			return true
		}
	}
	return false
}
