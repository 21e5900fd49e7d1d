package exchange_test

import (
	"encoding/json"
	"errors"
	"net"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"mcprelay/shared/call"
	"mcprelay/shared/exchange"
	"mcprelay/shared/session"
)

// everyAsk are the requests that an agent has besides a tool's: what each is
// sent as, and what of it is in Mcp-Name.
var everyAsk = map[string]struct {
	change       func(*exchange.Request)
	params, name string
}{
	"resources/read": {func(r *exchange.Request) { r.Resource = "test://a b/é" }, `"uri":"test://a b/é"`, "=?base64?dGVzdDovL2EgYi/DqQ==?="},
	"prompts/get": {func(r *exchange.Request) {
		r.Prompt, r.Arguments = `greet "x"`, json.RawMessage(`{ "n" : "1.0" }`)
	}, `"name":"greet \"x\"","arguments":{ "n" : "1.0" }`, `greet "x"`},
	"completion/complete": {func(r *exchange.Request) {
		r.Prompt, r.Argument, r.Context = "greet", json.RawMessage(`{"name":"n","value":"<&>"}`), json.RawMessage(`{"arguments":{"m":"1"}}`)
	}, `"ref":{"type":"ref/prompt","name":"greet"},"argument":{"name":"n","value":"<&>"},"context":{"arguments":{"m":"1"}}`, ""},
}

// asks makes of a request for a tool one of another kind, which no description
// of a tool is needed for.
func asks(operation string, change func(*exchange.Request)) func(*exchange.Request) {
	return func(r *exchange.Request) {
		r.Operation, r.Described, r.Tool, r.Arguments = call.Operation(operation), false, "", nil
		change(r)
	}
}

// metaOf is what a modern server is told besides what it is asked.
func metaOf(capabilities string) string {
	return `,"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":` +
		capabilities + `,"io.modelcontextprotocol/clientInfo":{"name":"mcprelay","version":"1.2.3"}}`
}

func TestEachRequestIsSentAsItsMethodInBothEras(t *testing.T) {
	for method, tt := range everyAsk {
		for era, p := range map[session.Era]*peer{session.Modern: newPeer(t, modern(answered)), session.Legacy: newLegacyPeer(t, answered)} {
			reply, err := process(t, newStore()).Call(t.Context(), request(t, p.url, asks(method, tt.change)))
			if err != nil || string(reply.Result) != hello || reply.Facts.Posts != 1 || reply.Facts.Era != era {
				t.Errorf("%s, %s: got %v, %s, %+v", method, era, err, reply.Result, reply.Facts)
			}
			g, meta := p.last(t, method), ""
			if era == session.Modern {
				meta = metaOf(`{}`)
			}
			want := `{"jsonrpc":"2.0","id":` + g.ID + `,"method":"` + method + `","params":{` + tt.params + meta + `}}`
			if diff := cmp.Diff(want, string(g.Body)); diff != "" {
				t.Errorf("%s, %s: -want +got\n%s", method, era, diff)
			}
			headers := map[session.Era][2]string{session.Modern: {method, tt.name}}[era]
			if got := [2]string{g.Header.Get("Mcp-Method"), g.Header.Get("Mcp-Name")}; got != headers {
				t.Errorf("%s, %s: headers %q, want %q", method, era, got, headers)
			}
		}
	}
}

// TestARequestOfOneKindHasNothingOfAnother: what is left over in it is not sent.
func TestARequestOfOneKindHasNothingOfAnother(t *testing.T) {
	p := newPeer(t, modern(answered))
	for method, tt := range everyAsk {
		_, err := process(t, nil).Call(t.Context(), request(t, p.url, asks(method, tt.change), func(r *exchange.Request) {
			r.Tool = "rm"
			if method != "completion/complete" {
				r.Argument, r.Context = json.RawMessage(`{"odd":1}`), json.RawMessage(`{"odd":1}`)
			}
			if method != "prompts/get" {
				r.Arguments = json.RawMessage(`{"odd":1}`)
			}
		}))
		if body := string(p.last(t, method).Body); err != nil || strings.Contains(body, "odd") || strings.Contains(body, "rm") {
			t.Errorf("%s: got %v, sent %s", method, err, body)
		}
	}
}

