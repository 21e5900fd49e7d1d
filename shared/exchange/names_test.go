package exchange_test

import (
	"fmt"
	"net"
	"slices"
	"strings"
	"sync"
	"testing"

	"mcprelay/shared/session"
)

const secretID = "session-0123456789abcdef"

// given is the header by which a server assigns its session.
const given = "Mcp-Session-Id: " + secretID

// opens answers initialize and assigns a session.
func opens(version string) script {
	return says(200, "application/json", `{"jsonrpc":"2.0","id":ID,"result":{"protocolVersion":"`+version+`"}}`, given)
}

// TestNoRefusalNamesASession, wherever in an opening or a call a server writes
// an id that it gave, or was sent.
func TestNoRefusalNamesASession(t *testing.T) {
	const I, N, C = "initialize", "notifications/initialized", "tools/call"
	said := "session " + secretID + " crashed"
	raw := func(reply string) script {
		return func(w net.Conn, g got) { send(w, "%s", reply); w.Close() }
	}
	for name, tc := range map[string]struct {
		shake handshake
		quote string
	}{
		"initialize fails":               {handshake{I: says(500, "text/plain", said, given)}, "session [session] crashed"},
		"initialize is no JSON":          {handshake{I: says(200, "application/json", said, given)}, "session [session] crashed"},
		"initialize has an odd type":     {handshake{I: says(200, "text/"+secretID, "", given)}, "text/[session]"},
		"initialize is redirected":       {handshake{I: says(307, "", "", given, "Location: /"+secretID)}, "/[session]"},
		"initialize has another version": {handshake{I: opens(secretID)}, "[session]"},
		"initialize has an odd head":     {handshake{I: raw("HTTP/1.1 200 OK\r\n" + given + "\r\n" + secretID + "\r\n\r\n")}, "[session]"},
		"initialize has an odd status":   {handshake{I: raw("HTTP/1.1 2000 " + secretID + "\r\n" + given + "\r\n\r\n")}, "HTTP/1.1 2000 [session]"},
		"initialized is redirected":      {handshake{I: opens("2025-11-25"), N: says(307, "", "", "Location: /"+secretID)}, "/[session]"},
		"initialized has an odd head":    {handshake{I: opens("2025-11-25"), N: raw("HTTP/1.1 200 OK\r\n" + secretID + "\r\n\r\n")}, "[session]"},
		"the call fails":                 {handshake{I: opens("2025-11-25"), C: says(500, "text/plain", said)}, "session [session] crashed"},
		"the call gives another one":     {handshake{I: saysJSON(200, `{"jsonrpc":"2.0","id":ID,"result":{"protocolVersion":"2025-11-25"}}`), C: says(500, "text/plain", said, given)}, "session [session] crashed"},
		"the call is redirected":         {handshake{I: opens("2025-11-25"), C: says(307, "", "", "Location: /"+secretID)}, "/[session]"},
		"the call has no JSON":           {handshake{I: opens("2025-11-25"), C: says(200, "application/json", said)}, "session [session] crashed"},
		"the call has an odd type":       {handshake{I: opens("2025-11-25"), C: says(200, "text/"+secretID, "")}, "text/[session]"},
		"the call has an odd head":       {handshake{I: opens("2025-11-25"), C: raw("HTTP/1.1 200 OK\r\n" + secretID + "\r\n\r\n")}, "[session]"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := handshakePeer(t, tc.shake)
			reply, err := process(t, nil).Call(t.Context(), request(t, p.url))
			refusal := refusalOf(t, err)
			if string(refusal.Quote) != tc.quote || strings.Contains(refusal.Error(), secretID) {
				t.Errorf("want the quote %q, got %q of %v", tc.quote, refusal.Quote, refusal)
			}
			if !slices.Contains(reply.Facts.SessionIDs[:], secretID) {
				t.Errorf("the facts do not know the session: %v", reply.Facts.SessionIDs)
			}
		})
	}
}

