package fakedns

import (
	"math"
	"strings"

	"golang.org/x/net/dns/dnsmessage"
)

// maxChain is how many CNAMEs a reply follows, as recursive servers bound it.
const maxChain = 8

// typeHTTPS is the HTTPS record type (RFC 9460), which dnsmessage has no name for.
const typeHTTPS = dnsmessage.Type(65)

// reply is the answer to one query, nil for silence.
func (s *Server) reply(query []byte, udp bool) []byte {
	var p dnsmessage.Parser
	head, err := p.Start(query)
	if err != nil {
		return nil
	}
	asked, err := p.Question()
	if err != nil {
		return nil
	}
	q := question{asked.Type, strings.ToLower(strings.TrimSuffix(asked.Name.String(), "."))}
	answer, known := s.next(q)
	switch answer.Fault {
	case Silent:
		return nil
	case Garbage:
		return []byte("this is no DNS message")
	case WrongID:
		head.ID++
	case OtherQuestion:
		asked.Name = dnsmessage.MustNewName("other." + asked.Name.String())
	}
	m := message{head: dnsmessage.Header{
		ID: head.ID, Response: true, RecursionDesired: head.RecursionDesired, RecursionAvailable: true,
	}, asked: asked}
	s.fill(&m, q, answer, known)
	if udp && answer.Fault == Truncated {
		return m.truncated()
	}
	if answer.Fault == LongTXT {
		m.prependTXT(q.name)
		return m.pack(false)
	}
	raw := m.pack(answer.Fault == BrokenSVCB)
	if udp && len(raw) > maxUDP || len(raw) > math.MaxUint16 {
		return m.truncated()
	}
	return raw
}

// next counts the question and gives its answer in the sequence.
func (s *Server) next(q question) (Answer, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.asked = append(s.asked, q)
	turn := s.counts[q]
	s.counts[q]++
	answer, known := s.answers[q.name]
	if len(answer.Then) > 0 && turn > 0 {
		answer = answer.Then[min(turn, len(answer.Then))-1]
	}
	return answer, known
}

// fill follows the CNAMEs and puts the records of the asked type in.
func (s *Server) fill(m *message, q question, answer Answer, known bool) {
	if m.head.RCode = answer.code(q.kind); m.head.RCode != dnsmessage.RCodeSuccess {
		return
	}
	owner := q.name
	for step := 0; known && answer.CNAME != "" && step < maxChain; step++ {
		m.add(owner, &dnsmessage.CNAMEResource{CNAME: dnsmessage.MustNewName(answer.CNAME + ".")})
		owner = answer.CNAME
		s.mu.Lock()
		answer, known = s.answers[owner]
		s.mu.Unlock()
	}
	if !known {
		m.head.RCode = dnsmessage.RCodeNameError
		return
	}
	if answer.Fault == OtherOwner {
		owner = "other." + owner
	}
	for _, a := range answer.Addrs {
		switch {
		case a.Is4() && q.kind == dnsmessage.TypeA:
			m.add(owner, &dnsmessage.AResource{A: a.As4()})
		case a.Is6() && q.kind == dnsmessage.TypeAAAA:
			m.add(owner, &dnsmessage.AAAAResource{AAAA: a.As16()})
		}
	}
}

// message is a reply before it is packed.
type message struct {
	head    dnsmessage.Header
	asked   dnsmessage.Question
	answers []dnsmessage.Resource
}

func (m *message) add(owner string, body dnsmessage.ResourceBody) {
	head := dnsmessage.ResourceHeader{Name: dnsmessage.MustNewName(owner + "."), Class: dnsmessage.ClassINET}
	m.answers = append(m.answers, dnsmessage.Resource{Header: head, Body: body})
}

// prependTXT puts a TXT record of twice the length that Go's resolver takes
// before the others. Strings of TXT have up to 255 bytes (RFC 1035 section 3.3.14).
func (m *message) prependTXT(owner string) {
	const longest = 255
	text := make([]string, 2*maxUDP/longest)
	for i := range text {
		text[i] = strings.Repeat("x", longest)
	}
	rest := m.answers
	m.answers = nil
	m.add(owner, &dnsmessage.TXTResource{TXT: text})
	m.answers = append(m.answers, rest...)
}

// pack is the message's bytes, with an HTTPS record whose parameters end in
// the middle before and behind the answers where broken is asked for.
func (m *message) pack(broken bool) []byte {
	full := dnsmessage.Message{Header: m.head, Questions: []dnsmessage.Question{m.asked}, Answers: m.answers}
	if broken {
		rotten := dnsmessage.Resource{
			Header: dnsmessage.ResourceHeader{Name: m.asked.Name, Class: dnsmessage.ClassINET},
			Body:   &dnsmessage.UnknownResource{Type: typeHTTPS, Data: []byte{0, 1, 0, 0, 1, 0xff, 0xff, 2}},
		}
		full.Answers = append([]dnsmessage.Resource{rotten}, full.Answers...)
		full.Additionals = []dnsmessage.Resource{rotten}
	}
	raw, err := full.Pack()
	if err != nil {
		return nil
	}
	return raw
}

// truncated is the question alone with the TC bit.
func (m *message) truncated() []byte {
	head := m.head
	head.Truncated = true
	raw, err := (&dnsmessage.Message{Header: head, Questions: []dnsmessage.Question{m.asked}}).Pack()
	if err != nil {
		return nil
	}
	return raw
}
