package egress_test

import (
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"fmt"
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

// An alert that is about something else, or that comes where a request may
// have been read, says nothing about whether it ran.
func TestOnlyAnAlertAboutTheCertificateIsARejection(t *testing.T) {
	a, clients := newAuthority(t), newAuthority(t)
	p := listening(t, a.demanding(t, clients, tls.VersionTLS13))
	g := guard(t, egress.Config{Loopback: true, Roots: a.pool()})
	identity := egress.Rules{TLS: &egress.TLS{Certificates: []tls.Certificate{clients.client(t, "acme", nil)}, Digest: "acme"}}
	conn, err := open(t, g, p.url("localhost"), identity)
	if err != nil {
		t.Fatal(err)
	}
	server := p.next()
	exchange(t, conn, server)
	again, err := open(t, g, p.url("localhost"), identity)
	if err != nil || !again.Reused() {
		t.Fatalf("want the connection kept, got %v", err)
	}
	send(t, p.under(server), "\x17\x03\x03\x00\x01\x00") // a record that no key opens
	_, err = again.Reader.ReadByte()
	if refusal := again.Rejected(err); err == nil || refusal != nil {
		t.Errorf("a broken record: want no rejection, got %v for %v", refusal, err)
	}
	again.Close()
	if refusal := again.Rejected(nil); refusal != nil {
		t.Errorf("no error: want no rejection, got %v", refusal)
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