func TestNoRefusalOfAListOrAnEndNamesASession(t *testing.T) {
	said := says(500, "text/plain", "session "+secretID+" crashed")
	p := handshakePeer(t, handshake{"initialize": opens("2025-11-25"), "tools/list": said, "DELETE": says(307, "", "", "Location: /"+secretID)})
	_, facts, err := process(t, nil).List(t.Context(), request(t, p.url))
	if refusal := refusalOf(t, err); string(refusal.Quote) != "session [session] crashed" || facts.SessionIDs[1] != secretID {
		t.Errorf("got the quote %q, %v", refusal.Quote, facts.SessionIDs)
	}
	facts, err = process(t, nil).End(t.Context(), request(t, p.url), session.State{Era: session.Legacy, Version: "2025-11-25", SessionID: secretID})
	if refusal := refusalOf(t, err); string(refusal.Quote) != "/[session]" || facts.SessionIDs[1] != secretID {
		t.Errorf("got the quote %q, %v", refusal.Quote, facts.SessionIDs)
	}
}

// TestWhoWaitedForAnOpeningIsNotToldTheSession: the failure is everybody's, and
// only one call knows the id.
func TestWhoWaitedForAnOpeningIsNotToldTheSession(t *testing.T) {
	p := handshakePeer(t, handshake{"initialize": says(500, "text/plain", "session "+secretID+" crashed", given)})
	x := process(t, nil)
	var all sync.WaitGroup
	for range 16 {
		all.Go(func() {
			_, err := x.Call(t.Context(), request(t, p.url))
			if refusal := refusalOf(t, err); strings.Contains(string(refusal.Quote), secretID) {
				t.Errorf("got the quote %q", refusal.Quote)
			}
		})
	}
	all.Wait()
}

func TestFactsKnowTheLatestSessions(t *testing.T) {
	p := newLegacyPeer(t, answered)
	x := process(t, newStore())
	for _, want := range [][2]string{{"", "s-1"}, {"s-1", "s-2"}} {
		reply, err := x.Call(t.Context(), request(t, p.url))
		if err != nil || reply.Facts.SessionIDs != want {
			t.Errorf("want %v, got %v, %v", want, reply.Facts.SessionIDs, err)
		}
		p.loseAll()
	}
}

// TestServerThatGivesASessionWithEachReply may still not have the one that is
// in use told.
func TestServerThatGivesASessionWithEachReply(t *testing.T) {
	n := 0
	odd := handshakePeer(t, handshake{
		"initialize": opens("2025-11-25"),
		"tools/list": func(w net.Conn, g got) {
			if n++; n == 8 {
				write(w, 500, "text/plain", "odd-8 and "+secretID, "Mcp-Session-Id: odd-8")
				return
			}
			write(w, 200, "application/json", result(g, fmt.Sprintf(`{"tools":[],"nextCursor":"%d"}`, n)), fmt.Sprintf("Mcp-Session-Id: odd-%d", n))
		},
	})
	_, facts, err := process(t, nil).List(t.Context(), request(t, odd.url))
	refusal := refusalOf(t, err)
	if string(refusal.Quote) != "[session] and [session]" || facts.SessionIDs != [2]string{secretID, "odd-8"} {
		t.Errorf("got the quote %q, %v", refusal.Quote, facts.SessionIDs)
	}
	if sent := odd.last(t, "tools/list").Header.Get("Mcp-Session-Id"); sent != secretID {
		t.Errorf("want the session of the opening in use, got %s", sent)
	}
}

func TestSessionThatBeginsAnotherIsTakenOutToo(t *testing.T) {
	p := handshakePeer(t, handshake{
		"initialize": says(200, "application/json", `{"jsonrpc":"2.0","id":ID,"result":{"protocolVersion":"2025-11-25"}}`, "Mcp-Session-Id: abc"),
		"tools/call": says(500, "text/plain", "abc became abcdef", "Mcp-Session-Id: abcdef"),
	})
	_, err := process(t, nil).Call(t.Context(), request(t, p.url))
	if refusal := refusalOf(t, err); string(refusal.Quote) != "[session] became [session]" {
		t.Errorf("got the quote %q", refusal.Quote)
	}
}
