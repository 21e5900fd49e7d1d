// Package endpoint is the address of an upstream server as an operator wrote
// it.
//
// It promises that an endpoint has one spelling: a [URL] comes from [Parse]
// only, Parse never changes a byte, and what it accepts is the fixpoint of
// Go's own URL parser, so comparing two endpoints is comparing their bytes and
// no reader behind the relay can understand another host. Names that can only
// mean a private or local machine, address literals, user names, fragments,
// second spellings of a port or a path, and credentials in a query are
// refused. What a lawful name resolves to is not decided here.
package endpoint

import (
	"log/slog"
	"net/netip"
	"net/url"
	"slices"
	"strings"
)

// Options relaxes the canonical rule. The zero Options relaxes nothing.
type Options struct {
	// Loopback makes endpoints legal that are spelled as loopback:
	// 127.0.0.0/8, [::1], localhost and *.localhost, http or https. A name
	// that merely resolves to loopback gains nothing by it.
	Loopback bool
	// PrivateNames makes the private last labels legal (internal, local,
	// corp, lan, home, intranet, private). Only servers with allowed networks
	// get it.
	PrivateNames bool
}

// URL is a checked endpoint, comparable with ==. The zero URL is unusable: it
// has no host, no port and no text.
type URL struct {
	text      string
	host      string // without brackets
	authority string // as in the Host header
	target    string // of the request line
	port      uint16
	tls       bool
	loopback  netip.Addr
}

// Parse checks s against the canonical rule: https, lower-case host name of at
// least two labels, an optional port that is not the scheme's own, a clean
// path without escapes or none, after a path an optional query without a
// credential. Its error is an [*Error] that holds no byte of s.
func Parse(s string, o Options) (URL, error) {
	u, rule := parse(s, o)
	if rule != "" {
		return URL{}, &Error{Rule: rule, Hint: hint(rule)}
	}
	return u, nil
}

// parse applies the rules in the order of their words in testdata/urls.tsv;
// the first one broken is the answer.
func parse(s string, o Options) (URL, string) {
	if rule := checkText(s, o); rule != "" {
		return URL{}, rule
	}
	u, err := url.Parse(s)
	switch {
	case err != nil:
		return URL{}, ruleParse
	case u.User != nil:
		return URL{}, ruleUserinfo
	case strings.Contains(s, "#"):
		return URL{}, ruleFragment
	}
	checked := URL{text: s, host: u.Hostname(), authority: u.Host, tls: u.Scheme == "https"}
	if o.Loopback {
		checked.loopback = loopback(u.Host, checked.host)
	}
	if rule := checkHost(u, checked, o); rule != "" {
		return URL{}, rule
	}
	var rule string
	if checked.port, rule = port(u); rule != "" {
		return URL{}, rule
	}
	if rule := checkPath(u); rule != "" {
		return URL{}, rule
	}
	if rule := checkQuery(u); rule != "" {
		return URL{}, rule
	}
	if u.String() != s {
		return URL{}, ruleCanonical
	}
	checked.target = strings.TrimPrefix(s, u.Scheme+"://"+u.Host)
	return checked, ""
}

// String is the bytes that were given, query included: never for a log.
func (u URL) String() string { return u.text }

// Redacted is the endpoint without its query, for logs and the audit trail.
func (u URL) Redacted() string {
	text, _, _ := strings.Cut(u.text, "?")
	return text
}

// LogValue keeps the query out of structured logs.
func (u URL) LogValue() slog.Value { return slog.StringValue(u.Redacted()) }

// IsZero reports whether u came from nowhere.
func (u URL) IsZero() bool { return u.text == "" }

// Host is the name, or the literal without brackets.
func (u URL) Host() string { return u.host }

// Authority is the value of the Host header: with the port where one is
// written, with brackets around an IPv6 literal.
func (u URL) Authority() string { return u.authority }

// Port is the port to dial: as written, or the scheme's own.
func (u URL) Port() uint16 { return u.port }

// TLS reports whether the scheme is https.
func (u URL) TLS() bool { return u.tls }

// Loopback gives the address to dial for an endpoint that is spelled as
// loopback. Names of that kind are 127.0.0.1, without a lookup (RFC 6761
// section 6.3).
func (u URL) Loopback() (netip.Addr, bool) { return u.loopback, u.loopback.IsValid() }

// RequestURI is the target of the request line: path and query, "/" for an
// empty path (RFC 9112 section 3.2.1). The zero URL has none.
func (u URL) RequestURI() string {
	if u.target == "" && u.text != "" {
		return "/"
	}
	return u.target
}

// ReversedHost is the host as rules write it, last label first:
// com.example.mcp. A literal is itself.
func (u URL) ReversedHost() string {
	if _, err := netip.ParseAddr(u.host); err == nil {
		return u.host
	}
	labels := strings.Split(u.host, ".")
	slices.Reverse(labels)
	return strings.Join(labels, ".")
}
