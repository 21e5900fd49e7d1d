package exchange_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"mcprelay/shared/call"
	"mcprelay/shared/exchange"
	"mcprelay/shared/session"
	"mcprelay/shared/wire"
)

var mirrored = []wire.Param{
	{Header: "Region", Path: []string{"region"}, Type: "string"},
	{Header: "depth", Path: []string{"at", "depth"}, Type: "integer"},
	{Header: "Dry-Run", Path: []string{"dry"}, Type: "boolean"},
	{Header: "Missing", Path: []string{"missing"}, Type: "string"},
	{Header: "Null", Path: []string{"null"}, Type: "string"},
}

const mirroredArguments = `{"region":"größe","at":{"depth":1e2},"dry":false,"null":null,"text":"hi"}`

// paramsOf are the headers of a request that repeat arguments.
func paramsOf(h http.Header) map[string]string {
	all := map[string]string{}
	for name, values := range h {
		if strings.HasPrefix(name, "Mcp-Param-") {
			all[name] = strings.Join(values, "|")
		}
	}
	return all
}

func TestArgumentsAreMirroredForAModernServer(t *testing.T) {
	change := func(r *exchange.Request) { r.Params, r.Arguments = mirrored, json.RawMessage(mirroredArguments) }
	p := newPeer(t, modern(answered))
	if _, err := process(t, nil).Call(t.Context(), request(t, p.url, change)); err != nil {
		t.Fatal(err)
	}
	want := map[string]string{"Mcp-Param-Region": "=?base64?Z3LDtsOfZQ==?=", "Mcp-Param-Depth": "100", "Mcp-Param-Dry-Run": "false"}
	g := p.last(t, "tools/call")
	if diff := cmp.Diff(want, paramsOf(g.Header)); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
	if !strings.Contains(string(g.Body), `"arguments":`+mirroredArguments) || !strings.Contains(g.Raw, "\r\nMcp-Param-depth: 100\r\n") {
		t.Errorf("sent as\n%s\n\n%s", g.Raw, g.Body)
	}
	if got := paramsOf(p.last(t, "server/discover").Header); len(got) != 0 {
		t.Errorf("the probe repeats arguments: %v", got)
	}

	p = newLegacyPeer(t, answered)
	if _, err := process(t, nil).Call(t.Context(), request(t, p.url, change)); err != nil {
		t.Fatal(err)
	}
	if got := paramsOf(p.last(t, "tools/call").Header); len(got) != 0 {
		t.Errorf("a legacy server gets %v", got)
	}
}

func TestArgumentThatCannotBeMirroredNeverLeaves(t *testing.T) {
	p := newPeer(t, modern(answered))
	for name, tc := range map[string]struct {
		param     wire.Param
		arguments string
		want      call.Reason
	}{
		"another type":   {mirrored[0], `{"region":7}`, call.BadParams},
		"fraction":       {mirrored[1], `{"at":{"depth":1.5}}`, call.BadParams},
		"beyond 2^53":    {mirrored[1], `{"at":{"depth":9007199254740993}}`, call.BadParams},
		"name of a line": {wire.Param{Header: "a\r\nHost: b", Path: []string{"region"}, Type: "string"}, `{"region":"x"}`, call.Internal},
	} {
		r := request(t, p.url, func(r *exchange.Request) {
			r.Params, r.Arguments = []wire.Param{tc.param}, json.RawMessage(tc.arguments)
		})
		reply, err := process(t, nil).Call(t.Context(), r)
		refusal := refusalOf(t, err)
		if refusal.Reason != tc.want || refusal.MayHaveRun() != call.ImpactNone || reply.Facts.Posts != 0 {
			t.Errorf("%s: want %s with impact none, got %v with %s", name, tc.want, refusal, refusal.MayHaveRun())
		}
		if strings.Contains(refusal.Error(), "9007") || strings.Contains(refusal.Error(), "Host") {
			t.Errorf("%s: the text quotes the argument: %v", name, refusal)
		}
	}
	if p.posts("tools/call") != 0 {
		t.Error("a call left")
	}
}

