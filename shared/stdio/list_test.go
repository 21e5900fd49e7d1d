package stdio_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"mcprelay/shared/call"
	"mcprelay/shared/stdio"
)

// listed is a request for a list of a server that answers with pages: method
// and cursor to result.
func listed(list call.List, era string, pages map[string]string) stdio.Request {
	text, _ := json.Marshal(pages)
	r := ask(scripted(script{Era: era, Caps: `{"tools":{},"resources":{},"prompts":{}}`}, "LIST="+string(text)), "")
	r.Operation, r.List = call.OperationDiscover, list
	return r
}

func TestEachListIsReadByItsOwnMethod(t *testing.T) {
	tests := map[call.List][2]string{
		"":                 {"tools/list ", "tools"},
		call.ListTools:     {"tools/list ", "tools"},
		call.ListResources: {"resources/list ", "resources"},
		call.ListTemplates: {"resources/templates/list ", "resourceTemplates"},
		call.ListPrompts:   {"prompts/list ", "prompts"},
	}
	for list, tt := range tests {
		p := newPool(t, nil)
		items := []string{`{"name":"a","inputSchema":{"properties":{"x":true}},"n":1.0}`, `7`, `{ "odd" : null }`}
		r := listed(list, "modern", map[string]string{tt[0]: `{"` + tt[1] + `":[` + strings.Join(items, ",") + `]}`})
		reply, err := p.List(within(t), r)
		if err != nil {
			t.Errorf("%q: %v", list, err)
		}
		if diff := cmp.Diff(items, texts(reply.Items)); diff != "" || reply.Facts.Requests != 1 {
			t.Errorf("%q: %d requests, (-want +got):\n%s", list, reply.Facts.Requests, diff)
		}
	}
}

// texts are raw values as strings.
func texts(raw []json.RawMessage) []string {
	list := make([]string, len(raw))
	for i := range raw {
		list[i] = string(raw[i])
	}
	return list
}

// TestPagesAreFollowedToTheLastOne, and a list that has none is an error or
// empty, never a part.
func TestPagesAreFollowedToTheLastOne(t *testing.T) {
	page := func(next string, names ...string) string {
		names = slices.Clone(names)
		for i, name := range names {
			names[i] = `{"name":"` + name + `"}`
		}
		if next != "" {
			next = `,"nextCursor":` + next
		}
		return `{"tools":[` + strings.Join(names, ",") + `]` + next + `}`
	}
	many := make([]string, 65)
	for i := range many {
		many[i] = fmt.Sprint("t", i)
	}
	long := map[string]string{"tools/list ": page(`"1"`, "a")}
	for i := range 10 {
		long[fmt.Sprint("tools/list ", i+1)] = page(fmt.Sprintf(`"%d"`, i+2), "a")
	}
	tests := map[string]struct {
		pages  map[string]string
		modern string // how many, or the reason
		legacy string
	}{
		"three pages":         {map[string]string{"tools/list ": page(`"x"`, "a"), "tools/list x": page(`"\u0079"`, "b"), "tools/list y": page("", "c")}, "3", "3"},
		"null ends":           {map[string]string{"tools/list ": page(`null`, "a")}, "1", "1"},
		"empty list":          {map[string]string{"tools/list ": page("")}, "0", "0"},
		"empty cursor":        {map[string]string{"tools/list ": page(`""`, "a")}, "list_failed", "1"},
		"the same cursor":     {map[string]string{"tools/list ": page(`"x"`, "a"), "tools/list x": page(`"x"`, "a")}, "list_failed", "list_failed"},
		"a cursor of a kind":  {map[string]string{"tools/list ": page(`7`, "a")}, "list_failed", "list_failed"},
		"a cursor too long":   {map[string]string{"tools/list ": page(`"`+strings.Repeat("x", 8<<10)+`"`, "a")}, "list_failed", "list_failed"},
		"more items":          {map[string]string{"tools/list ": page("", many...)}, "list_too_long", "list_too_long"},
		"more pages":          {long, "list_too_long", "list_too_long"},
		"no such method":      {map[string]string{}, "0", "0"},
		"a page is missing":   {map[string]string{"tools/list ": page(`"x"`, "a")}, "list_failed", "list_failed"},
		"no list":             {map[string]string{"tools/list ": `{"prompts":[]}`}, "list_failed", "list_failed"},
		"no array":            {map[string]string{"tools/list ": `{"tools":{}}`}, "list_failed", "list_failed"},
		"an odd result type":  {map[string]string{"tools/list ": `{"resultType":"zzz","tools":[]}`}, "list_failed", "list_failed"},
		"a page of 64 is all": {map[string]string{"tools/list ": page("", many[:64]...)}, "64", "64"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			p := newPool(t, nil)
			for era, want := range map[string]string{stdio.Modern: tt.modern, stdio.Legacy: tt.legacy} {
				r := listed(call.ListTools, era, tt.pages)
				r.Key = era
				reply, err := p.List(within(t), r)
				got := fmt.Sprint(len(reply.Items))
				if err != nil {
					refusal := refusalOf(t, err)
					got = string(refusal.Reason)
					if refusal.MayHaveRun() != call.ImpactNone || len(reply.Items) > 0 {
						t.Errorf("%s: %v with effect %s and %d items", era, refusal, refusal.MayHaveRun(), len(reply.Items))
					}
				}
				if got != want {
					t.Errorf("%s: got %s (%v), want %s", era, got, err, want)
				}
			}
		})
	}
}

