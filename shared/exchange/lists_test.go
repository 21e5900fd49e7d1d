package exchange_test

import (
	"net"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"mcprelay/shared/call"
	"mcprelay/shared/exchange"
	"mcprelay/shared/session"
)

// eachList are the lists by their method and the name of their items.
var eachList = map[call.List]struct{ method, member string }{
	call.ListTools:     {"tools/list", "tools"},
	call.ListResources: {"resources/list", "resources"},
	call.ListTemplates: {"resources/templates/list", "resourceTemplates"},
	call.ListPrompts:   {"prompts/list", "prompts"},
}

func reads(l call.List) func(*exchange.Request) { return func(r *exchange.Request) { r.List = l } }

// announcing are the two kinds of server, with these capabilities.
func announcing(t *testing.T, capabilities string, next script) map[session.Era]*peer {
	open := func(body string) script {
		return says(200, "application/json", `{"jsonrpc":"2.0","id":ID,"result":`+body+`}`, "Mcp-Session-Id: s")
	}
	legacy := handshake{"initialize": open(`{"protocolVersion":"2025-11-25"` + capabilities + `}`)}
	modern := handshake{"server/discover": open(`{"resultType":"complete","supportedVersions":["2026-07-28"]` + capabilities + `}`)}
	for _, l := range eachList {
		legacy[l.method], modern[l.method] = next, next
	}
	return map[session.Era]*peer{session.Legacy: handshakePeer(t, legacy), session.Modern: handshakePeer(t, modern)}
}

func TestEachListIsReadByItsOwnMethod(t *testing.T) {
	for list, want := range eachList {
		answer := func(w net.Conn, g got) {
			if strings.Contains(string(g.Body), `"cursor":"2"`) {
				write(w, 200, "application/json", result(g, `{"`+want.member+`":[{"b":1.0}]}`))
				return
			}
			write(w, 200, "application/json", result(g, `{"x":[1],"`+want.member+`":[{"a":"<&>"}],"nextCursor":"2"}`))
		}
		for era, p := range announcing(t, `,"capabilities":{"tools":{},"resources":{"subscribe":true},"prompts":{}}`, answer) {
			items, facts, err := process(t, nil).List(t.Context(), request(t, p.url, reads(list)))
			if err != nil || facts.Era != era || facts.Posts != 2 {
				t.Errorf("%s %s: got %v, %+v", era, list, err, facts)
			}
			if diff := cmp.Diff([]string{`{"a":"<&>"}`, `{"b":1.0}`}, texts(items)); diff != "" {
				t.Errorf("%s %s: -want +got\n%s", era, list, diff)
			}
			g := p.last(t, want.method)
			if p.posts(want.method) != 2 || g.Header.Get("Mcp-Name") != "" || g.Header.Get("Mcp-Method") != map[session.Era]string{session.Modern: want.method}[era] {
				t.Errorf("%s %s: sent %v with %v", era, list, p.methods(), g.Header)
			}
		}
	}
	if _, _, err := process(t, nil).List(t.Context(), request(t, "http://127.0.0.1:1/mcp", reads("roots"))); reasonOf(t, err) != call.Internal {
		t.Errorf("want a list that is none refused, got %v", err)
	}
}

func TestListThatIsNotAnnouncedIsEmptyAndNotAskedFor(t *testing.T) {
	never := func(w net.Conn, g got) { t.Errorf("%s was asked for", g.Method); answered(w, g) }
	for _, capabilities := range []string{`{"tools":{}}`, `{}`, `{"tools":{},"resources":null,"prompts":null}`} {
		for era, p := range announcing(t, `,"capabilities":`+capabilities, never) {
			s := newStore()
			for _, x := range []*exchange.Exchange{process(t, s), process(t, s)} { // cold, and from the store
				for _, list := range []call.List{call.ListResources, call.ListTemplates, call.ListPrompts} {
					items, facts, err := x.List(t.Context(), request(t, p.url, reads(list)))
					if err != nil || len(items) != 0 || facts.Posts != 0 || facts.Era != era {
						t.Errorf("%s %s of %s: got %v, %s, %+v", era, list, capabilities, err, items, facts)
					}
				}
			}
		}
	}
}

// TestToolsAreAskedForWhateverIsAnnounced, and so is everything where a server
// announces nothing: servers in the field forget it.
func TestToolsAreAskedForWhateverIsAnnounced(t *testing.T) {
	answer := func(w net.Conn, g got) {
		write(w, 200, "application/json", result(g, `{"tools":[1],"resources":[1],"resourceTemplates":[1],"prompts":[1]}`))
	}
	for capabilities, asked := range map[string][]call.List{
		``:                                  {call.ListTools, call.ListResources, call.ListTemplates, call.ListPrompts},
		`,"capabilities":null`:              {call.ListTools, call.ListResources, call.ListTemplates, call.ListPrompts},
		`,"capabilities":[]`:                {call.ListTools, call.ListResources, call.ListTemplates, call.ListPrompts},
		`,"capabilities":{}`:                {call.ListTools},
		`,"capabilities":{"resources":{}}`:  {call.ListTools, call.ListResources, call.ListTemplates},
		`,"capabilities":{"prompts":{}}`:    {call.ListTools, call.ListPrompts},
		`,"capabilities":{"resources":1.0}`: {call.ListResources},
	} {
		for era, p := range announcing(t, capabilities, answer) {
			x := process(t, nil)
			for _, list := range asked {
				if items, _, err := x.List(t.Context(), request(t, p.url, reads(list))); err != nil || len(items) != 1 {
					t.Errorf("%s %s with %s: got %v, %s", era, list, capabilities, err, items)
				}
			}
		}
	}
}

