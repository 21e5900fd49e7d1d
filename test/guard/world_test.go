// Package guard_test tries the guard by the numbers of the tables of DNS
// answers (D1 to D24) and of sockets (R11 to R17): a whole relay, a real name
// server, public addresses, and a machine without a way out.
package guard_test

import (
	"net/netip"
	"testing"
	"time"

	"mcprelay/shared/call"
	"mcprelay/shared/egress"
	"mcprelay/test/canary"
	"mcprelay/test/fakedns"
	"mcprelay/test/hostile"
	"mcprelay/test/netns"
)

const (
	host    = "mcp.example.com"
	public  = "93.184.216.34" // where the server is
	second  = "93.184.216.35" // the machine's too, and nothing listens
	public6 = "2606:2800:220:1::34"
)

// forbidden are addresses that the machine has and the relay must not connect
// to: the real ones of the table.
func forbidden() []string {
	return []string{"127.0.0.1", "::1", "169.254.169.254", "169.254.170.2", "10.0.0.7", "100.100.100.200", "168.63.129.16", "192.0.0.192", "fd00:ec2::254"}
}

// machine runs body in a namespace that has the public and the forbidden
// addresses, with canaries on the latter that must have seen nobody at the end.
func machine(t *testing.T, o netns.Options, body func(t *testing.T)) {
	t.Helper()
	for _, a := range append(forbidden(), public, second, public6) {
		addr := netip.MustParseAddr(a)
		if !addr.IsLoopback() {
			o.Addresses = append(o.Addresses, netip.PrefixFrom(addr, addr.BitLen()))
		}
	}
	netns.Run(t, o, func(t *testing.T) {
		var canaries []*canary.Canary
		for _, a := range forbidden() {
			for _, port := range []uint16{443, 80} {
				canaries = append(canaries, canary.Listen(t, netip.AddrPortFrom(netip.MustParseAddr(a), port).String()))
			}
		}
		body(t)
		for _, c := range canaries {
			if hits := c.Hits(); hits != 0 {
				t.Errorf("%s saw %d connections, want 0", c.Addr(), hits)
			}
		}
	})
}

// world is a relay in front of a server at the public address.
type world struct {
	up    *hostile.Server
	relay *hostile.Front
	dns   *fakedns.Server
}

// start makes a world in which the host answers with a.
func start(t *testing.T, dns *fakedns.Server, a fakedns.Answer, o hostile.Options, s hostile.Setup) world {
	t.Helper()
	o.Host = host
	if o.Listen == "" {
		o.Listen = public + ":443"
	}
	s.NoLoopback = true
	if s.Lookup == nil {
		s.Lookup = egress.NewLookup(nil)
	}
	up := hostile.Start(t, o)
	dns.Set(host, a)
	return world{up: up, relay: hostile.Relay(t, up, s), dns: dns}
}

// asked is how often the host was asked for, by either family.
func (w world) asked() (v4, v6 int) { return w.dns.Count("A", host), w.dns.Count("AAAA", host) }

// wantAnswered fails unless a call is answered by one POST to addr.
func (w world) wantAnswered(t *testing.T, addr string) {
	t.Helper()
	before := w.up.Calls()
	reply := w.relay.Call(t, hostile.Ask{})
	if reply.Record.Outcome != call.Answered || reply.Record.Address != addr || w.up.Calls() != before+1 {
		t.Fatalf("want one POST to %s and its answer, got %d and the record %+v", addr, w.up.Calls()-before, reply.Record)
	}
	if last := w.up.Last("tools/call"); last.ServerName != host || last.Host != host {
		t.Errorf("want the server to be asked by its name, got %q and %q", last.ServerName, last.Host)
	}
}

// wantRefused fails unless a call is refused for the reason and nothing reached
// the server, not even a connection.
func (w world) wantRefused(t *testing.T, want call.Reason) hostile.Reply {
	t.Helper()
	requests, connections := len(w.up.Requests()), w.up.Connections()
	reply := w.relay.Call(t, hostile.Ask{})
	record := reply.Record
	if record.Reason != want || record.Outcome != want.Row().Outcome || record.Posts != 0 {
		t.Fatalf("want %s without a POST, got %+v", want, record)
	}
	if got := reply.Error().Reason; got != want {
		t.Errorf("want the agent told %s, got %s", want, got)
	}
	if len(w.up.Requests()) != requests || w.up.Connections() != connections {
		t.Errorf("want nothing to reach the server, got %v", w.up.Sequence())
	}
	return reply
}

// clock is the time as a test has it.
type clock struct{ passed time.Duration }

func (c *clock) now() time.Time { return time.Now().Add(c.passed) }
