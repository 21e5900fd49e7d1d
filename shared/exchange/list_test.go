package exchange_test

import (
	"encoding/json"
	"fmt"
	"net"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"mcprelay/shared/call"
	"mcprelay/shared/exchange"
)

// pages answers tools/list with results, one after the other; the last one
// comes for ever.
func pages(results ...string) script {
	next := 0
	return func(w net.Conn, g got) {
		body := results[min(next, len(results)-1)]
		next++
		write(w, 200, "application/json", result(g, strings.ReplaceAll(body, "N", fmt.Sprint(next))))
	}
}

func texts(raw []json.RawMessage) []string {
	var list []string
	for _, r := range raw {
		list = append(list, string(r))
	}
	return list
}

func TestListGathersItsPagesAsTheyCame(t *testing.T) {
	one := pages(`{"tools":[{"name":"a","x":1.0}, {"name":"b"}],"nextCursor":"p\u0032/<&>"}`, `{"tools":[],"nextCursor":"p3"}`, `{"nextCursor":null,"tools":[{"inputSchema":{"n":9007199254740993},"name":"c"}]}`)
	for name, p := range map[string]*peer{"modern": newPeer(t, modern(one))} {
		tools, facts, err := process(t, nil).List(t.Context(), request(t, p.url))
		if err != nil {
			t.Fatal(err)
		}
		want := []string{`{"name":"a","x":1.0}`, `{"name":"b"}`, `{"inputSchema":{"n":9007199254740993},"name":"c"}`}
		if diff := cmp.Diff(want, texts(tools)); diff != "" {
			t.Errorf("%s: -want +got\n%s", name, diff)
		}
		if facts.Posts != 3 || facts.Status != 200 || facts.Era != "modern" {
			t.Errorf("%s: got %+v", name, facts)
		}
		var cursors []string
		for _, g := range p.all()[1:] {
			var body struct {
				Params map[string]json.RawMessage `json:"params"`
			}
			if err := json.Unmarshal(g.Body, &body); err != nil {
				t.Fatal(err)
			}
			cursors = append(cursors, string(body.Params["cursor"]))
			if g.Header.Get("Mcp-Method") != "tools/list" || g.Header.Get("Mcp-Name") != "" {
				t.Errorf("%s: sent with %v", name, g.Header)
			}
		}
		if diff := cmp.Diff([]string{"", `"p\u0032/<&>"`, `"p3"`}, cursors); diff != "" {
			t.Errorf("%s: cursors -want +got\n%s", name, diff)
		}
	}
}

func TestListOfALegacyServerEndsWithAnEmptyCursor(t *testing.T) {
	p := newLegacyPeer(t, pages(`{"tools":[{"name":"a"}],"nextCursor":""}`))
	tools, facts, err := process(t, nil).List(t.Context(), request(t, p.url))
	if err != nil || len(tools) != 1 || facts.Posts != 1 || facts.Session != exchange.SessionNew {
		t.Errorf("got %v, %s, %+v", err, tools, facts)
	}
}

func TestListGoesOnAfterALostSession(t *testing.T) {
	var p *peer
	asked := 0
	p = newLegacyPeer(t, func(w net.Conn, g got) {
		if asked++; asked == 1 {
			write(w, 200, "application/json", result(g, `{"tools":[{"name":"a"}],"nextCursor":"2"}`))
			p.loseAll()
			return
		}
		write(w, 200, "application/json", result(g, `{"tools":[{"name":"b"}]}`))
	})
	tools, facts, err := process(t, nil).List(t.Context(), request(t, p.url))
	if err != nil || len(tools) != 2 || facts.Posts != 3 || facts.Session != exchange.SessionRenewed || p.posts("initialize") != 2 {
		t.Errorf("got %v, %s, %+v, %v", err, tools, facts, p.methods())
	}
}

