package fakedns_test

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"testing"
	"time"

	"golang.org/x/net/dns/dnsmessage"

	"mcprelay/test/fakedns"
)

// look asks the server by Go's own resolver.
func look(t *testing.T, s *fakedns.Server, name string) ([]string, error) {
	t.Helper()
	r := net.Resolver{PreferGo: true, StrictErrors: true, Dial: s.Dial}
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
	defer cancel()
	addrs, err := r.LookupHost(ctx, name+".")
	slices.Sort(addrs)
	return addrs, err
}

func TestAnAnswerHoldsBothFamilies(t *testing.T) {
	s := fakedns.Start(t, map[string]fakedns.Answer{"a.example": fakedns.Addrs("192.0.2.1", "2001:db8::1", "192.0.2.2")})
	got, err := look(t, s, "a.example")
	if want := []string{"192.0.2.1", "192.0.2.2", "2001:db8::1"}; err != nil || !slices.Equal(got, want) {
		t.Errorf("want %v, got %v, %v", want, got, err)
	}
	if s.Count("A", "a.example") != 1 || s.Count("AAAA", "a.example") != 1 || len(s.Asked()) != 2 {
		t.Errorf("want each question once, got %v", s.Asked())
	}
}

func TestNamesAreCaseInsensitiveAndOthersDoNotExist(t *testing.T) {
	s := fakedns.Start(t, map[string]fakedns.Answer{"a.example": fakedns.Addrs("192.0.2.1")})
	if got, err := look(t, s, "A.Example"); err != nil || len(got) != 1 {
		t.Errorf("want an answer in any case, got %v, %v", got, err)
	}
	_, err := look(t, s, "b.example")
	if dns, ok := err.(*net.DNSError); !ok || !dns.IsNotFound {
		t.Errorf("want no such name, got %v", err)
	}
}

func TestALongAnswerComesOverTCP(t *testing.T) {
	var addrs []netip.Addr
	for i := range 3000 {
		addrs = append(addrs, netip.AddrFrom4([4]byte{192, 0, byte(i >> 8), byte(i)}))
	}
	for _, n := range []int{200, 3000} {
		s := fakedns.Start(t, map[string]fakedns.Answer{"a.example": {Addrs: addrs[:n]}})
		if got, err := look(t, s, "a.example"); err != nil || len(got) != n {
			t.Errorf("want %d addresses, got %d, %v", n, len(got), err)
		}
		if s.Count("A", "a.example") != 2 {
			t.Errorf("want the question over UDP and again over TCP, got %v", s.Asked())
		}
	}
}

func TestSequencesCountByRecordTypeAndEndWithTheLast(t *testing.T) {
	answer := fakedns.Addrs("192.0.2.1", "2001:db8::1")
	answer.Then = []fakedns.Answer{fakedns.Addrs("192.0.2.2", "2001:db8::2"), fakedns.Addrs("192.0.2.3", "2001:db8::3")}
	s := fakedns.Start(t, map[string]fakedns.Answer{"a.example": answer})
	for _, n := range []int{1, 2, 3, 3} {
		got, err := look(t, s, "a.example")
		if want := []string{fmt.Sprintf("192.0.2.%d", n), fmt.Sprintf("2001:db8::%d", n)}; err != nil || !slices.Equal(got, want) {
			t.Errorf("want %v, got %v, %v", want, got, err)
		}
	}
	s.Set("a.example", answer)
	if got, _ := look(t, s, "a.example"); len(got) == 0 || got[0] != "192.0.2.1" {
		t.Errorf("after Set: want the sequence to start anew, got %v", got)
	}
}

func TestCodesAndAliases(t *testing.T) {
	s := fakedns.Start(t, map[string]fakedns.Answer{
		"fails.example": {Code: dnsmessage.RCodeServerFailure},
		"half.example":  {Addrs: fakedns.Addrs("192.0.2.1").Addrs, CodeAAAA: dnsmessage.RCodeServerFailure},
		"empty.example": {},
		"alias.example": {CNAME: "next.example"},
		"next.example":  {CNAME: "end.example"},
		"end.example":   fakedns.Addrs("192.0.2.9"),
		"loop.example":  {CNAME: "loop.example"},
		"gone.example":  {CNAME: "nowhere.example"},
	})
	for name, want := range map[string]int{"fails": 0, "half": 0, "empty": 0, "alias": 1, "loop": 0, "gone": 0} {
		got, err := look(t, s, name+".example")
		if len(got) != want || (err == nil) != (want > 0) {
			t.Errorf("%s: want %d addresses, got %v, %v", name, want, got, err)
		}
	}
}

