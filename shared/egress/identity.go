package egress

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"slices"
	"time"

	"mcprelay/shared/call"
)

// Why no certificate of the registration can be shown. Without one the server
// would see a stranger, which is the worse surprise (a header that cannot be
// sent ends the call as well).
var (
	errNotAccepted = errors.New("the server accepts no certificate of this registration")
	errOutOfTime   = errors.New("the registration's certificate has expired or is not valid yet")
)

// errAsked marks a handshake that failed after the server asked for a certificate.
var errAsked = errors.New("the server asked for a certificate")

// certificateAlerts are the alerts by which a server refuses what a client
// showed, or that it showed nothing (RFC 8446 section 6.2, RFC 5246 section
// 7.2.2): handshake failure (for want of a certificate, before TLS 1.3), bad,
// unsupported, revoked, expired, unknown certificate, unknown authority, access
// denied, certificate required.
var certificateAlerts = []tls.AlertError{40, 42, 43, 44, 45, 46, 48, 49, 116}

// identify makes config that of the route's server: whom it believes, what it
// shows, and which sessions it may resume. Asked is set when the server asks
// for a certificate.
func (g *Guard) identify(config *tls.Config, r Route, asked *bool) {
	config.ServerName = r.endpoint.Host()
	config.Time = g.pool.wall
	config.ClientSessionCache = scoped{g.tls.ClientSessionCache, r.rules.identity() + "\x00" + r.endpoint.Authority() + "\x00"}
	t := r.rules.TLS
	if t != nil && t.Roots != nil {
		config.RootCAs = t.Roots
	}
	config.GetClientCertificate = func(request *tls.CertificateRequestInfo) (*tls.Certificate, error) {
		*asked = true
		if !r.rules.shows() {
			return new(tls.Certificate), nil
		}
		return t.choose(request, g.pool.wall())
	}
}

// identity is the digest of what the rules add to the handshake, "" for nothing.
func (r Rules) identity() string {
	if r.TLS == nil {
		return ""
	}
	return r.TLS.Digest
}

// shows reports whether the rules have a certificate for servers that ask.
func (r Rules) shows() bool { return r.TLS != nil && len(r.TLS.Certificates) > 0 }

// choose gives the first certificate that the server accepts and that is valid
// now. A server with TLS 1.3 would refuse another only after it was sent the
// request.
func (t *TLS) choose(request *tls.CertificateRequestInfo, now time.Time) (*tls.Certificate, error) {
	fault := errNotAccepted
	for i := range t.Certificates {
		c := &t.Certificates[i]
		leaf := leafOf(c)
		if leaf == nil || request.SupportsCertificate(c) != nil {
			continue
		}
		if !now.Before(leaf.NotBefore) && !now.After(leaf.NotAfter) {
			return c, nil
		}
		fault = errOutOfTime
	}
	return nil, fault
}

// leafOf is the certificate itself, nil where it cannot be read.
func leafOf(c *tls.Certificate) *x509.Certificate {
	if c.Leaf != nil || len(c.Certificate) == 0 {
		return c.Leaf
	}
	leaf, err := x509.ParseCertificate(c.Certificate[0])
	if err != nil {
		return nil
	}
	return leaf
}

// scoped is the part of a session cache that one identity at one authority
// sees. A resumed session is the identity that opened it, whatever certificate
// the configuration holds now (RFC 8446 section 4.6.1), and crypto/tls names
// sessions by the server's name alone.
type scoped struct {
	all   tls.ClientSessionCache
	scope string
}

// Get gives a session of this scope.
func (s scoped) Get(name string) (*tls.ClientSessionState, bool) { return s.all.Get(s.scope + name) }

// Put keeps a session in this scope.
func (s scoped) Put(name string, state *tls.ClientSessionState) { s.all.Put(s.scope+name, state) }

// Rejected is the refusal where err, from reading the first reply of a new
// connection, is the server's word that it takes no such client certificate,
// or not none; nil for any other error. With TLS 1.3 that word comes after the
// request was written, and means that none of it was read; before 1.3 it comes
// in the handshake, and an alert after it says nothing about the request.
func (c *Conn) Rejected(err error) *call.Refusal {
	if !c.link.asked || c.reused || c.Received() > 0 || c.link.tls.ConnectionState().Version != tls.VersionTLS13 {
		return nil
	}
	fault := rejection(err, c.link.shows)
	if fault == "" {
		return nil
	}
	return &call.Refusal{Reason: call.TLS, Impact: call.ImpactNone, Err: err,
		Detail: fmt.Sprintf("%s at %s: %s", c.link.key.authority, c.addr, fault)}
}

// rejection says what a certificate alert means, "" where err is none.
func rejection(err error, shows bool) string {
	op, ok := errors.AsType[*net.OpError](err)
	if !ok || op.Op != "remote error" {
		return ""
	}
	// The alert's own type is not exported; AlertError is the same number with
	// the same text.
	if !slices.ContainsFunc(certificateAlerts, func(a tls.AlertError) bool { return a.Error() == op.Err.Error() }) {
		return ""
	}
	if !shows {
		return "the server asks for a client certificate, and the registration has none"
	}
	return "the server does not accept the registration's certificate"
}
