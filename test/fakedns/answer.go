package fakedns

import (
	"net/netip"

	"golang.org/x/net/dns/dnsmessage"
)

// Answer is what a name answers with. The zero Answer is an empty NOERROR.
type Answer struct {
	// Addrs are the A records (4-byte addresses) and the AAAA records (16-byte
	// ones, IPv4-mapped included), in order.
	Addrs []netip.Addr
	// CNAME is a name the answer points to. Where that name has an answer of
	// its own it is inlined, as a recursive server does; where it has none the
	// reply is NXDOMAIN. Loops end after a few steps.
	CNAME string
	// Code is the response code; other than success it goes out without records.
	Code dnsmessage.RCode
	// CodeAAAA overrides Code for AAAA queries where it is not zero.
	CodeAAAA dnsmessage.RCode
	// Fault is how the reply is spoilt.
	Fault Fault
	// Then are the answers to the queries after the first, counted per record
	// type; the last one is repeated. Empty: every query is answered alike.
	Then []Answer
}

// Fault is one way to spoil a reply.
type Fault int

// The faults.
const (
	Sound         Fault = iota
	Silent              // no reply at all
	Truncated           // over UDP the TC bit and no records; complete over TCP
	WrongID             // another transaction's id
	OtherQuestion       // the reply is to another name's question
	BrokenSVCB          // malformed HTTPS records among the answers and behind them
	Garbage             // bytes that are no DNS message
	OtherOwner          // the address records belong to another name
	LongTXT             // over UDP a TXT record before the others that is longer than the asker takes
)

// Addrs makes the answer of literals; one that does not parse is a mistake in
// the test and becomes the zero address, which [Start] reports.
func Addrs(literals ...string) Answer {
	addrs := make([]netip.Addr, 0, len(literals))
	for _, s := range literals {
		a, _ := netip.ParseAddr(s)
		addrs = append(addrs, a)
	}
	return Answer{Addrs: addrs}
}

// valid reports whether every address parsed.
func (a Answer) valid() bool {
	for _, addr := range a.Addrs {
		if !addr.IsValid() {
			return false
		}
	}
	for _, next := range a.Then {
		if !next.valid() {
			return false
		}
	}
	return true
}

// code is the response code for one record type.
func (a Answer) code(kind dnsmessage.Type) dnsmessage.RCode {
	if kind == dnsmessage.TypeAAAA && a.CodeAAAA != dnsmessage.RCodeSuccess {
		return a.CodeAAAA
	}
	return a.Code
}