func TestARequestThatNamesNothingIsNotSent(t *testing.T) {
	p := newPeer(t, modern(answered))
	for name, change := range map[string]func(*exchange.Request){
		"tool":                  func(r *exchange.Request) { r.Tool = "" },
		"resource":              asks("resources/read", func(r *exchange.Request) { r.Prompt = "x" }),
		"prompt":                asks("prompts/get", func(r *exchange.Request) { r.Resource = "x:" }),
		"completion":            asks("completion/complete", func(r *exchange.Request) { r.Argument = json.RawMessage(`{}`) }),
		"completion of two":     asks("completion/complete", func(r *exchange.Request) { r.Prompt, r.Resource, r.Argument = "x", "x:", json.RawMessage(`{}`) }),
		"completion of nothing": asks("completion/complete", func(r *exchange.Request) { r.Prompt = "x" }),
		"list":                  asks("discover", func(r *exchange.Request) { r.Tool = "x" }),
		"task":                  asks("tasks/get", func(r *exchange.Request) { r.Tool = "x" }),
	} {
		if _, err := process(t, nil).Call(t.Context(), request(t, p.url, change)); reasonOf(t, err) != call.Internal {
			t.Errorf("%s: got %v", name, err)
		}
	}
	if got := p.methods(); len(got) != 0 {
		t.Errorf("the server was sent %v", got)
	}
}

// answering has an agent answer what a server asked it for.
func answering(r *exchange.Request) {
	r.Capabilities = json.RawMessage(`{ "elicitation":{"form":{}} }`)
	r.InputResponses = json.RawMessage(`{"ok":{"action":"decline","n":9007199254740993}}`)
	r.RequestState = json.RawMessage(`"st\u0061te"`)
}

func TestAModernServerIsToldWhatTheAgentCanBeAskedForAndWhatItAnswers(t *testing.T) {
	p := newPeer(t, modern(saysJSON(200, `{"jsonrpc":"2.0","id":ID,"result":{"resultType":"input_required","requestState":"n"}}`)))
	x := process(t, nil)
	reply, err := x.Call(t.Context(), request(t, p.url, answering))
	if err != nil || reply.ResultType != "input_required" {
		t.Errorf("got %v, %+v", err, reply)
	}
	g := p.last(t, "tools/call")
	want := `{"jsonrpc":"2.0","id":` + g.ID + `,"method":"tools/call","params":{"name":"echo","arguments":{"text":"hi"},` +
		`"inputResponses":{"ok":{"action":"decline","n":9007199254740993}},"requestState":"st\u0061te"` + metaOf(`{ "elicitation":{"form":{}} }`) + `}}`
	if diff := cmp.Diff(want, string(g.Body)); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
	if g := p.last(t, "server/discover"); !strings.Contains(string(g.Body), `clientCapabilities":{},`) {
		t.Errorf("the relay itself can be asked for nothing, it said %s", g.Body)
	}
	list := newPeer(t, modern(pages(`{"tools":[]}`)))
	if _, _, err := process(t, nil).List(t.Context(), request(t, list.url, answering)); err != nil || strings.Contains(string(list.last(t, "tools/list").Body), "elicitation") {
		t.Errorf("a list: got %v, %s", err, list.last(t, "tools/list").Body)
	}
}

func TestALegacyServerIsNeverToldThatTheAgentCanBeAsked(t *testing.T) {
	p := newLegacyPeer(t, answered)
	r := request(t, p.url, answering, func(r *exchange.Request) { r.InputResponses, r.RequestState = nil, nil })
	if _, err := process(t, nil).Call(t.Context(), r); err != nil {
		t.Fatal(err)
	}
	for _, g := range p.all() {
		if strings.Contains(string(g.Body), "elicitation") {
			t.Errorf("it was told in %s", g.Body)
		}
	}
}

