package cases_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"mcprelay/shared/config"
	"mcprelay/test/hostile"
)

// Section G, second part: names of tools.
func names() []row {
	return []row{{"G78", "odd names reach the server as they are, and what cannot be told apart is refused", func(t *testing.T, k *stage) {
		oddNames(t, k)
		unusableNames(t, k)
		collisions(t, k)
	}}}
}

func descriptor(t *testing.T, name string) string {
	t.Helper()
	text, err := json.Marshal(name)
	if err != nil {
		t.Fatal(err)
	}
	return fmt.Sprintf(`{"name":%s,"inputSchema":{"type":"object"}}`, text)
}

func oddNames(t *testing.T, k *stage) {
	all := []string{
		"a.b", "a/b", "_x", "123_x", "-x", "my tool", "emoji \U0001F642", "café", "constructor", "__proto__", "toString", "tools/call", "A", "a", "...", "*",
		`quo"te`, `back\slash`, "a,b", "a:b", strings.Repeat("n", 65), strings.Repeat("n", 128), strings.Repeat("é", 128), "=?base64?eA==?=", "up__echo",
	}
	var tools []string
	for _, name := range all {
		tools = append(tools, descriptor(t, name))
	}
	for _, era := range hostile.Eras() {
		s := k.set(t, hostile.Options{Era: era, Tools: tools}, hostile.Setup{})
		s.listed(1, tools...)
		for _, name := range all {
			reply := s.ask(hostile.Ask{Tool: name}, want{session: hostile.Held(era)})
			if got := s.up.Last("tools/call").Name; got != name || reply.Record.Tool != name {
				t.Errorf("called %q, the server got %q, the record has %q", name, got, reply.Record.Tool)
			}
			s.ask(hostile.Ask{Tool: name, Modern: true}, want{session: hostile.Held(era)})
		}
	}
}

func unusableNames(t *testing.T, k *stage) {
	good := descriptor(t, "good")
	for _, name := range []string{strings.Repeat("n", 129), " lead", "trail ", "new\nline", "nul\x00", "tab\tin", "\u0085next"} {
		for _, era := range []hostile.Era{hostile.Modern, hostile.Legacy} {
			s := k.set(t, hostile.Options{Era: era, Tools: []string{descriptor(t, name), good}}, hostile.Setup{})
			s.listed(1, good)
			before := len(s.up.Requests())
			reply := s.relay.Call(t, hostile.Ask{Tool: name})
			if reply.Record.Posts != 0 || s.up.Calls() != 0 || len(s.up.Requests()) != before {
				t.Errorf("%q: the call went upstream: %s", name, reply.Body)
			}
		}
	}
}

func collisions(t *testing.T, k *stage) {
	alpha, beta := descriptor(t, "alpha"), descriptor(t, "beta")
	for _, tools := range [][]string{{alpha, beta}, {beta, alpha}} {
		s := k.set(t, hostile.Options{Tools: tools}, hostile.Setup{Server: hostile.Keys{"bindings": hostile.Keys{"alpha": "beta"}, "effects": hostile.Keys{}}})
		s.listed(1, beta) // alpha under its offered name
		s.ask(hostile.Ask{Tool: "beta"}, want{})
		if got := s.up.Last("tools/call").Name; got != "alpha" {
			t.Errorf("beta is alpha here, the server got %q", got)
		}
		if reply := s.relay.Call(t, hostile.Ask{Tool: "alpha"}); reply.Record.Posts != 0 {
			t.Errorf("alpha has another name here, and was called: %s", reply.Body)
		}
	}
	_, err := config.Parse("test", []byte(`{"tenant":"acme","servers":[{"name":"up","config":{"endpoint":"https://mcp.example.com/mcp","auth":{"type":"none"},
		"bindings":{"alpha":"same","beta":"same"}}}],"rules":[]}`), config.Options{})
	if err == nil || !strings.Contains(err.Error(), "bindings") {
		t.Errorf("two tools under one name: got %v, want an error that names bindings", err)
	}
}