// ask sends one query and gives the raw reply.
func ask(t *testing.T, s *fakedns.Server, name string) ([]byte, error) {
	t.Helper()
	query := dnsmessage.Message{Header: dnsmessage.Header{ID: 7, RecursionDesired: true}, Questions: []dnsmessage.Question{{
		Name: dnsmessage.MustNewName(name + "."), Type: dnsmessage.TypeA, Class: dnsmessage.ClassINET}}}
	raw, err := query.Pack()
	if err != nil {
		t.Fatal(err)
	}
	conn, err := s.Dial(t.Context(), "udp", "")
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	conn.SetDeadline(time.Now().Add(300 * time.Millisecond))
	if _, err := conn.Write(raw); err != nil {
		t.Fatal(err)
	}
	reply := make([]byte, 4096)
	n, err := conn.Read(reply)
	return reply[:n], err
}

func TestFaultsSpoilTheReply(t *testing.T) {
	spoilt := func(f fakedns.Fault) fakedns.Answer {
		a := fakedns.Addrs("192.0.2.1")
		a.Fault = f
		return a
	}
	s := fakedns.Start(t, map[string]fakedns.Answer{
		"sound.example": spoilt(fakedns.Sound), "silent.example": spoilt(fakedns.Silent),
		"garbage.example": spoilt(fakedns.Garbage), "id.example": spoilt(fakedns.WrongID),
		"question.example": spoilt(fakedns.OtherQuestion), "short.example": spoilt(fakedns.Truncated),
		"svcb.example": spoilt(fakedns.BrokenSVCB), "owner.example": spoilt(fakedns.OtherOwner),
		"long.example": spoilt(fakedns.LongTXT),
	})
	if raw, err := ask(t, s, "silent.example"); err == nil {
		t.Errorf("silent: want no reply, got %q", raw)
	}
	read := func(name string) dnsmessage.Message {
		t.Helper()
		raw, err := ask(t, s, name)
		if err != nil {
			t.Fatal(err)
		}
		var m dnsmessage.Message
		broken := name == "garbage.example" || name == "svcb.example"
		if err := m.Unpack(raw); (err != nil) != broken {
			t.Errorf("%s: unpacking gave %v", name, err)
		}
		return m
	}
	read("garbage.example")
	sound := read("sound.example")
	if sound.ID != 7 || len(sound.Answers) != 1 || sound.Answers[0].Header.TTL != 0 || sound.Truncated {
		t.Errorf("sound: want one record with TTL 0, got %v", sound)
	}
	if m := read("id.example"); m.ID == 7 {
		t.Error("another id: want one, got the query's")
	}
	if m := read("question.example"); m.Questions[0].Name.String() == "question.example." {
		t.Error("another question: want one, got the query's")
	}
	if m := read("short.example"); !m.Truncated || len(m.Answers) != 0 {
		t.Errorf("truncated: want the bit and no record, got %v", m)
	}
	if m := read("owner.example"); len(m.Answers) != 1 || m.Answers[0].Header.Name.String() == "owner.example." {
		t.Errorf("another owner: want one record of another name, got %v", m)
	}
	if m := read("long.example"); len(m.Answers) != 2 || m.Answers[0].Header.Length < 2*1232-255 || m.Truncated {
		t.Errorf("long: want a long TXT record before the address, got %d records", len(m.Answers))
	}
	if got, err := look(t, s, "long.example"); err == nil {
		t.Errorf("long: want a reply that Go's resolver cannot read, got %v", got)
	}
	if got, err := look(t, s, "short.example"); err != nil || len(got) != 1 {
		t.Errorf("truncated: want the record over TCP, got %v, %v", got, err)
	}
	read("svcb.example")
	if got, err := look(t, s, "svcb.example"); err != nil || len(got) != 1 {
		t.Errorf("malformed HTTPS records: want the address behind them, got %v, %v", got, err)
	}
}
