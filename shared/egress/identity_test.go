package egress_test

import (
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"fmt"
	"io"
	"math/big"
	"strings"
	"testing"
	"time"

	"mcprelay/shared/call"
	"mcprelay/shared/egress"
)

// client signs a certificate by which a client is known as name.
func (a *authority) client(t testing.TB, name string, change func(*x509.Certificate)) tls.Certificate {
	t.Helper()
	key := newKey(t)
	template := &x509.Certificate{
		SerialNumber: big.NewInt(3), Subject: pkix.Name{CommonName: name},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
	}
	if change != nil {
		change(template)
	}
	der, err := x509.CreateCertificate(rand.Reader, template, a.cert, key.Public(), a.key)
	if err != nil {
		t.Fatal(err)
	}
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}
}

// demanding is a server's configuration that lets in whom clients signed.
func (a *authority) demanding(t testing.TB, clients *authority, version uint16) *tls.Config {
	t.Helper()
	config := a.serving(t, []string{"localhost"}, nil)
	config.ClientAuth, config.ClientCAs = tls.RequireAndVerifyClientCert, clients.pool()
	config.MinVersion, config.MaxVersion = version, version
	return config
}

// under both versions, because they refuse a client at different times.
func versions(t *testing.T, test func(t *testing.T, version uint16)) {
	for name, version := range map[string]uint16{"TLS 1.2": tls.VersionTLS12, "TLS 1.3": tls.VersionTLS13} {
		t.Run(name, func(t *testing.T) { test(t, version) })
	}
}

// open is connect under rules, with the error of either step.
func open(t testing.TB, g *egress.Guard, url string, r egress.Rules) (*egress.Conn, error) {
	t.Helper()
	route, err := g.Resolve(t.Context(), at(t, url), r)
	if err != nil {
		return nil, err
	}
	return g.Conn(t.Context(), route)
}

// caller is whom a server took the client for.
func caller(conn any) string {
	certificates := conn.(*tls.Conn).ConnectionState().PeerCertificates
	if len(certificates) == 0 {
		return "nobody"
	}
	return certificates[0].Subject.CommonName
}

func TestAServerIsShownTheIdentityOfItsRegistration(t *testing.T) {
	versions(t, func(t *testing.T, version uint16) {
		private, clients, others := newAuthority(t), newAuthority(t), newAuthority(t)
		p := listening(t, private.demanding(t, clients, version))
		g := guard(t, egress.Config{Loopback: true, Roots: newAuthority(t).pool()})
		for _, certificates := range [][]tls.Certificate{
			{clients.client(t, "acme", nil)},
			{others.client(t, "another", nil), clients.client(t, "acme", nil)}, // the first that is accepted
		} {
			identity := &egress.TLS{Roots: private.pool(), Certificates: certificates, Digest: fmt.Sprint(len(certificates))}
			conn, err := open(t, g, p.url("localhost"), egress.Rules{TLS: identity})
			if err != nil {
				t.Fatal(err)
			}
			server := p.next()
			if got := caller(server); got != "acme" {
				t.Errorf("want the server to see acme, got %s", got)
			}
			exchange(t, conn, server)
		}
	})
}

