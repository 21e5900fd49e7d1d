package e2e_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"mcprelay/shared/call"
)

// issuer is an authority that signs certificates for servers and clients.
type issuer struct {
	certificate *x509.Certificate
	key         *ecdsa.PrivateKey
}

func newIssuer(t *testing.T, name string) issuer {
	t.Helper()
	key := newECKey(t)
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: name}, IsCA: true, BasicConstraintsValid: true,
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour), KeyUsage: x509.KeyUsageCertSign,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	certificate, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	return issuer{certificate, key}
}

func newECKey(t *testing.T) *ecdsa.PrivateKey {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return key
}

func (i issuer) pool() *x509.CertPool {
	pool := x509.NewCertPool()
	pool.AddCert(i.certificate)
	return pool
}

// sign makes a certificate for a name, and gives it and its key as PEM.
func (i issuer) sign(t *testing.T, name string, until time.Time) (certificate, key string) {
	t.Helper()
	private := newECKey(t)
	template := &x509.Certificate{
		SerialNumber: big.NewInt(2), Subject: pkix.Name{CommonName: name}, DNSNames: []string{name},
		NotBefore: time.Now().Add(-2 * time.Hour), NotAfter: until,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, i.certificate, &private.PublicKey, i.key)
	if err != nil {
		t.Fatal(err)
	}
	raw, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}
	return encode("CERTIFICATE", der), encode("PRIVATE KEY", raw)
}

func encode(kind string, der []byte) string {
	return string(pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}))
}

// gated is a server behind TLS that lets in whom clients signed, and remembers
// whom it took each caller for.
type gated struct {
	*httptest.Server
	mu   sync.Mutex
	seen []string
}

func startGated(t *testing.T, authority, clients issuer) *gated {
	t.Helper()
	up := startUpstream(t)
	certificate, key := authority.sign(t, "mcp.localhost", time.Now().Add(time.Hour))
	pair, err := tls.X509KeyPair([]byte(certificate), []byte(key))
	if err != nil {
		t.Fatal(err)
	}
	g := &gated{}
	g.Server = httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		g.mu.Lock()
		g.seen = append(g.seen, r.TLS.PeerCertificates[0].Subject.CommonName)
		g.mu.Unlock()
		up.ServeHTTP(w, r)
	}))
	g.TLS = &tls.Config{Certificates: []tls.Certificate{pair}, ClientAuth: tls.RequireAndVerifyClientCert, ClientCAs: clients.pool()}
	g.StartTLS()
	t.Cleanup(g.Close)
	return g
}

// callers are whom the server took the callers for since it was last asked.
func (g *gated) callers() string {
	g.mu.Lock()
	defer g.mu.Unlock()
	names := map[string]bool{}
	for _, name := range g.seen {
		names[name] = true
	}
	g.seen = nil
	var all []string
	for name := range names {
		all = append(all, name)
	}
	return strings.Join(all, " and ")
}

// identities are registrations of one endpoint, each with its own identity.
type identities struct {
	servers []server
	rules   []rule
	env     []string
	refs    map[string]string // reference -> variable
}

// certify makes a client certificate of a name, and its references.
func (i *identities) certify(t *testing.T, by issuer, name string, until time.Time) {
	t.Helper()
	certificate, key := by.sign(t, name, until)
	variable := strings.ToUpper(name)
	i.env = append(i.env, variable+"_CERT="+certificate, variable+"_KEY="+key)
	i.refs[name+"-cert"], i.refs[name+"-key"] = variable+"_CERT", variable+"_KEY"
}

// trust makes an authority's references.
func (i *identities) trust(by issuer, name string) {
	variable := strings.ToUpper(name) + "_CA"
	i.env = append(i.env, variable+"="+encode("CERTIFICATE", by.certificate.Raw))
	i.refs[name+"-ca"] = variable
}

// register adds a server that trusts an authority and shows a certificate; an
// empty authority is the system's.
func (i *identities) register(name, endpoint, authority, certificate string) {
	identity := map[string]any{"client_cert_ref": certificate + "-cert", "client_key_ref": certificate + "-key"}
	if authority != "" {
		identity["ca_ref"] = authority + "-ca"
	}
	secrets := map[string]string{}
	for _, ref := range identity {
		secrets[ref.(string)] = i.refs[ref.(string)]
	}
	s := entry(name, endpoint, nil).with("tls", identity)
	s["secrets"] = secrets
	i.servers = append(i.servers, s)
	i.rules = append(i.rules, allow("mcp."+name+".host.*"), allow("mcp."+name+".tool.*"))
}

// permit lets every server use every reference.
func (i *identities) permit() {
	var to []string
	for _, s := range i.servers {
		to = append(to, "mcp."+s["name"].(string)+".*")
	}
	for ref := range i.refs {
		i.rules = append(i.rules, rule{"action": "secret.use." + ref, "decision": "allow", "to": to})
	}
}

// Two registrations of one address, each with its own identity, and others
// whose identity is wrong: each call is made as its registration says.
func TestEachRegistrationIsItsOwnIdentity(t *testing.T) {
	authority, clients, strangers := newIssuer(t, "private authority"), newIssuer(t, "clients"), newIssuer(t, "strangers")
	up := startGated(t, authority, clients)
	endpoint := strings.Replace(up.URL, "127.0.0.1", "mcp.localhost", 1) + "/mcp"
	set := &identities{refs: map[string]string{}}
	for _, name := range []string{"acme", "globex"} {
		set.certify(t, clients, name, time.Now().Add(time.Hour))
	}
	set.certify(t, strangers, "stranger", time.Now().Add(time.Hour))
	set.certify(t, clients, "expired", time.Now().Add(-time.Hour))
	set.trust(authority, "own")
	set.trust(strangers, "other")
	for _, name := range []string{"acme", "globex", "stranger", "expired"} {
		set.register(name, endpoint, "own", name)
	}
	set.register("wrong-ca", endpoint, "other", "acme")
	set.register("no-ca", endpoint, "", "acme")
	set.permit()
	data := t.TempDir()
	relay := serve(t, set.env, "--config", writeConfig(t, set.servers, set.rules, nil), "--data", data, "--allow-loopback")
	for range 2 {
		for _, name := range []string{"acme", "globex"} {
			if r := relay.post(t, "/v1/servers/"+name+"/tools/echo", `{"arguments":{}}`); r.status != 200 {
				t.Fatalf("%s: got %d %s\n%s", name, r.status, r.body, relay.stderr)
			}
			if got := up.callers(); got != name {
				t.Errorf("want the server to see %s alone, got %s", name, got)
			}
		}
	}
	for name, want := range map[string]struct {
		reason call.Reason
		detail string
	}{
		"stranger": {call.TLS, "accepts no certificate"}, "expired": {call.SecretUnusable, "certificate"},
		"wrong-ca": {call.TLS, "no trusted authority"}, "no-ca": {call.TLS, "no trusted authority"},
	} {
		checkProblem(t, relay.post(t, "/v1/servers/"+name+"/tools/echo", `{"arguments":{}}`), 502, want.reason)
		if record := last(t, data); record.Reason != want.reason || record.Posts != 0 || !strings.Contains(record.Detail, want.detail) {
			t.Errorf("%s: want %v, got %+v", name, want, record)
		}
		if got := up.callers(); got != "" {
			t.Errorf("%s: the server saw %s", name, got)
		}
	}
	if strings.Contains(relay.stderr.String(), "BEGIN") {
		t.Error("the log quotes PEM")
	}
}