// TestAnswersGoToNoServerThatCannotHaveAsked: it would take the call for a new
// one and run it, whatever the agent answered.
func TestAnswersGoToNoServerThatCannotHaveAsked(t *testing.T) {
	for name, change := range map[string]func(*exchange.Request){
		"both":      answering,
		"state":     func(r *exchange.Request) { r.RequestState = json.RawMessage(`""`) },
		"responses": func(r *exchange.Request) { r.InputResponses = json.RawMessage(`{}`) },
	} {
		p := newLegacyPeer(t, answered)
		reply, err := process(t, nil).Call(t.Context(), request(t, p.url, change))
		if refusal := refusalOf(t, err); refusal.Reason != call.StateRefused || refusal.MayHaveRun() != call.ImpactNone || reply.Facts.Posts != 0 || p.posts("tools/call") != 0 {
			t.Errorf("%s: got %v, %v", name, refusal, p.methods())
		}
	}
	p := handshakePeer(t, handshake{"tools/call": unsupported(400, `["2025-11-25"]`)})
	s := newStore()
	knows(s, session.Modern) // which it was
	_, err := process(t, s).Call(t.Context(), request(t, p.url, answering))
	if reasonOf(t, err) != call.StateRefused || p.posts("tools/call") != 1 {
		t.Errorf("a server that became legacy: got %v, %v", err, p.methods())
	}
}

// TestErrorsOfTheServerAreAnswers, whatever their status: a capability that the
// agent lacks, a method that the server does not know.
func TestErrorsOfTheServerAreAnswers(t *testing.T) {
	for _, code := range []int{-32021, -32601, -32602, -32002} {
		for _, status := range []int{200, 400, 404} {
			for method, tt := range everyAsk {
				lack := saysJSON(status, failure("ID", code, "no"))
				for era, p := range map[session.Era]*peer{session.Modern: newPeer(t, modern(lack)), session.Legacy: newLegacyPeer(t, lack)} {
					s := newStore()
					x := process(t, s)
					for range 2 { // and it stays known as what it is
						reply, err := x.Call(t.Context(), request(t, p.url, asks(method, tt.change)))
						if err != nil || reply.Error == nil || reply.Error.Code != int64(code) || reply.Facts.Posts != 1 || reply.Facts.Status != status {
							t.Errorf("%s, %s, %d with %d: got %v, %+v", method, era, code, status, err, reply)
						}
					}
					if p.posts("server/discover") != 1 || p.posts(method) != 2 || s.get(originKey).Era != era {
						t.Errorf("%s, %s, %d with %d: %v", method, era, code, status, p.methods())
					}
				}
			}
		}
	}
}

// TestEveryRequestIsPutAgainOnlyWhereItDidNotRun holds for all kinds as for
// tools.
func TestEveryRequestIsPutAgainOnlyWhereItDidNotRun(t *testing.T) {
	for method, tt := range everyAsk {
		p := newLegacyPeer(t, answered)
		x := process(t, newStore())
		for i, again := range []string{"", exchange.AgainSession} {
			reply, err := x.Call(t.Context(), request(t, p.url, asks(method, tt.change)))
			if err != nil || reply.Facts.Again != again || reply.Facts.Posts != i+1 {
				t.Errorf("%s: got %v, %+v", method, err, reply.Facts)
			}
			p.loseAll()
		}
		cut := newPeer(t, modern(func(w net.Conn, g got) { w.Close() }))
		_, err := process(t, nil).Call(t.Context(), request(t, cut.url, asks(method, tt.change)))
		if refusal := refusalOf(t, err); refusal.Reason != call.ResetBeforeHead || refusal.MayHaveRun() != call.ImpactUnknown || cut.posts(method) != 1 {
			t.Errorf("%s, cut: got %v, %v", method, refusal, cut.methods())
		}
	}
	undescribed := func(r *exchange.Request) { r.Described = false }
	if _, err := process(t, nil).Call(t.Context(), request(t, newPeer(t, modern(answered)).url, undescribed)); !errors.Is(err, exchange.ErrUndescribed) {
		t.Errorf("a tool: got %v", err)
	}
}
