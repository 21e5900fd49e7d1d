package runtimeapi_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"io"
	"log"
	"math/big"
	"net"
	"net/http"
	"net/http/httputil"
	"net/netip"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"mcprelay/test/canary"
	"mcprelay/test/netns"
	"mcprelay/test/peers"
	"mcprelay/test/runtimeapi"
)

// The network that the real bootstrap finds: names in the hosts file, one
// private address where the upstreams are, another and loopback, where it may
// not go, and a public one, where an issuer is.
const (
	privateAddress = "10.77.0.2"
	insideAddress  = "10.77.0.3"
	publicAddress  = "93.184.216.34"
	hostsFile      = "127.0.0.1 localhost\n" +
		privateAddress + " mcp.example.com legacy.example.com keyed.example.com slow.example.com\n" +
		insideAddress + " inside.example.com\n" +
		publicAddress + " login.example.com\n" +
		"127.0.0.1 loop.example.com\n"
)

// network is the namespace of every test with the real bootstrap.
func network() netns.Options {
	return netns.Options{Hosts: hostsFile, Addresses: []netip.Prefix{
		netip.MustParsePrefix(privateAddress + "/24"), netip.MustParsePrefix(insideAddress + "/24"), netip.MustParsePrefix(publicAddress + "/32"),
	}}
}

// world is everything around the real bootstrap: emulators in place of AWS,
// real upstreams behind TLS on a private address, a canary on loopback.
type world struct {
	*stores
	bootstrap string
	env       []string
	modern    *peers.Counter // Go SDK's server, at mcp.example.com and keyed.example.com
	legacy    *peers.Counter // server-everything, at legacy.example.com
	slow      *slowServer    // at slow.example.com
	login     *login         // at login.example.com
	canary    *canary.Canary // where loop.example.com leads
	inside    *canary.Canary // where inside.example.com leads
	printed   *output
}

// newWorld builds it. The emulators of the run listen on another namespace's
// loopback, so this one starts its own.
func newWorld(t *testing.T) *world {
	t.Helper()
	for _, name := range []string{peers.EnvDynalite, peers.EnvMoto, peers.EnvEverything, peers.EnvGoStateless} {
		t.Setenv(name, "")
	}
	w := &world{
		stores:    newStores(t),
		bootstrap: build(t, "mcprelay/functions/relay"),
		modern:    peers.Counted(t, peers.GoStateless(t)),
		legacy:    peers.Counted(t, peers.Everything(t)),
		slow:      newSlowServer(t),
		login:     newLogin(t),
		canary:    canary.Listen(t, "127.0.0.1:443"),
		inside:    canary.Listen(t, insideAddress+":443"),
		printed:   &output{},
	}
	w.env = append(w.stores.env(), "SSL_CERT_FILE="+w.serveUpstreams(t), "RELAY_PUBLIC_URL="+publicURL)
	w.login.register(t, w.stores)
	return w
}

// start runs the real bootstrap, or another of the functions.
func (w *world) start(t *testing.T, o runtimeapi.Options) *runtimeapi.Simulator {
	t.Helper()
	if o.Bootstrap == "" {
		o.Bootstrap = w.bootstrap
	}
	o.Env, o.Log = append(slices.Clone(w.env), o.Env...), w.printed
	return runtimeapi.Start(t, o)
}

// serveUpstreams puts the upstreams behind TLS on the private address, each by
// its name, and gives the file of the authority that signed their certificate.
func (w *world) serveUpstreams(t *testing.T) string {
	t.Helper()
	certificate, authority := issue(t, "mcp.example.com", "legacy.example.com", "keyed.example.com", "slow.example.com", "login.example.com")
	modern := forward(t, w.modern.URL)
	handlers := map[string]http.Handler{
		"mcp.example.com":    modern,
		"keyed.example.com":  keyed(modern),
		"legacy.example.com": forward(t, w.legacy.URL),
		"slow.example.com":   w.slow,
		"login.example.com":  w.login,
	}
	server := &http.Server{
		ErrorLog: log.New(io.Discard, "", 0),
		Handler: http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
			if handler := handlers[r.Host]; handler != nil {
				handler.ServeHTTP(rw, r)
				return
			}
			http.Error(rw, "no such host", http.StatusMisdirectedRequest)
		}),
	}
	for _, address := range []string{privateAddress, publicAddress} {
		listener, err := net.Listen("tcp", address+":443")
		if err != nil {
			t.Fatal(err)
		}
		secure := tls.NewListener(listener, &tls.Config{Certificates: []tls.Certificate{certificate}, NextProtos: []string{"http/1.1"}})
		go func() { _ = server.Serve(secure) }()
	}
	t.Cleanup(func() { server.Close() })
	return authority
}

// keyed lets only requests with the stored credential pass.
func keyed(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer "+storedSecret {
			http.Error(w, "no", http.StatusUnauthorized)
			return
		}
		next.ServeHTTP(w, r)
	})
}

// forward passes requests on to a peer, whatever their path.
func forward(t *testing.T, target string) http.Handler {
	t.Helper()
	to, err := url.Parse(target)
	if err != nil {
		t.Fatal(err)
	}
	return &httputil.ReverseProxy{
		FlushInterval: -1,
		Rewrite: func(r *httputil.ProxyRequest) {
			r.Out.URL, r.Out.Host = to, to.Host
		},
	}
}

// issue makes a certificate for the names, and the file of its authority.
func issue(t *testing.T, names ...string) (tls.Certificate, string) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "test authority"}, DNSNames: names,
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "authority.pem")
	if err := os.WriteFile(file, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), 0o600); err != nil {
		t.Fatal(err)
	}
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, file
}

// reached is how many requests came to any upstream, and how many of them
// were tool calls.
func (w *world) reached() (requests, calls int) {
	for _, c := range []*peers.Counter{w.modern, w.legacy} {
		requests += len(c.All())
		calls += c.Posts("tools/call")
	}
	return requests + w.slow.requests(), calls + w.slow.calls()
}
