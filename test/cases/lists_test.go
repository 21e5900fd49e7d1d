package cases_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"mcprelay/shared/audit"
	"mcprelay/shared/call"
	"mcprelay/test/hostile"
)

// Section G, first part: pages and schemas.
func lists() []row {
	return []row{
		{"G71", "a cursor that repeats ends the list as a failure, never as a part of it", endlessPages},
		{"G72", "an empty cursor ends the list of an old server and is followed once on a modern one", emptyCursor},
		{"G73", "a cursor is sent back as it came", func(t *testing.T, k *stage) {
			cursorsKept(t, k)
			agentCursors(t, k)
		}},
		{"G75", "a schema whose property is a boolean passes unchanged", schemas(
			`{"type":"object","properties":{"x":true}}`, `{"type":"object","properties":{"x":false,"y":{}}}`, `{"type":"object","additionalProperties":false,"properties":{}}`)},
		{"G76", "a schema of combinations at its root passes unchanged", schemas(
			`{"anyOf":[{"required":["a"]},{"required":["b"]}]}`, `{"type":"object","allOf":[{"if":{"properties":{"a":{"const":1}}},"then":{"required":["b"]}}]}`,
			`{"oneOf":[{"type":"object"},{"type":"null"}],"not":{"required":["z"]}}`, `{"type":["object","null"]}`)},
		{"G77", "a schema that says little, or refers to itself, passes unchanged, and one odd tool does not lose the others", func(t *testing.T, k *stage) {
			schemas(
				`{"$schema":"http://json-schema.org/draft-07/schema#"}`, `{"type":"object"}`, `{}`, `{"$ref":"#/$defs/a","$defs":{"a":{"$ref":"#/$defs/a"}}}`,
				`{"type":"object","properties":{"x":{"$ref":"https://example.com/schema.json"}}}`, `{"type":"object","properties":{"n":{"maximum":1e400,"const":1.0}}}`,
				`{ "type" : "object",	"x-more":[1, 2.50] }`, `{"type":"object","properties":{"<&>":{"description":"\u00e9 \/"}}}`)(t, k)
			oddTools(t, k)
		}},
	}
}

// list asks for the tools and gives the record of the acquisition.
func (s *scene) list() (hostile.Reply, audit.Record) {
	s.t.Helper()
	before := len(s.relay.Records())
	reply := s.relay.Ask(s.t.Context(), s.t, hostile.Ask{Method: "tools/list"})
	var own []audit.Record
	for _, record := range s.relay.Records()[before:] {
		switch {
		case record.Operation == call.OperationDiscover && record.Face == call.FaceInternal:
			own = append(own, record)
		case record.Operation != "tools/list" || record.Outcome == call.Answered:
			s.t.Errorf("the list left the record %+v, want one about an acquisition, or one of the refusal", record)
		}
	}
	if len(own) != 1 || own[0].List != call.ListTools && own[0].Outcome == call.Answered {
		s.t.Fatalf("the list left the acquisitions %+v, want one, of tools", own)
	}
	return reply, own[0]
}

// listed fails the test unless the list is exactly these descriptors, in the
// order of their names.
func (s *scene) listed(pages int, descriptors ...string) {
	s.t.Helper()
	before := s.up.Count("tools/list")
	reply, record := s.list()
	descriptors = slices.SortedFunc(slices.Values(descriptors), func(a, b string) int { return strings.Compare(nameOf(a), nameOf(b)) })
	if got, want := reply.Result(), `{"tools":[`+strings.Join(descriptors, ",")+`]}`; got != want {
		s.t.Errorf("got the list\n%.2000s\nwant\n%.2000s", got, want)
	}
	if record.Outcome != call.Answered || record.Posts != pages {
		s.t.Errorf("the record says %s, %s, %d POSTs, want answered, %d", record.Outcome, record.Reason, record.Posts, pages)
	}
	s.counted("tools/list", s.up.Count("tools/list")-before, pages)
	s.counted("tools/call", s.up.Calls(), 0)
}

// nameOf is the name in a descriptor.
func nameOf(descriptor string) string {
	var d struct {
		Name string `json:"name"`
	}
	if err := json.Unmarshal([]byte(descriptor), &d); err != nil {
		return err.Error()
	}
	return d.Name
}

// unlisted fails the test unless the list fails after so many pages.
func (s *scene) unlisted(pages int, reason call.Reason) {
	s.t.Helper()
	before := s.up.Count("tools/list")
	reply, record := s.list()
	if failure := reply.Error(); failure.Reason != reason || failure.Effect != call.ImpactNone || reply.Status != http.StatusOK {
		s.t.Errorf("got %d %s, want %s", reply.Status, reply.Body, reason)
	}
	if record.Reason != reason || record.Outcome != call.NoAnswer || record.Posts != pages {
		s.t.Errorf("the record says %s, %s, %d POSTs, want %s, %d", record.Outcome, record.Reason, record.Posts, reason, pages)
	}
	s.counted("tools/list", s.up.Count("tools/list")-before, pages)
}