// TestListThatCannotBeReadWhole fails: never a part, and nothing ran.
func TestListThatCannotBeReadWhole(t *testing.T) {
	const tool = `{"name":"a"}`
	many := func(n int) string { return strings.TrimSuffix(strings.Repeat(tool+",", n), ",") }
	for name, tc := range map[string]struct {
		answer script
		want   call.Reason
		posts  int
	}{
		"same cursor for ever":      {pages(`{"tools":[` + tool + `],"nextCursor":"x"}`), call.ListFailed, 2},
		"empty cursor for ever":     {pages(`{"tools":[` + tool + `],"nextCursor":""}`), call.ListFailed, 2},
		"two cursors in turn":       {pages(`{"tools":[],"nextCursor":"x"}`, `{"tools":[],"nextCursor":"y"}`, `{"tools":[],"nextCursor":"x"}`), call.ListFailed, 3},
		"new cursors for ever":      {pages(`{"tools":[` + tool + `],"nextCursor":"N"}`), call.ListTooLong, 10},
		"65 tools":                  {pages(`{"tools":[` + many(65) + `]}`), call.ListTooLong, 1},
		"65 tools on two pages":     {pages(`{"tools":[`+many(33)+`],"nextCursor":"2"}`, `{"tools":[`+many(32)+`]}`), call.ListTooLong, 2},
		"cursor is a number":        {pages(`{"tools":[],"nextCursor":2}`), call.ListFailed, 1},
		"cursor is an object":       {pages(`{"tools":[],"nextCursor":{}}`), call.ListFailed, 1},
		"cursor over its bound":     {pages(`{"tools":[],"nextCursor":"` + strings.Repeat("x", 8<<10) + `"}`), call.ListFailed, 1},
		"no tools":                  {pages(`{}`), call.ListFailed, 1},
		"tools are no list":         {pages(`{"tools":{}}`), call.ListFailed, 1},
		"tools are null":            {pages(`{"tools":null}`), call.ListFailed, 1},
		"error":                     {saysJSON(200, failure("ID", -32603, "x")), call.ListFailed, 1},
		"status":                    {says(500, "", ""), call.ListFailed, 1},
		"page":                      {says(200, "text/html", "<html>"), call.ListFailed, 1},
		"reset":                     {func(w net.Conn, g got) { w.Close() }, call.ListFailed, 1},
		"cut":                       {streaming(""), call.ListFailed, 1},
		"over the bound":            {pages(`{"tools":[{"name":"` + strings.Repeat("x", 1<<20) + `"}]}`), call.ListFailed, 1},
		"second page fails":         {pages(`{"tools":[`+tool+`],"nextCursor":"2"}`, `{}`), call.ListFailed, 2},
		"redirect":                  {says(307, "", "", "Location: /x"), call.Redirect, 1},
		"401":                       {says(401, "", ""), call.UpstreamUnauthorized, 1},
		"version refused for good":  {unsupported(400, `[]`), call.NoCommonVersion, 1},
		"session and status unlike": {says(404, "", ""), call.ListFailed, 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newPeer(t, modern(tc.answer))
			tools, facts, err := process(t, nil).List(t.Context(), request(t, p.url))
			refusal := refusalOf(t, err)
			if refusal.Reason != tc.want || refusal.MayHaveRun() != call.ImpactNone {
				t.Errorf("want %s with impact none, got %v with %s", tc.want, refusal, refusal.MayHaveRun())
			}
			if tools != nil {
				t.Errorf("a part was given: %s", tools)
			}
			if p.posts("tools/list") != tc.posts || facts.Posts != tc.posts {
				t.Errorf("want %d POSTs, got %d, counted as %d", tc.posts, p.posts("tools/list"), facts.Posts)
			}
		})
	}
}

func TestListObeysTheLimitsOfItsServer(t *testing.T) {
	p := newPeer(t, modern(pages(`{"tools":[{"name":"a"}],"nextCursor":"N"}`)))
	_, facts, err := process(t, nil).List(t.Context(), request(t, p.url, func(r *exchange.Request) { r.Limits.Pages = 3 }))
	if reasonOf(t, err) != call.ListTooLong || facts.Posts != 3 {
		t.Errorf("want 3 pages, got %v after %d", err, facts.Posts)
	}
	_, facts, err = process(t, nil).List(t.Context(), request(t, p.url, func(r *exchange.Request) { r.Limits.Items = 1 }))
	if reasonOf(t, err) != call.ListTooLong || facts.Posts != 2 {
		t.Errorf("want 1 tool, got %v after %d", err, facts.Posts)
	}
}

func TestListOfACallerThatLeavesIsCancelled(t *testing.T) {
	gone := make(chan error, 1)
	p := newPeer(t, modern(silent("", gone)))
	_, _, err := process(t, nil).List(soon(t, patience), request(t, p.url))
	if refusal := refusalOf(t, err); refusal.Reason != call.ListFailed || !strings.Contains(refusal.Detail, "head_timeout") {
		t.Errorf("got %v", refusal)
	}
	<-gone
}
