// Package netns runs a test in a network of its own, so that unmodified
// binaries can be tested with the name server, hosts file and addresses that
// the test chooses.
//
// It promises that inside [Run] there is no interface but the loopback one
// (nothing can leave the machine), that ports are free, and that the files
// under /etc are replaced for the test and its children only. It refuses to
// skip: where the kernel gives no namespaces, the test fails with one
// sentence that says so.
package netns

import "net/netip"

// Options is what the test wants to find inside.
type Options struct {
	// Addresses are added to the loopback interface, with their prefix:
	// 10.77.0.2/24 for a private address that something can listen on.
	Addresses []netip.Prefix
	// ResolvConf replaces /etc/resolv.conf. Empty: "nameserver 127.0.0.1",
	// where nothing listens unless the test starts a server on port 53.
	ResolvConf string
	// Hosts replaces /etc/hosts. Empty: localhost alone.
	Hosts string
}

// The files of a test that chooses none.
const (
	DefaultResolvConf = "nameserver 127.0.0.1\n"
	DefaultHosts      = "127.0.0.1 localhost\n::1 localhost\n"
)

// resolvConf is the file's text with the default filled in.
func (o Options) resolvConf() string {
	if o.ResolvConf == "" {
		return DefaultResolvConf
	}
	return o.ResolvConf
}

// hosts is the file's text with the default filled in.
func (o Options) hosts() string {
	if o.Hosts == "" {
		return DefaultHosts
	}
	return o.Hosts
}
