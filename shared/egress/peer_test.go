package egress_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"io"
	"iter"
	"math/big"
	"net"
	"sync"
	"testing"
	"time"
)

// peer is an upstream that the test drives by hand: it accepts connections,
// does TLS where it has a configuration, and hands them over.
type peer struct {
	t        testing.TB
	listener net.Listener
	config   *tls.Config
	running  sync.WaitGroup
	accepted chan net.Conn
	ended    chan struct{}           // the listener is closed
	wrap     func(net.Conn) net.Conn // what TLS writes to; nil for the socket

	mu    sync.Mutex
	conns []net.Conn
	raw   map[net.Conn]net.Conn // under TLS
}

// listening starts a peer on a free loopback port.
func listening(t testing.TB, config *tls.Config) *peer {
	t.Helper()
	return listeningAt(t, "127.0.0.1:0", config, nil)
}

// listeningAt is listening on a chosen address, where wrap may come between
// TLS and the socket.
func listeningAt(t testing.TB, addr string, config *tls.Config, wrap func(net.Conn) net.Conn) *peer {
	t.Helper()
	l, err := net.Listen("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	p := &peer{t: t, listener: l, config: config, wrap: wrap, accepted: make(chan net.Conn, 512),
		ended: make(chan struct{}), raw: map[net.Conn]net.Conn{}}
	p.running.Go(p.accept)
	t.Cleanup(func() {
		l.Close()
		p.mu.Lock()
		for _, c := range p.conns {
			c.Close()
		}
		p.mu.Unlock()
		p.running.Wait()
	})
	return p
}

func (p *peer) port() uint16 { return p.listener.Addr().(*net.TCPAddr).AddrPort().Port() }

// url is the peer as an endpoint under a host.
func (p *peer) url(host string) string {
	scheme := "http"
	if p.config != nil {
		scheme = "https"
	}
	return fmt.Sprintf("%s://%s:%d/mcp", scheme, host, p.port())
}

func (p *peer) accept() {
	defer close(p.ended)
	for {
		conn, err := p.listener.Accept()
		if err != nil {
			return
		}
		p.mu.Lock()
		p.conns = append(p.conns, conn)
		p.mu.Unlock()
		if p.config == nil {
			p.accepted <- conn
			continue
		}
		p.running.Go(func() { p.secure(conn) })
	}
}

// secure hands over connections whose handshake succeeded.
func (p *peer) secure(raw net.Conn) {
	below := raw
	if p.wrap != nil {
		below = p.wrap(raw)
	}
	conn := tls.Server(below, p.config)
	if conn.Handshake() != nil {
		raw.Close()
		return
	}
	p.mu.Lock()
	p.raw[conn] = raw
	p.mu.Unlock()
	p.accepted <- conn
}

// next waits for a connection.
func (p *peer) next() net.Conn {
	p.t.Helper()
	return <-p.accepted
}

// all gives every connection until the listener is closed.
func (p *peer) all() iter.Seq[net.Conn] {
	return func(yield func(net.Conn) bool) {
		for {
			select {
			case conn := <-p.accepted:
				if !yield(conn) {
					return
				}
			case <-p.ended:
				return
			}
		}
	}
}

// under is the TCP connection under a TLS one.
func (p *peer) under(conn net.Conn) net.Conn {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.raw[conn]
}

// attempts counts the connections that came in, whatever became of them.
func (p *peer) attempts() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.conns)
}

// authority signs certificates.
type authority struct {
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
}

func newAuthority(t testing.TB) *authority {
	t.Helper()
	key := newKey(t)
	template := &x509.Certificate{ // the name is its own: servers ask for certificates by the names of authorities
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "test authority " + rand.Text()},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	return &authority{cert: cert, key: key}
}

func newKey(t testing.TB) *ecdsa.PrivateKey {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return key
}

// pool trusts the authority alone.
func (a *authority) pool() *x509.CertPool {
	roots := x509.NewCertPool()
	roots.AddCert(a.cert)
	return roots
}

// pem is the authority as SSL_CERT_FILE holds it.
func (a *authority) pem() []byte {
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: a.cert.Raw})
}

// serving is a server's configuration with a certificate for names and
// addresses; change edits it before it is signed.
func (a *authority) serving(t testing.TB, names []string, change func(*x509.Certificate)) *tls.Config {
	t.Helper()
	key := newKey(t)
	template := &x509.Certificate{
		SerialNumber: big.NewInt(2), Subject: pkix.Name{CommonName: "test server"},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	for _, n := range names {
		if ip := net.ParseIP(n); ip != nil {
			template.IPAddresses = append(template.IPAddresses, ip)
		} else {
			template.DNSNames = append(template.DNSNames, n)
		}
	}
	if change != nil {
		change(template)
	}
	der, err := x509.CreateCertificate(rand.Reader, template, a.cert, key.Public(), a.key)
	if err != nil {
		t.Fatal(err)
	}
	return &tls.Config{
		Certificates: []tls.Certificate{{Certificate: [][]byte{der}, PrivateKey: key}},
		NextProtos:   []string{"h2", "http/1.1"},
	}
}

// send writes s; a failure is the test's.
func send(t testing.TB, w io.Writer, s string) {
	t.Helper()
	if _, err := io.WriteString(w, s); err != nil {
		t.Fatalf("sending %q: %v", s, err)
	}
}

// receive reads exactly as many bytes as want has.
func receive(t testing.TB, r io.Reader, want string) {
	t.Helper()
	got := make([]byte, len(want))
	if _, err := io.ReadFull(r, got); err != nil || string(got) != want {
		t.Fatalf("want to receive %q, got %q, %v", want, got, err)
	}
}