// paged answers page by page: the text of each is what stands behind its tools.
func paged(tools string, behind func(page int) string) hostile.Script {
	page := 0
	return func(c *hostile.Conn, r hostile.Request) {
		page++
		hostile.Result(`{"tools":[`+strings.ReplaceAll(tools, "$PAGE", fmt.Sprint(page))+`]`+behind(page)+`}`)(c, r)
	}
}

const aTool = `{"name":"t$PAGE","inputSchema":{"type":"object"}}`

func endlessPages(t *testing.T, k *stage) {
	for name, v := range map[string]struct {
		tools  string
		behind func(int) string
		pages  int
		reason call.Reason
	}{
		"the same for ever":    {aTool, func(int) string { return `,"nextCursor":"same"` }, 2, call.ListFailed},
		"two in turn":          {aTool, func(n int) string { return fmt.Sprintf(`,"nextCursor":"%d"`, n%2) }, 3, call.ListFailed},
		"no tools, the same":   {"", func(int) string { return `,"nextCursor":"same"` }, 2, call.ListFailed},
		"new ones for ever":    {aTool, func(n int) string { return fmt.Sprintf(`,"nextCursor":"%d"`, n) }, 10, call.ListTooLong},
		"too many tools":       {strings.TrimSuffix(strings.Repeat(aTool+",", 33), ","), func(n int) string { return fmt.Sprintf(`,"nextCursor":"%d"`, n) }, 2, call.ListTooLong},
		"too many on one page": {strings.TrimSuffix(strings.Repeat(aTool+",", 65), ","), func(int) string { return "" }, 1, call.ListTooLong},
	} {
		for _, era := range hostile.Eras() {
			t.Run(string(era)+" "+name, func(t *testing.T) {
				s := k.set(t, hostile.Options{Era: era, On: map[string]hostile.Script{"tools/list": paged(v.tools, v.behind)}}, hostile.Setup{})
				s.unlisted(v.pages, v.reason)
			})
		}
	}
	s := k.set(t, hostile.Options{On: map[string]hostile.Script{"tools/list": hostile.Result(`{"tools":[],"nextCursor":"same"}`)}}, hostile.Setup{})
	s.ask(hostile.Ask{}, want{reason: call.ListFailed, effect: call.ImpactNone, calls: none}) // a call that needs the list
}

func emptyCursor(t *testing.T, k *stage) {
	tool := func(page int) string { return strings.ReplaceAll(aTool, "$PAGE", fmt.Sprint(page)) }
	pages := func(cursors ...string) hostile.Script {
		return paged(aTool, func(page int) string {
			if page > len(cursors) {
				return ""
			}
			return `,"nextCursor":` + cursors[page-1]
		})
	}
	for _, era := range hostile.Eras() {
		set := func(script hostile.Script) *scene {
			return k.set(t, hostile.Options{Era: era, On: map[string]hostile.Script{"tools/list": script}}, hostile.Setup{})
		}
		set(pages()).listed(1, tool(1))
		set(pages("null")).listed(1, tool(1))
		set(pages(`"a"`, "null")).listed(2, tool(1), tool(2))
		if era != hostile.Modern {
			set(pages(`""`, `""`, `""`)).listed(1, tool(1))
			set(pages(`"a"`, `""`)).listed(2, tool(1), tool(2))
			continue
		}
		set(pages(`""`)).listed(2, tool(1), tool(2))
		set(pages(`""`, `""`, `""`)).unlisted(2, call.ListFailed)
		set(pages(`"a"`, `""`, `""`)).unlisted(3, call.ListFailed)
		set(pages(`""`, `"a"`)).listed(3, tool(1), tool(2), tool(3))
	}
}

func cursorsKept(t *testing.T, k *stage) {
	for _, era := range hostile.Eras() {
		for _, cursor := range []string{`"2"`, `"<&>"`, `"\u00e9\/\u003c"`, `"é🙂"`, `"\"\\\n"`, `"\ud83d\ude42"`, `" "`, `"` + strings.Repeat("c", 8000) + `"`} {
			s := k.set(t, hostile.Options{Era: era}, hostile.Setup{})
			s.up.On("tools/list", paged(aTool, func(page int) string {
				if page == 1 {
					return `,"nextCursor":` + cursor
				}
				return ""
			}))
			s.listed(2, strings.ReplaceAll(aTool, "$PAGE", "1"), strings.ReplaceAll(aTool, "$PAGE", "2"))
			all := s.up.Requests()
			if first := string(all[len(all)-2].Params); strings.Contains(first, "cursor") {
				t.Errorf("the first page was asked for with %s", first)
			}
			if second := string(all[len(all)-1].Params); !strings.Contains(second, `"cursor":`+cursor) {
				t.Errorf("the second page was asked for with %s, want cursor %s", second, cursor)
			}
		}
		for _, cursor := range []string{"2", "true", "[]", `{"a":1}`, `"` + strings.Repeat("c", 9000) + `"`} {
			s := k.set(t, hostile.Options{Era: era, On: map[string]hostile.Script{"tools/list": hostile.Result(`{"tools":[],"nextCursor":` + cursor + `}`)}}, hostile.Setup{})
			s.unlisted(1, call.ListFailed)
		}
	}
}

