package egress_test

import (
	"crypto/tls"
	"net/netip"
	"testing"

	"mcprelay/shared/egress"
)

// BenchmarkWarmConn is what a call pays for its connection when one is kept:
// the pool, the peek, and giving it back.
func BenchmarkWarmConn(b *testing.B) {
	a := newAuthority(b)
	for name, config := range map[string]*tls.Config{"plain": nil, "TLS": a.serving(b, []string{"localhost"}, nil)} {
		b.Run(name, func(b *testing.B) {
			p := listening(b, config)
			g := guard(b, egress.Config{Loopback: true, Roots: a.pool()})
			r := route(b, g, p.url("localhost"))
			conn := connect(b, g, p.url("localhost"))
			if config != nil { // the session tickets come first
				send(b, p.next(), "x")
				receive(b, conn.Reader, "x")
			}
			conn.Release()
			b.ReportAllocs()
			for b.Loop() {
				conn, err := g.Conn(b.Context(), r)
				if err != nil || !conn.Reused() {
					b.Fatalf("want the kept connection, got %v", err)
				}
				stop := conn.Bind(b.Context())
				stop()
				conn.Release()
			}
		})
	}
}

func BenchmarkWarmResolve(b *testing.B) {
	for name, rules := range map[string]egress.Rules{"public": {}, "networks": {Networks: prefixes("10.0.0.0/8")}} {
		b.Run(name, func(b *testing.B) {
			answer := "93.184.216.34"
			if len(rules.Networks) > 0 {
				answer = "10.1.2.3"
			}
			g := guard(b, egress.Config{Lookup: saying(answer)})
			u := at(b, "https://mcp.example.com/mcp")
			b.ReportAllocs()
			for b.Loop() {
				if _, err := g.Resolve(b.Context(), u, rules); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkClassify(b *testing.B) {
	for _, literal := range []string{"93.184.216.34", "2606:4700::1", "127.0.0.1"} {
		b.Run(literal, func(b *testing.B) {
			a := netip.MustParseAddr(literal)
			b.ReportAllocs()
			for b.Loop() {
				egress.Classify(a)
			}
		})
	}
}