func TestAPrivateAuthorityReplacesThoseOfTheGuardForItsServerAlone(t *testing.T) {
	public, private := newAuthority(t), newAuthority(t)
	inside := listening(t, private.serving(t, []string{"localhost"}, nil))
	outside := listening(t, public.serving(t, []string{"localhost"}, nil))
	g := guard(t, egress.Config{Loopback: true, Roots: public.pool()})
	own := egress.Rules{TLS: &egress.TLS{Roots: private.pool(), Digest: "own"}}
	for _, row := range []struct {
		rule  string
		p     *peer
		rules egress.Rules
		want  call.Reason
	}{
		{"a private server under its authority", inside, own, ""},
		{"a private server under the guard's", inside, egress.Rules{}, call.TLS},
		{"a public server under the private authority", outside, own, call.TLS},
		{"a public server under the guard's", outside, egress.Rules{}, ""},
		{"a certificate and the guard's authorities", outside, egress.Rules{TLS: &egress.TLS{
			Certificates: []tls.Certificate{private.client(t, "acme", nil)}, Digest: "certificate"}}, ""},
	} {
		conn, err := open(t, g, row.p.url("localhost"), row.rules)
		if row.want != "" {
			if refusal := refused(t, err, row.want); !strings.HasSuffix(refusal.Detail, "no trusted authority signed the certificate") {
				t.Errorf("%s: got the detail %q", row.rule, refusal.Detail)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", row.rule, err)
			continue
		}
		if got := caller(row.p.next()); got != "nobody" {
			t.Errorf("%s: a server that asks for nothing was shown %s", row.rule, got)
		}
		conn.Close()
	}
}

// What the server would refuse is refused here, before it is sent a byte of
// the request: with TLS 1.3 its word comes too late.
func TestACertificateThatTheServerWouldRefuseIsNotTried(t *testing.T) {
	past := func(c *x509.Certificate) { c.NotAfter = time.Now().Add(-time.Minute) }
	future := func(c *x509.Certificate) { c.NotBefore = time.Now().Add(time.Minute) }
	versions(t, func(t *testing.T, version uint16) {
		a, clients, others := newAuthority(t), newAuthority(t), newAuthority(t)
		p := listening(t, a.demanding(t, clients, version))
		g := guard(t, egress.Config{Loopback: true, Roots: a.pool()})
		broken := clients.client(t, "acme", nil)
		broken.Certificate = [][]byte{append([]byte{0}, broken.Certificate[0]...)}
		for want, certificate := range map[string]tls.Certificate{
			"the server accepts no certificate of this registration":                others.client(t, "acme", nil),
			"the registration's certificate has expired or is not valid yet":        clients.client(t, "acme", past),
			"the registration's certificate has expired or is not valid yet (soon)": clients.client(t, "acme", future),
			"the server accepts no certificate of this registration (unreadable)":   broken,
			"the server accepts no certificate of this registration (empty)":        {PrivateKey: broken.PrivateKey},
		} {
			identity := &egress.TLS{Certificates: []tls.Certificate{certificate}, Digest: want}
			_, err := open(t, g, p.url("localhost"), egress.Rules{TLS: identity})
			refusal := refused(t, err, call.TLS)
			text, _, _ := strings.Cut(want, " (")
			if !strings.HasSuffix(refusal.Detail, ": "+text) || refusal.MayHaveRun() != call.ImpactNone {
				t.Errorf("want a call that did not run and %q, got %s and %q", text, refusal.MayHaveRun(), refusal.Detail)
			}
		}
	})
}

// A server that refuses by a rule of its own says so after the handshake with
// TLS 1.3 and in it before.
func TestTheServersOwnRefusalOfACertificateIsNamed(t *testing.T) {
	for _, row := range []struct {
		rule   string
		rules  func(clients *authority) egress.Rules
		detail string
	}{
		{"revoked", func(clients *authority) egress.Rules {
			return egress.Rules{TLS: &egress.TLS{Certificates: []tls.Certificate{clients.client(t, "revoked", nil)}, Digest: "revoked"}}
		}, "the server does not accept the registration's certificate"},
		{"none", func(*authority) egress.Rules { return egress.Rules{} }, "the server asks for a client certificate, and the registration has none"},
		{"an authority alone", func(*authority) egress.Rules { return egress.Rules{TLS: &egress.TLS{Digest: "roots"}} },
			"the server asks for a client certificate, and the registration has none"},
	} {
		t.Run(row.rule, func(t *testing.T) {
			versions(t, func(t *testing.T, version uint16) {
				a, clients := newAuthority(t), newAuthority(t)
				config := a.demanding(t, clients, version)
				config.VerifyConnection = func(tls.ConnectionState) error {
					return fmt.Errorf("revoked%.0w", &tls.CertificateVerificationError{})
				}
				p := listening(t, config)
				g := guard(t, egress.Config{Loopback: true, Roots: a.pool()})
				conn, err := open(t, g, p.url("localhost"), row.rules(clients))
				if version == tls.VersionTLS12 {
					if refusal := refused(t, err, call.TLS); !strings.HasSuffix(refusal.Detail, row.detail) {
						t.Errorf("want a detail with %q, got %q", row.detail, refusal.Detail)
					}
					return
				}
				if err != nil {
					t.Fatal(err)
				}
				defer conn.Close()
				conn.Write([]byte("request"))
				_, err = conn.Reader.ReadByte()
				refusal := conn.Rejected(err)
				if refusal == nil || refusal.Reason != call.TLS || refusal.MayHaveRun() != call.ImpactNone || !strings.HasSuffix(refusal.Detail, row.detail) {
					t.Errorf("want a call that did not run and %q, got %v for %v", row.detail, refusal, err)
				}
			})
		})
	}
}

// Where a request may have been read, an alert says nothing about whether it
// ran: on a connection that gave a reply before, that asked for nothing, or
// whose certificate was taken before the request was written.
func TestAnAlertIsARejectionOnlyBeforeAnythingElse(t *testing.T) {
	a, clients := newAuthority(t), newAuthority(t)
	strict := listening(t, a.demanding(t, clients, tls.VersionTLS13))
	open13 := listening(t, a.serving(t, []string{"localhost"}, nil))
	g := guard(t, egress.Config{Loopback: true, Roots: a.pool()})
	refusedConn, err := open(t, g, strict.url("localhost"), egress.Rules{})
	if err != nil {
		t.Fatal(err)
	}
	defer refusedConn.Close()
	_, alert := refusedConn.Reader.ReadByte()
	if refusedConn.Rejected(alert) == nil {
		t.Fatalf("want a rejection, got none for %v", alert)
	}
	identity := egress.Rules{TLS: &egress.TLS{Certificates: []tls.Certificate{clients.client(t, "acme", nil)}, Digest: "acme"}}
	asked, err := open(t, g, strict.url("localhost"), identity)
	if err != nil {
		t.Fatal(err)
	}
	server := strict.next()
	if asked.Rejected(io.EOF) != nil || asked.Rejected(nil) != nil {
		t.Error("an end without an alert: want no rejection")
	}
	converse(t, asked, server)
	if asked.Rejected(alert) != nil {
		t.Error("after a byte of the reply: want no rejection")
	}
	asked.Release()
	again, err := open(t, g, strict.url("localhost"), identity)
	if err != nil || !again.Reused() {
		t.Fatalf("want the connection kept, got %v", err)
	}
	defer again.Close()
	if again.Rejected(alert) != nil {
		t.Error("on a kept connection: want no rejection")
	}
	older := listening(t, a.demanding(t, clients, tls.VersionTLS12))
	before13, err := open(t, g, older.url("localhost"), identity)
	if err != nil {
		t.Fatal(err)
	}
	defer before13.Close()
	before13.Write([]byte("request"))
	if before13.Rejected(alert) != nil {
		t.Error("with TLS 1.2, after the handshake that would have refused the certificate: want no rejection")
	}
	unasked, err := open(t, g, open13.url("localhost"), egress.Rules{})
	if err != nil {
		t.Fatal(err)
	}
	defer unasked.Close()
	if unasked.Rejected(alert) != nil {
		t.Error("of a server that asked for nothing: want no rejection")
	}
}

// A server that names no authorities leaves the choice to the client.
func TestACertificateThatCannotBeReadIsShownToNobody(t *testing.T) {
	a := newAuthority(t)
	config := a.serving(t, []string{"localhost"}, nil)
	config.ClientAuth = tls.RequireAnyClientCert
	p := listening(t, config)
	g := guard(t, egress.Config{Loopback: true, Roots: a.pool()})
	good := a.client(t, "acme", nil)
	for digest, certificate := range map[string]tls.Certificate{
		"unreadable": {Certificate: [][]byte{{1, 2, 3}}, PrivateKey: good.PrivateKey},
		"empty":      {PrivateKey: good.PrivateKey},
	} {
		rules := egress.Rules{TLS: &egress.TLS{Certificates: []tls.Certificate{certificate}, Digest: digest}}
		_, err := open(t, g, p.url("localhost"), rules)
		refused(t, err, call.TLS)
	}
	conn, err := open(t, g, p.url("localhost"), egress.Rules{TLS: &egress.TLS{Certificates: []tls.Certificate{good}, Digest: "good"}})
	if err != nil {
		t.Fatal(err)
	}
	conn.Close()
	if got := caller(p.next()); got != "acme" {
		t.Errorf("want acme, got %s", got)
	}
}

// What is valid is valid by the guard's clock.
func TestCertificatesAgeByTheClockOfTheGuard(t *testing.T) {
	a := newAuthority(t)
	p := listening(t, a.serving(t, []string{"localhost"}, nil))
	c := newClock()
	g := guard(t, egress.Config{Loopback: true, Roots: a.pool(), Now: c.Now})
	connect(t, g, p.url("localhost")).Close()
	c.pass(2 * time.Hour)
	_, err := open(t, g, p.url("localhost"), egress.Rules{})
	if refusal := refused(t, err, call.TLS); !strings.HasSuffix(refusal.Detail, "has expired or is not valid yet") {
		t.Errorf("got the detail %q", refusal.Detail)
	}
}

// The same address, and two servers' worth of identity: neither a connection
// nor a session of the one is ever the other's.
func TestAnIdentityNeverTravelsOnTheConnectionOfAnother(t *testing.T) {
	versions(t, func(t *testing.T, version uint16) {
		a, clients := newAuthority(t), newAuthority(t)
		config := a.demanding(t, clients, version)
		config.ClientAuth = tls.VerifyClientCertIfGiven
		p := listening(t, config)
		g := guard(t, egress.Config{Loopback: true, Roots: a.pool()})
		rules := map[string]egress.Rules{"nobody": {}}
		for _, name := range []string{"acme", "globex"} {
			rules[name] = egress.Rules{TLS: &egress.TLS{Certificates: []tls.Certificate{clients.client(t, name, nil)}, Digest: name}}
		}
		for round := range 3 {
			for name, r := range rules {
				conn, err := open(t, g, p.url("localhost"), r)
				if err != nil {
					t.Fatal(err)
				}
				if conn.Reused() {
					t.Errorf("round %d: %s was given the connection of another", round, name)
				}
				server := p.next()
				if got := caller(server); got != name {
					t.Errorf("round %d: want %s, the server saw %s", round, name, got)
				}
				if resumed := server.(*tls.Conn).ConnectionState().DidResume; resumed != (round > 0) {
					t.Errorf("round %d: want a session of %s's own resumed %t, got %t", round, name, round > 0, resumed)
				}
				converse(t, conn, server)
				conn.Close()
			}
		}
	})
}

func TestAKeptConnectionIsFoundByItsIdentity(t *testing.T) {
	a, clients := newAuthority(t), newAuthority(t)
	p := listening(t, a.demanding(t, clients, tls.VersionTLS13))
	g := guard(t, egress.Config{Loopback: true, Roots: a.pool()})
	named := func(name, digest string) egress.Rules {
		return egress.Rules{TLS: &egress.TLS{Certificates: []tls.Certificate{clients.client(t, name, nil)}, Digest: digest}}
	}
	first, err := open(t, g, p.url("localhost"), named("acme", "v1"))
	if err != nil {
		t.Fatal(err)
	}
	exchange(t, first, p.next())
	for _, row := range []struct {
		digest string
		reused bool
	}{{"v2", false}, {"v1", true}} {
		conn, err := open(t, g, p.url("localhost"), named("acme", row.digest))
		if err != nil || conn.Reused() != row.reused {
			t.Fatalf("%s: want reused %t, got %v, %v", row.digest, row.reused, conn, err)
		}
		conn.Close()
	}
}

func TestAnIdentityWithoutADigestIsRefused(t *testing.T) {
	g := guard(t, egress.Config{Lookup: saying("93.184.216.34")})
	_, err := g.Resolve(t.Context(), at(t, "https://mcp.example.com/mcp"), egress.Rules{TLS: &egress.TLS{}})
	refused(t, err, call.Internal)
}
