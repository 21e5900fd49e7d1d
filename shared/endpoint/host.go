package endpoint

import (
	"net/netip"
	"net/url"
	"strconv"
	"strings"

	"golang.org/x/net/idna"
)

const (
	maxHost  = 253 // RFC 1035 section 2.3.4, in text form without the root
	maxLabel = 63  // RFC 1035 section 2.3.4
)

// loopback gives the address of a host that is spelled as loopback in its one
// canonical form, or the zero Addr. authority still has its brackets and port.
func loopback(authority, host string) netip.Addr {
	if host == "localhost" || strings.HasSuffix(host, ".localhost") {
		return netip.AddrFrom4([4]byte{127, 0, 0, 1})
	}
	addr, err := netip.ParseAddr(host)
	if err != nil || !addr.IsLoopback() || addr.String() != host {
		return netip.Addr{}
	}
	if addr.Is4() || addr == netip.IPv6Loopback() && strings.HasPrefix(authority, "[::1]") {
		return addr
	}
	return netip.Addr{}
}

// checkHost applies the rules about the host. A loopback spelling was checked
// by its parser and is exempt from the rules about public names.
func checkHost(u *url.URL, checked URL, o Options) string {
	host := checked.host
	isLoopback := checked.loopback.IsValid()
	switch {
	case host == "" && u.Path == "" && (u.RawQuery != "" || u.ForceQuery):
		return ruleHost
	case host == "":
		return ruleHostEmpty
	case !checked.tls && !isLoopback:
		return ruleScheme
	case strings.HasPrefix(u.Host, "[") && !isLoopback:
		return ruleIPLiteral
	case host != strings.ToLower(host):
		return ruleHostCase
	case strings.HasSuffix(host, "."):
		return ruleTrailingDot
	}
	if _, err := netip.ParseAddr(host); err == nil {
		if isLoopback {
			return ""
		}
		return ruleIPLiteral
	}
	return checkName(host, isLoopback, o)
}

// checkName applies the rules about a host name.
func checkName(host string, isLoopback bool, o Options) string {
	labels := strings.Split(host, ".")
	last := labels[len(labels)-1]
	switch {
	case len(host) > maxHost:
		return ruleHostLength
	case len(labels) == 1 && !isLoopback:
		return ruleSingleLabel
	}
	for _, label := range labels {
		if rule := checkLabel(label); rule != "" {
			return rule
		}
	}
	switch {
	case isLoopback:
		return ""
	case last[0] >= '0' && last[0] <= '9':
		// WHATWG URL, "ends in a number": other parsers read such a host
		// as an IPv4 address.
		return ruleNumericTLD
	case private(last) && !o.PrivateNames, special(last):
		return ruleReservedName
	}
	return ""
}

// checkLabel applies the rules about one label: letters, digits, hyphens (RFC
// 952, RFC 1123 section 2.1), and of the reserved form ??-- only an
// international name that survives both directions (RFC 5891 section 4.4).
func checkLabel(label string) string {
	if label == "" || len(label) > maxLabel || label[0] == '-' || label[len(label)-1] == '-' {
		return ruleLabel
	}
	for i := range len(label) {
		if c := label[i]; (c < 'a' || c > 'z') && (c < '0' || c > '9') && c != '-' {
			return ruleLabelChar
		}
	}
	if len(label) < 4 || label[2:4] != "--" {
		return ""
	}
	if !strings.HasPrefix(label, "xn--") {
		return ruleLabelReserved
	}
	name, err := idna.Lookup.ToUnicode(label)
	if err != nil {
		return ruleIDNA
	}
	if again, err := idna.Lookup.ToASCII(name); err != nil || again != label {
		return ruleIDNA
	}
	return ""
}

// private reports whether a last label is used for names of private networks.
func private(last string) bool {
	switch last {
	case "internal", "local", "corp", "lan", "home", "intranet", "private":
		return true
	}
	return false
}

// special reports whether a last label never names a public server (RFC 6761,
// RFC 6762, RFC 7686, RFC 9476 and names seen in DNS root traffic).
func special(last string) bool {
	switch last {
	case "localhost", "localdomain", "arpa", "onion", "test", "example", "invalid", "alt", "i2p", "mail":
		return true
	}
	return false
}

// port reads the port, or the scheme's own where none is written.
func port(u *url.URL) (uint16, string) {
	own := uint16(443)
	if u.Scheme == "http" {
		own = 80
	}
	text := u.Port()
	if text == "" {
		if strings.HasSuffix(u.Host, ":") {
			return 0, rulePort
		}
		return own, ""
	}
	n, err := strconv.ParseUint(text, 10, 16)
	if err != nil || n == 0 || text[0] == '0' || uint16(n) == own {
		return 0, rulePort
	}
	return uint16(n), ""
}