func TestMethodThatTheServerDoesNotKnowIsAnEmptyList(t *testing.T) {
	for list, l := range eachList {
		for _, status := range []int{200, 400, 404} {
			for era, p := range announcing(t, "", saysJSON(status, failure("ID", -32601, "Method not found"))) {
				items, facts, err := process(t, nil).List(t.Context(), request(t, p.url, reads(list)))
				if err != nil || len(items) != 0 || facts.Posts != 1 || p.posts(l.method) != 1 || p.posts("initialize") > 1 {
					t.Errorf("%s %s with %d: got %v, %s, %v", era, list, status, err, items, p.methods())
				}
			}
		}
	}
	n := 0
	p := newPeer(t, modern(func(w net.Conn, g got) {
		if n++; n == 1 {
			write(w, 200, "application/json", result(g, `{"tools":[{}],"nextCursor":"2"}`))
			return
		}
		saysJSON(404, failure("ID", -32601, "Method not found"))(w, g)
	}))
	if items, _, err := process(t, nil).List(t.Context(), request(t, p.url)); reasonOf(t, err) != call.ListFailed || items != nil {
		t.Errorf("want no part of a list, got %v, %s", err, items)
	}
}

// TestOddItemsAreKept: what an item must be is not for the exchange to say, and
// one odd item loses no others.
func TestOddItemsAreKept(t *testing.T) {
	odd := []string{`true`, `null`, `1.0`, `"x"`, `[]`, `{}`, `{"name":1}`, `{"name":"a","inputSchema":{"properties":{"x":true}}}`, `{"name":"a","inputSchema":{"$ref":"#"}}`, `{ "name" : "\ud800" }`}
	for era, p := range announcing(t, "", saysJSON(200, `{"jsonrpc":"2.0","id":ID,"result":{"tools":[`+strings.Join(odd, " , ")+`]}}`)) {
		items, _, err := process(t, nil).List(t.Context(), request(t, p.url))
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(odd, texts(items)); diff != "" {
			t.Errorf("%s: -want +got\n%s", era, diff)
		}
	}
}

func TestFaultOfAListNamesItsMethod(t *testing.T) {
	for list, l := range eachList {
		for name, answer := range map[string]script{
			"error":  saysJSON(200, failure("ID", -32603, "x")),
			"status": says(500, "", ""),
			"shape":  saysJSON(200, `{"jsonrpc":"2.0","id":ID,"result":{}}`),
			"cursor": saysJSON(200, `{"jsonrpc":"2.0","id":ID,"result":{"`+l.member+`":[],"nextCursor":1}}`),
		} {
			for _, p := range announcing(t, "", answer) {
				_, _, err := process(t, nil).List(t.Context(), request(t, p.url, reads(list)))
				if refusal := refusalOf(t, err); refusal.Reason != call.ListFailed || !strings.HasPrefix(refusal.Detail, l.method+": ") {
					t.Errorf("%s of %s: got %v", name, list, refusal)
				}
			}
		}
	}
}

// TestRetryAfterIsCarriedWhateverWasAsked holds for lists and openings too.
func TestRetryAfterIsCarriedWhateverWasAsked(t *testing.T) {
	for _, status := range []int{429, 503} {
		for name, busy := range map[string]script{
			"empty": says(status, "", "", "Retry-After: 7"),
			"error": says(status, "application/json", failure("ID", -32000, "busy"), "Retry-After: 7"),
			"page":  says(status, "text/html", "<html>", "Retry-After: 7"),
		} {
			for _, method := range []string{"server/discover", "initialize", "notifications/initialized", "tools/list"} {
				p := handshakePeer(t, handshake{method: busy})
				_, facts, err := process(t, nil).List(t.Context(), request(t, p.url))
				refusal := refusalOf(t, err)
				want := map[bool]call.Reason{true: call.ListFailed, false: call.InitializeFailed}[method == "tools/list"]
				if refusal.Reason != want || refusal.RetryAfter != 7 || refusal.Status != status {
					t.Errorf("%s %d %s: got %v with %d and status %d", method, status, name, refusal, refusal.RetryAfter, refusal.Status)
				}
				if method != "notifications/initialized" && facts.RetryAfter != 7 {
					t.Errorf("%s %d %s: the facts have %d", method, status, name, facts.RetryAfter)
				}
			}
		}
	}
}