// agentCursors: an agent's cursor is one of the relay's own, and no server sees
// one that is not.
func agentCursors(t *testing.T, k *stage) {
	k.eras(t, hostile.Setup{}, func(t *testing.T, s *scene) {
		s.t = t
		s.list()
		before := len(s.up.Requests())
		for _, cursor := range []string{`"2"`, `"!"`, `" "`, `"dXA"`, `"dXAKZWNobw=="`, "2", "[]", `{"a":1}`, `"` + strings.Repeat("c", 8000) + `"`} {
			for _, all := range []bool{false, true} {
				a := hostile.Ask{All: all, Method: "tools/list", Params: `"cursor":` + cursor}
				if reply := s.relay.Ask(t.Context(), t, a); reply.Status != http.StatusBadRequest || reply.Error().Code != -32602 {
					t.Errorf("cursor %s: got %d %s, want 400 and -32602", cursor, reply.Status, reply.Body)
				}
			}
		}
		s.counted("requests", len(s.up.Requests()), before)
	})
}

// schemas lists one tool a schema, input and output, between two plain ones.
func schemas(texts ...string) func(*testing.T, *stage) {
	return func(t *testing.T, k *stage) {
		tools := []string{`{"name":"first","inputSchema":{"type":"object"}}`}
		for i, text := range texts {
			tools = append(tools,
				fmt.Sprintf(`{"name":"in%d","inputSchema":%s}`, i, text),
				fmt.Sprintf(`{"inputSchema":{"type":"object"},"outputSchema":%s,"annotations":{"readOnlyHint":true},"name":"out%d","x":null}`, text, i))
		}
		tools = append(tools, `{"name":"last","description":"<&> \u00e9","inputSchema":{"type":"object"}}`)
		for _, era := range hostile.Eras() {
			s := k.set(t, hostile.Options{Era: era, Tools: tools}, hostile.Setup{})
			s.listed(1, tools...)
			s.ask(hostile.Ask{Tool: "in0"}, want{session: hostile.Held(era)})
		}
	}
}

func oddTools(t *testing.T, k *stage) {
	good := []string{`{"name":"first","inputSchema":{"type":"object"}}`, `{"name":"last","inputSchema":{"type":"object"}}`}
	for _, odd := range []string{
		`{"name":"odd"}`, `{"name":"odd","inputSchema":null}`, `{"name":"odd","inputSchema":true}`, `{"name":"odd","inputSchema":[]}`, `{"name":"odd","inputSchema":"object"}`,
		`{"inputSchema":{"type":"object"}}`, `{"name":7,"inputSchema":{}}`, `{"name":"","inputSchema":{}}`, `null`, `"odd"`, `[]`, `7`,
		`{"name":"first","inputSchema":{"type":"object"},"description":"the second of this name"}`,
		`{"name":"odd","description":"` + strings.Repeat("d", 300<<10) + `","inputSchema":{}}`,
	} {
		for _, era := range []hostile.Era{hostile.Modern, hostile.Legacy} {
			s := k.set(t, hostile.Options{Era: era, Tools: []string{good[0], odd, good[1]}}, hostile.Setup{})
			s.listed(1, good...)
			s.ask(hostile.Ask{Tool: "last"}, want{session: hostile.Held(era)})
			answer, refusal := s.relay.Pipeline.Acquire(t.Context(), call.Call{
				ID: "01JDXAMPLE0000000000000000", Face: call.FaceInternal, Operation: call.OperationDiscover, Server: "up",
				Principal: call.Principal{Tenant: s.setup.Tenant, Subject: "ci", Kind: call.KindUser, Scopes: []call.Scope{call.ScopeCall}},
			})
			answer.Settle()
			if refusal != nil || len(answer.Skips) != 1 || answer.Skips[0].Reason == "" {
				t.Errorf("%.60s: %v, skips %+v, want one with its reason", odd, refusal, answer.Skips)
			}
		}
	}
	for _, result := range []string{`{}`, `{"tools":null}`, `{"tools":{}}`, `{"tools":"x"}`, `{"Tools":[]}`} {
		s := k.set(t, hostile.Options{On: map[string]hostile.Script{"tools/list": hostile.Result(result)}}, hostile.Setup{})
		s.unlisted(1, call.ListFailed)
	}
}
