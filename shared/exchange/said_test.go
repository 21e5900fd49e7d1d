package exchange_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"mcprelay/shared/call"
	"mcprelay/shared/exchange"
	"mcprelay/shared/session"
	"mcprelay/shared/wire"
)

// advised are the two kinds of server, which say what they have and how it is
// to be used.
func advised(t *testing.T) map[session.Era]*peer {
	return announcing(t, `,"instructions":"Ask \u001bfirst.\n\u202e","capabilities":{"tools":{},"prompts":null,"completions":{},"logging":{}}`, saysJSON(200, `{"jsonrpc":"2.0","id":ID,"result":{"tools":[]}}`))
}

const advice = "Ask first.\n"

const offered = call.Announced | call.OffersTools | call.OffersCompletions | call.OffersLogging

// TestWhatAServerSaysOfItselfIsAFactOfEveryCall: of the one that opened it, of
// those after it, of those in another process, and where the verdict about it
// is forgotten before its session.
func TestWhatAServerSaysOfItselfIsAFactOfEveryCall(t *testing.T) {
	for era, p := range advised(t) {
		s := newStore()
		x := process(t, s)
		check := func(name string, f exchange.Facts) {
			if f.Offers != offered || f.Instructions != advice || f.Era != era {
				t.Errorf("%s, %s: got %b, %q, %s", era, name, f.Offers, f.Instructions, f.Era)
			}
		}
		_, facts, err := x.List(t.Context(), request(t, p.url))
		if err != nil {
			t.Fatal(err)
		}
		check("cold", facts)
		_, facts, _ = x.List(t.Context(), request(t, p.url))
		check("warm", facts)
		_, facts, _ = process(t, s).List(t.Context(), request(t, p.url))
		check("from the store", facts)
		_, facts, _ = process(t, s).List(t.Context(), request(t, p.url, func(r *exchange.Request) { r.Session = "S#another" }))
		check("for another caller", facts)
		if got := s.get(originKey); got.Instructions != advice || got.Offers != offered {
			t.Errorf("%s: the verdict is %+v", era, got)
		}
		if era == session.Legacy {
			old := s.get(originKey)
			old.Expires = time.Now().Add(-time.Second)
			s.set(originKey, old)
			_, facts, _ = process(t, s).List(t.Context(), request(t, p.url))
			check("after the verdict", facts)
		}
		if p.posts("server/discover") != 1 || p.posts("initialize") != map[session.Era]int{session.Legacy: 2}[era] {
			t.Errorf("%s: the server was opened by %v", era, p.methods())
		}
	}
}

// TestCallsHaveTheFactsOfTheServerToo, whatever comes of them.
func TestCallsHaveTheFactsOfTheServerToo(t *testing.T) {
	for era, p := range advised(t) {
		reply, _ := process(t, nil).Call(t.Context(), request(t, p.url))
		if reply.Facts.Offers != offered || reply.Facts.Instructions != advice {
			t.Errorf("%s: got %+v", era, reply.Facts)
		}
	}
	silent := newPeer(t, modern(answered))
	reply, err := process(t, nil).Call(t.Context(), request(t, silent.url))
	if err != nil || reply.Facts.Offers != call.Announced|call.OffersTools || reply.Facts.Instructions != "" {
		t.Errorf("a server that says no more: got %v, %+v", err, reply.Facts)
	}
}

// TestInstructionsOfAServerThatTurnedModernStay: it was the same server.
func TestInstructionsOfAServerThatTurnedModernStay(t *testing.T) {
	p := newPeer(t, modern(refusing(1, unsupported(400, `["2026-07-28"]`))))
	s := newStore()
	knows(s, session.Legacy)
	old := s.get(originKey)
	old.Instructions = advice
	s.set(originKey, old)
	s.set(sessionKey, session.State{Era: session.Legacy, Version: "2025-11-25", SessionID: "old", Expires: s.now().Add(session.Lifetime), Ver: 1})
	reply, err := process(t, s).Call(t.Context(), request(t, p.url))
	if err != nil || reply.Facts.Era != session.Modern || reply.Facts.Instructions != advice {
		t.Errorf("got %v, %+v", err, reply.Facts)
	}
}

// TestNotificationsAboutTheCallAreHandedOn as they came, in both eras: progress
// with the call's own token and log messages, no others, and none of those of a
// handshake or a list.
func TestNotificationsAboutTheCallAreHandedOn(t *testing.T) {
	note := func(method, params string) string {
		return event(`{"jsonrpc":"2.0","method":"` + method + `","params":` + params + `}`)
	}
	body := note(wire.NoticeProgress, `{"progressToken":7,"progress":1.0}`) + note(wire.NoticeLog, `{ "level":"info","data":"<&>" }`) +
		note(wire.NoticeProgress, `{"progressToken":8,"progress":2}`) + note(wire.NoticeProgress, `{"progress":3}`) +
		note("notifications/resources/updated", `{"uri":"x:","progressToken":7}`) + note("notifications/cancelled", `{"progressToken":7}`) +
		note(wire.NoticeProgress, `{"progressToken":"7","progress":4}`) + note(wire.NoticeLog, `[]`)
	answer := streaming(body + event(`{"jsonrpc":"2.0","id":ID,"result":{"tools":[]}}`))
	opening := streaming(body + event(`{"jsonrpc":"2.0","id":ID,"result":{"protocolVersion":"2025-11-25","capabilities":{}}}`))
	want := []string{
		wire.NoticeProgress + ` {"progressToken":7,"progress":1.0}`, wire.NoticeLog + ` { "level":"info","data":"<&>" }`,
		wire.NoticeProgress + ` {"progressToken":7,"progress":4}`,
	}
	for era, p := range map[session.Era]*peer{
		session.Modern: newPeer(t, modern(answer)),
		session.Legacy: handshakePeer(t, handshake{"initialize": opening, "tools/call": answer, "tools/list": answer}),
	} {
		var got []string
		listening := func(r *exchange.Request) {
			r.Meta = json.RawMessage(`{"progressToken":7}`)
			r.Notify = func(method string, params json.RawMessage) { got = append(got, method+" "+string(params)) }
		}
		x := process(t, nil)
		if _, _, err := x.List(t.Context(), request(t, p.url, listening)); err != nil || len(got) != 0 {
			t.Errorf("%s: a list: got %v, handed on %v", era, err, got)
		}
		reply, err := x.Call(t.Context(), request(t, p.url, listening))
		if err != nil || reply.Facts.Era != era || reply.Facts.Notifications != 8 {
			t.Errorf("%s: got %v, %+v", era, err, reply.Facts)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: -want +got\n%s", era, diff)
		}
		got = nil
		_, err = x.Call(t.Context(), request(t, p.url, listening, func(r *exchange.Request) { r.Meta = nil }))
		if err != nil || strings.Join(got, "") != want[1] {
			t.Errorf("%s, without a token: got %v, handed on %v", era, err, got)
		}
	}
}