func TestTheCallersBoundsOfAListHold(t *testing.T) {
	p := newPool(t, nil)
	pages := map[string]string{"tools/list ": `{"tools":[1,2],"nextCursor":"x"}`, "tools/list x": `{"tools":[3]}`}
	for name, tt := range map[string]struct {
		pages, items int
		want         call.Reason
	}{
		"enough":         {2, 3, ""},
		"an item less":   {2, 2, call.ListTooLong},
		"a page less":    {1, 3, call.ListTooLong},
		"as many as can": {1000, 1000, ""},
	} {
		r := listed(call.ListTools, "modern", pages)
		r.Pages, r.Items = tt.pages, tt.items
		_, err := p.List(within(t), r)
		if got := err == nil; got != (tt.want == "") || err != nil && refusalOf(t, err).Reason != tt.want {
			t.Errorf("%s: got %v, want %q", name, err, tt.want)
		}
	}
}

// TestAListThatTheServerDoesNotHaveIsEmptyAndNotAskedFor reads it from the
// capabilities of either handshake.
func TestAListThatTheServerDoesNotHaveIsEmptyAndNotAskedFor(t *testing.T) {
	for _, era := range []string{stdio.Modern, stdio.Legacy} {
		p := newPool(t, nil)
		r := ask(scripted(script{Era: era, Caps: `{"tools":{},"logging":{}}`}), "")
		for _, list := range []call.List{call.ListResources, call.ListTemplates, call.ListPrompts} {
			r.List = list
			reply, err := p.List(within(t), r)
			if err != nil || len(reply.Items) > 0 || reply.Facts.Requests != 0 || reply.Facts.Era != era {
				t.Errorf("%s, %s: got %+v, error %v", era, list, reply, err)
			}
		}
		if got := methodsOf(t, p, r); strings.Contains(got, "/list") {
			t.Errorf("%s: the child was sent %s", era, got)
		}
	}
}

// TestAListOfAServerThatDoesNotSayWhatItHasIsAskedFor once, at least.
func TestAListOfAServerThatDoesNotSayWhatItHasIsAskedFor(t *testing.T) {
	p := newPool(t, nil)
	for _, caps := range []string{"null", "[]"} {
		r := listed(call.ListPrompts, "modern", map[string]string{"prompts/list ": `{"prompts":[1]}`})
		r.Key = caps
		r.Spec.Env = append(scripted(script{Caps: caps}).Env, r.Spec.Env[3])
		reply, err := p.List(within(t), r)
		if err != nil || len(reply.Items) != 1 {
			t.Errorf("%s: got %+v, error %v", caps, reply, err)
		}
	}
}

func TestAListThatEndsWithItsServerHasNoEffect(t *testing.T) {
	p := newPool(t, nil)
	r := ask(scripted(script{Odd: "tools/list"}), "")
	_, err := p.List(within(t), r)
	want(t, refusalOf(t, err), call.ListFailed, call.ImpactNone)
	r.List = "everything"
	_, err = p.List(within(t), r)
	want(t, refusalOf(t, err), call.Internal, call.ImpactUnknown)
	r.List, r.Spec = call.ListTools, stdio.Spec{Command: "/nowhere"}
	_, err = p.List(within(t), r)
	want(t, refusalOf(t, err), call.ProcessFailed, call.ImpactNone)
}
