// Package endpoint is the address of an upstream server, as configured.
package endpoint

import "net/netip"

// Options relaxes the canonical rule.
type Options struct {
	Loopback     bool // endpoints spelled as loopback are legal, http included
	PrivateNames bool // private last labels are legal
}

// URL is a checked endpoint. The zero URL is unusable.
type URL struct{ s string }

// Error says which rule an endpoint broke.
type Error struct {
	Rule string
	Hint string
}

// Error is the rule and the hint.
func (e *Error) Error() string { return e.Rule }

// Parse checks s. Its error is an [*Error].
func Parse(s string, o Options) (URL, error) { return URL{s}, nil }

// String is the bytes that were given.
func (u URL) String() string { return u.s }

// Redacted is the endpoint without its query.
func (u URL) Redacted() string { return u.s }

// Host is the name or literal without brackets and port.
func (u URL) Host() string { return "" }

// Authority is the Host header.
func (u URL) Authority() string { return "" }

// Port is the port to dial.
func (u URL) Port() uint16 { return 0 }

// TLS reports whether the scheme is https.
func (u URL) TLS() bool { return false }

// Loopback gives the address of an endpoint spelled as loopback.
func (u URL) Loopback() (netip.Addr, bool) { return netip.Addr{}, false }

// RequestURI is the target of the request line.
func (u URL) RequestURI() string { return "" }

// ReversedHost is the host, last label first.
func (u URL) ReversedHost() string { return "" }
