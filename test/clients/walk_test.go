package clients_test

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"mcprelay/shared/call"
)

// step is a question to one of the servers, in the server's own names.
type step struct {
	server string
	question
}

// steps are put by every client, once each.
var steps = []step{
	{"child", question{Method: "tools/call", Name: "note", Arguments: json.RawMessage(`{"text":"<&> é 😀","deep":{"list":[1,null,true]}}`)}},
	{"child", question{Method: "tools/call", Name: "link", Arguments: json.RawMessage(`{}`)}},
	{"child", question{Method: "resources/read", URI: oddURI}},
	{"child", question{Method: "resources/read", URI: "notes://named/second"}},
	{"child", question{Method: "prompts/get", Name: "summary", Arguments: json.RawMessage(`{"topic":"all"}`)}},
	{"every", question{Method: "tools/call", Name: "echo", Arguments: json.RawMessage(`{"message":"hi"}`)}},
	{"every", question{Method: "resources/read", URI: "demo://resource/static/document/features.md"}},
	{"every", question{Method: "prompts/get", Name: "args-prompt", Arguments: json.RawMessage(`{"city":"Paris"}`)}},
	{"go-sdk", question{Method: "tools/call", Name: "test_multiple_content_types", Arguments: json.RawMessage(`{}`)}},
	{"go-sdk", question{Method: "resources/read", URI: "test://static-binary"}},
	{"go-sdk", question{Method: "prompts/get", Name: "test_prompt_with_arguments", Arguments: json.RawMessage(`{"arg1":"a","arg2":"b"}`)}},
}

// lists are what a server has, each with the result's member and what orders it.
var lists = []list{
	{"tools/list", "tools", "name"}, {"resources/list", "resources", "uri"},
	{"resources/templates/list", "resourceTemplates", "uriTemplate"}, {"prompts/list", "prompts", "name"},
}

type list struct{ method, member, key string }

// faces are the endpoint of all servers, and that of one for the questions to
// it.
func faces() []face { return []face{allServers(), oneServer("every")} }

// runOf names the run of a test, in characters that a header may have.
func runOf(t *testing.T) string {
	name := strings.NewReplacer("/", ".", "_", ".").Replace(t.Name())
	return name[max(0, len(name)-100):]
}

// walk puts every question of a face by a client, and compares what it gets
// with what the servers say themselves.
func (s scene) walk(t *testing.T, f face, client ask, lists []list) {
	t.Helper()
	for _, l := range lists {
		s.wantSame(t, f, client, l)
	}
	for _, step := range steps {
		if slices.Contains(f.servers, step.server) {
			s.compare(t, f, client, step)
		}
	}
}

// wantSame compares a list with those of the servers.
func (s scene) wantSame(t *testing.T, f face, client ask, l list) {
	t.Helper()
	got, want := lasting(bare(t, client(t, question{Method: l.method})), l), s.wantList(t, f, l)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", l.method, diff)
	}
}

// lasting is a list without what the Go SDK's server has for moments only, while
// somebody else tries how it tells of changes.
func lasting(all object, l list) object {
	if items, ok := all[l.member].([]any); ok {
		all[l.member] = slices.DeleteFunc(items, func(item any) bool {
			text, _ := item.(object)[l.key].(string)
			return strings.Contains(text, "_transient_")
		})
	}
	return all
}

// stepOf is the one step to a server's tool, prompt or resource.
func stepOf(server, target string) step {
	return steps[slices.IndexFunc(steps, func(s step) bool { return s.server == server && s.Name+s.URI == target })]
}

// compare puts one question twice, by the client and without a relay.
func (s scene) compare(t *testing.T, f face, client ask, step step) {
	t.Helper()
	want := f.rewritten(step.server, any(bare(t, s.direct[step.server](t, step.question))))
	shown := step.question
	if shown.Name != "" {
		shown.Name = f.name(step.server, shown.Name)
	}
	if shown.URI != "" {
		shown.URI = f.uri(step.server, shown.URI)
	}
	got := any(bare(t, client(t, shown)))
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s %s%s (-want +got):\n%s", shown.Method, shown.Name, shown.URI, diff)
	}
}

// wantList is what a list must hold: by server, then by the item's own name.
func (s scene) wantList(t *testing.T, f face, l list) object {
	t.Helper()
	items := []any{}
	for _, server := range f.servers {
		own, _ := lasting(bare(t, s.direct[server](t, question{Method: l.method})), l)[l.member].([]any)
		name := func(item any) []byte { text, _ := item.(object)[l.key].(string); return []byte(text) }
		slices.SortFunc(own, func(a, b any) int { return bytes.Compare(name(a), name(b)) })
		for _, item := range own {
			if l.key == "name" {
				item.(object)["name"] = f.name(server, string(name(item)))
			}
			items = append(items, f.rewritten(server, item))
		}
	}
	if len(items) == 0 {
		t.Fatalf("the servers have no %s", l.member)
	}
	return object{l.member: items}
}

// wantTrail compares the calls of a run with its records, one a call.
func (s scene) wantTrail(t *testing.T, f face, run string) {
	t.Helper()
	s.wantRecords(t, run, func(step step) bool { return slices.Contains(f.servers, step.server) })
}

func (s scene) wantRecords(t *testing.T, run string, made func(step) bool) {
	t.Helper()
	var want []string
	for _, step := range steps {
		if made(step) {
			want = append(want, strings.Join([]string{step.Method, step.server, step.Name + step.URI, string(call.Answered)}, " "))
		}
	}
	if diff := cmp.Diff(want, s.made(t, run)); diff != "" {
		t.Errorf("records of %s (-want +got):\n%s", run, diff)
	}
}
