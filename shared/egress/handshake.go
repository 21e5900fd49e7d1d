package egress

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"syscall"

	"mcprelay/shared/call"
)

// sessionsMax is how many TLS sessions are kept for resumption, one a host.
const sessionsMax = 64

// tlsConfig is what every handshake starts from. HTTP/1.1 is the only protocol
// offered (RFC 7301), so a server that speaks others alone ends the handshake.
func tlsConfig(roots *x509.CertPool) *tls.Config {
	if roots == nil {
		var err error
		if roots, err = x509.SystemCertPool(); err != nil {
			roots = x509.NewCertPool()
		}
	}
	return &tls.Config{
		RootCAs:            roots,
		MinVersion:         tls.VersionTLS12,
		NextProtos:         []string{"http/1.1"},
		ClientSessionCache: tls.NewLRUClientSessionCache(sessionsMax),
	}
}

// handshake makes the link's TCP connection a TLS connection to the route's host.
func (g *Guard) handshake(ctx context.Context, l *link, r Route) error {
	config := g.tls.Clone()
	g.identify(config, r, &l.asked)
	l.records = newRecords(l.tcp)
	l.tls = tls.Client(l.records, config)
	l.stream = l.tls
	err := l.tls.HandshakeContext(ctx)
	if err != nil && l.asked {
		return fmt.Errorf("%w: %w", errAsked, err)
	}
	return err
}

// tlsRefusal is the refusal for a failed handshake. The library's texts quote
// the server's certificate, so each is replaced by a constant.
func tlsRefusal(ctx context.Context, r Route, err error) error {
	if gone := cancelled(ctx); gone != nil {
		return gone
	}
	return &call.Refusal{Reason: call.TLS, Err: err,
		Detail: fmt.Sprintf("%s at %s: %s", r.endpoint.Host(), r.listed(), handshakeFault(r, err))}
}

func handshakeFault(r Route, err error) string {
	if fault := certificateFault(err); fault != "" {
		return fault
	}
	if fault := identityFault(r, err); fault != "" {
		return fault
	}
	if _, ok := errors.AsType[tls.RecordHeaderError](err); ok {
		return "the server does not speak TLS"
	}
	if op, ok := errors.AsType[*net.OpError](err); ok && op.Op == "remote error" {
		return "the server sent an alert" // its number says nothing an operator can act on
	}
	switch {
	case errors.Is(err, os.ErrDeadlineExceeded), errors.Is(err, context.DeadlineExceeded):
		return "no answer in time"
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF),
		errors.Is(err, syscall.ECONNRESET), errors.Is(err, syscall.EPIPE):
		return "the server closed the connection"
	}
	return "the handshake failed"
}

// identityFault says what is wrong with the relay's own certificate, "" if that
// is not what failed.
func identityFault(r Route, err error) string {
	for _, fault := range []error{errNotAccepted, errOutOfTime} {
		if errors.Is(err, fault) {
			return fault.Error()
		}
	}
	if !errors.Is(err, errAsked) {
		return ""
	}
	return rejection(err, r.rules.shows())
}

// certificateFault says what is wrong with the server's certificate, "" if that
// is not what failed.
func certificateFault(err error) string {
	if _, ok := errors.AsType[*tls.CertificateVerificationError](err); !ok {
		return ""
	}
	if _, ok := errors.AsType[x509.HostnameError](err); ok {
		return "the certificate is for another name"
	}
	if _, ok := errors.AsType[x509.UnknownAuthorityError](err); ok {
		return "no trusted authority signed the certificate"
	}
	if invalid, ok := errors.AsType[x509.CertificateInvalidError](err); ok && invalid.Reason == x509.Expired {
		return "the certificate has expired or is not valid yet"
	}
	return "the certificate is not acceptable"
}
