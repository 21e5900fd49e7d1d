package egress

import (
	"net/netip"
	"sync"

	"code.dny.dev/ssrf"

	"mcprelay/shared/call"
)

// Classify says why a may not be dialled for a server that names no networks;
// false means that it may. An address that carries another one inside
// (IPv4-mapped, 6to4 and the like) is always refused, with the inner one's
// reason where it has one.
func Classify(a netip.Addr) (call.Reason, bool) {
	if !a.IsValid() {
		return call.SpecialUse, true
	}
	if a.Zone() != "" {
		// netip.Prefix.Contains is false for an address with a zone, so no
		// deny list would ever match it.
		return mostTelling(a.WithZone("")), true
	}
	if inner := embedded(a); len(inner) > 0 {
		return mostTelling(inner...), true
	}
	if reason, found := named(a); found {
		return reason, true
	}
	if in(a, unlisted()) || guardian().SafeAddr(a) != nil {
		return call.SpecialUse, true
	}
	return "", false
}

// mostTelling is a reason for addresses that are refused anyway. Of two
// layouts the one that is not in use is often all zeros, which tells nothing.
func mostTelling(addrs ...netip.Addr) call.Reason {
	zeros := 0
	for _, a := range addrs {
		reason, refused := Classify(a)
		switch {
		case reason == call.Unspecified:
			zeros++
		case refused && reason != call.SpecialUse:
			return reason
		}
	}
	if zeros == len(addrs) {
		return call.Unspecified
	}
	return call.SpecialUse
}

// named finds the reasons that say more than special use.
func named(a netip.Addr) (call.Reason, bool) {
	switch {
	case in(a, metadata()):
		return call.Metadata, true
	case a.IsUnspecified():
		return call.Unspecified, true
	case a.IsLoopback():
		return call.Loopback, true
	case a.IsLinkLocalUnicast():
		return call.LinkLocal, true
	case a.IsMulticast():
		return call.Multicast, true
	case a.IsPrivate() || in(a, shared()):
		return call.PrivateAddress, true
	}
	return "", false
}

func in(a netip.Addr, prefixes []netip.Prefix) bool {
	for _, p := range prefixes {
		if p.Contains(a) {
			return true
		}
	}
	return false
}

// guardian knows the IANA special-purpose registries, and allows nothing
// outside 2000::/3.
var guardian = sync.OnceValue(func() *ssrf.Guardian { return ssrf.New() })

// metadata are the addresses by which cloud platforms hand out credentials
// and configuration.
var metadata = sync.OnceValue(func() []netip.Prefix {
	return []netip.Prefix{
		netip.MustParsePrefix("169.254.169.254/32"), // instance metadata: AWS, GCP, Azure, OCI and others
		netip.MustParsePrefix("169.254.170.2/32"),   // ECS task credentials
		netip.MustParsePrefix("169.254.170.23/32"),  // EKS Pod Identity
		netip.MustParsePrefix("169.254.169.253/32"), // AWS name servers
		netip.MustParsePrefix("169.254.169.123/32"), // AWS time
		netip.MustParsePrefix("169.254.100.1/32"),   // Lambda metadata
		netip.MustParsePrefix("169.254.79.2/32"),    // X-Ray daemon in Lambda
		netip.MustParsePrefix("169.254.79.129/32"),  // X-Ray daemon in Lambda
		netip.MustParsePrefix("169.254.0.23/32"),    // Tencent
		netip.MustParsePrefix("169.254.42.42/32"),   // Scaleway
		netip.MustParsePrefix("168.63.129.16/32"),   // Azure WireServer: looks public, is in no registry
		netip.MustParsePrefix("100.100.100.200/32"), // Alibaba
		netip.MustParsePrefix("192.0.0.192/32"),     // Oracle Classic
		netip.MustParsePrefix("fd00:ec2::/32"),      // AWS: metadata, credentials, names, time
		netip.MustParsePrefix("fd20:ce::254/128"),   // GCP
		netip.MustParsePrefix("fd00:42::42/128"),    // Scaleway
	}
})

// shared is what netip does not count as private: carrier-grade NAT and
// overlay networks.
var shared = sync.OnceValue(func() []netip.Prefix {
	return []netip.Prefix{netip.MustParsePrefix("100.64.0.0/10")} // RFC 6598
})

// unlisted looks public and is in no registry of today.
var unlisted = sync.OnceValue(func() []netip.Prefix {
	return []netip.Prefix{
		netip.MustParsePrefix("161.26.0.0/16"), // IBM Cloud: services for machines inside it
		netip.MustParsePrefix("166.8.0.0/14"),  // the same
		netip.MustParsePrefix("3ffe::/16"),     // 6bone, returned by RFC 3701
	}
})