// TestUndescribedToolIsNotCalled: what a modern server wants in headers is not
// known, so nothing of the request is sent; a legacy server wants none.
func TestUndescribedToolIsNotCalled(t *testing.T) {
	undescribed := func(r *exchange.Request) { r.Described = false }
	p := newPeer(t, modern(answered))
	x := process(t, newStore())
	for range 2 { // cold and warm
		reply, err := x.Call(t.Context(), request(t, p.url, undescribed))
		if err != exchange.ErrUndescribed || reply.Facts.Posts != 0 || reply.Facts.Era != session.Modern {
			t.Errorf("want ErrUndescribed, got %v, %+v", err, reply.Facts)
		}
	}
	if p.posts("tools/call") != 0 || p.posts("server/discover") != 1 {
		t.Errorf("got %v", p.methods())
	}
	if _, err := x.Call(t.Context(), request(t, p.url)); err != nil {
		t.Errorf("the same call with the description: %v", err)
	}
	if _, _, err := process(t, nil).List(t.Context(), request(t, newPeer(t, modern(pages(`{"tools":[]}`))).url, undescribed)); err != nil {
		t.Errorf("a list needs no description, got %v", err)
	}
	if _, err := process(t, nil).Call(t.Context(), request(t, newLegacyPeer(t, answered).url, undescribed)); err != nil {
		t.Errorf("a legacy server needs no description, got %v", err)
	}
}

// TestUndescribedToolOfAServerThatBecameModern: the refused version proves that
// the first POST did not run.
func TestUndescribedToolOfAServerThatBecameModern(t *testing.T) {
	p := newPeer(t, modern(unsupported(400, `["2026-07-28"]`)))
	s := newStore()
	knows(s, session.Legacy)
	s.set(sessionKey, session.State{Era: session.Legacy, Version: "2025-11-25", SessionID: "old", Expires: s.now().Add(session.Lifetime), Ver: 1})
	_, err := process(t, s).Call(t.Context(), request(t, p.url, func(r *exchange.Request) { r.Described = false }))
	if !errors.Is(err, exchange.ErrUndescribed) || p.posts("tools/call") != 1 || s.get(originKey).Era != session.Modern {
		t.Errorf("got %v, %v", err, p.methods())
	}
}

func TestRefusedHeadersMeanThatNothingRan(t *testing.T) {
	for _, id := range []string{"ID", "null"} {
		for _, status := range []int{400, 200} {
			p := newPeer(t, modern(saysJSON(status, `{"jsonrpc":"2.0","id":`+id+`,"error":{"code":-32020,"message":"Mcp-Param-Region is missing"}}`)))
			s := newStore()
			x := process(t, s)
			for n := range 2 { // the era is as sure as before
				reply, err := x.Call(t.Context(), request(t, p.url))
				refusal := refusalOf(t, err)
				if refusal.Reason != call.HeadersRefused || refusal.MayHaveRun() != call.ImpactNone || refusal.Status != status || reply.Facts.Posts != 1 {
					t.Errorf("%d %s: got %v with %s, %+v", status, id, refusal, refusal.MayHaveRun(), reply.Facts)
				}
				if p.posts("tools/call") != n+1 {
					t.Errorf("%d %s: it was asked again: %v", status, id, p.methods())
				}
			}
		}
	}
	// Before 2026-07-28 the code means whatever the server likes.
	p := newLegacyPeer(t, saysJSON(400, failure("ID", -32020, "mine")))
	if reply, err := process(t, nil).Call(t.Context(), request(t, p.url)); err != nil || reply.Error == nil || reply.Error.Code != -32020 {
		t.Errorf("legacy: got %v, %+v", err, reply.Error)
	}
}

// FuzzCredentialHeader checks that a credential's header arrives as it was set,
// or not at all: no byte of it becomes another header.
func FuzzCredentialHeader(f *testing.F) {
	f.Add("Authorization", "Bearer abc")
	f.Add("X-Api-Key", "a\r\nHost: b")
	f.Add("X Key", "a")
	f.Add("Mcp-Session-Id", "a")
	r := request(f, "http://127.0.0.1:1/mcp")
	f.Fuzz(func(t *testing.T, name, value string) {
		r := r
		r.Authorize = func(h http.Header) { h[name] = []string{value} }
		out, refusal := exchange.RequestBytes(r)
		if refusal != nil {
			if refusal.Reason != call.SecretUnusable || len(value) > 7 && strings.Contains(refusal.Error(), value) {
				t.Fatalf("%q: %q is refused with %v", name, value, refusal)
			}
			return
		}
		got, err := http.ReadRequest(bufio.NewReader(bytes.NewReader(out)))
		if err != nil {
			t.Fatalf("%q: %q cannot be read: %v", name, value, err)
		}
		if values := got.Header.Values(name); len(values) != 1 || values[0] != value {
			t.Fatalf("%q: %q arrives as %q", name, value, values)
		}
		const own = 9 // and those of a request that has no credential
		if n := len(got.Header); n != own+1 && !(n == own && strings.EqualFold(name, "User-Agent")) {
			t.Fatalf("%q: %q arrives among %v", name, value, got.Header)
		}
		if body, err := io.ReadAll(got.Body); err != nil || !json.Valid(body) {
			t.Fatalf("%q: %q has the body %q, %v", name, value, body, err)
		}
	})
}
