package front

import (
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strings"

	"mcprelay/shared/call"
)

// checkOrigin refuses a request that a web page of another origin made
// (MCP 2026-07-28, basic/transports: a present and invalid Origin is 403), and,
// where the relay listens on loopback, one whose Host is not a loopback name.
func (f *Front) checkOrigin(r *http.Request) *call.Refusal {
	if f.LocalHosts && !isLoopbackName(hostname(r.Host)) {
		return call.Refuse(call.BadOrigin, "host %.128q is not a loopback name", r.Host)
	}
	values := r.Header.Values("Origin")
	if len(values) == 0 {
		return nil
	}
	origin, err := url.Parse(values[0])
	if len(values) > 1 || err != nil || origin.Host == "" || origin.Scheme != "http" && origin.Scheme != "https" {
		return call.Refuse(call.BadOrigin, "origin %.128q", values[0])
	}
	if strings.EqualFold(origin.Host, r.Host) || f.LocalHosts && isLoopbackName(origin.Hostname()) {
		return nil
	}
	return call.Refuse(call.BadOrigin, "origin %.128q", values[0])
}

func hostname(host string) string {
	if name, _, err := net.SplitHostPort(host); err == nil {
		return name
	}
	return strings.Trim(host, "[]")
}

func isLoopbackName(name string) bool {
	if strings.EqualFold(name, "localhost") {
		return true
	}
	addr, err := netip.ParseAddr(name)
	return err == nil && addr.IsLoopback()
}
