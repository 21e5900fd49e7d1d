package clients_test

import (
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"mcprelay/test/peers"
)

// overPorter asks by mcporter as any other client.
func overPorter(endpoint, run string) ask {
	print := printed(endpoint, run)
	return func(t *testing.T, q question) []byte { return typed(t, q.Method, print(t, q)) }
}

// printed is what mcporter prints, run by its commands and a config file, as
// its users do. It knows no prompts.
func printed(endpoint, run string) ask {
	return func(t *testing.T, q question) []byte {
		t.Helper()
		config, err := json.Marshal(object{"mcpServers": object{"relay": object{"baseUrl": endpoint, "headers": headers(run)}}})
		if err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(t.TempDir(), "mcporter.json")
		if err := os.WriteFile(path, config, 0o600); err != nil {
			t.Fatal(err)
		}
		arguments := map[string][]string{
			"tools/list":     {"list", "relay", "--json"},
			"tools/call":     {"call", "relay." + q.Name, "--args", string(q.Arguments), "--output", "json"},
			"resources/list": {"resource", "relay", "--json"},
			"resources/read": {"resource", "relay", q.URI, "--json"},
		}[q.Method]
		if arguments == nil {
			t.Fatalf("mcporter cannot ask %s", q.Method)
		}
		arguments = append(append([]string{"--config", path}, arguments...), "--no-oauth")
		return output(t, program(t, peers.ClientPorter, arguments...))
	}
}

func TestMcporterGetsWhatTheServersSay(t *testing.T) {
	s := startScene(t)
	ported := func(step step) bool { return step.Method != "prompts/get" }
	t.Run("all", func(t *testing.T) {
		t.Parallel()
		f, run := allServers(), runOf(t)
		client := overPorter(s.url+f.path, run)
		s.wantPorted(t, f, client)
		s.wantSame(t, f, client, lists[1])
		for _, step := range steps {
			switch {
			case step.Name == "note":
				wantStructured(t, s.url+f.path, run, f.name(step.server, step.Name), step.Arguments)
			case ported(step):
				s.compare(t, f, client, step)
			}
		}
		s.wantRecords(t, run, ported)
	})
	t.Run("go-sdk", func(t *testing.T) {
		t.Parallel()
		f, run := oneServer("go-sdk"), runOf(t)
		client := overPorter(s.url+f.path, run)
		s.wantPorted(t, f, client)
		s.compare(t, f, client, stepOf("go-sdk", "test_multiple_content_types"))
		s.wantRecords(t, run, func(step step) bool { return step.Name == "test_multiple_content_types" })
	})
}

// wantStructured compares a note with its arguments: of a result with
// structured content mcporter prints that content alone.
func wantStructured(t *testing.T, endpoint, run, tool string, arguments json.RawMessage) {
	t.Helper()
	got := bare(t, printed(endpoint, run)(t, question{Method: "tools/call", Name: tool, Arguments: arguments}))
	if diff := cmp.Diff(bare(t, arguments), got); diff != "" {
		t.Errorf("structured content (-want +got):\n%s", diff)
	}
}

// wantPorted compares the tools, of which mcporter shows these members only.
func (s scene) wantPorted(t *testing.T, f face, client ask) {
	t.Helper()
	shown := func(list object) []any {
		tools, _ := list["tools"].([]any)
		for _, tool := range tools {
			maps.DeleteFunc(tool.(object), func(key string, _ any) bool {
				return key != "name" && key != "description" && key != "inputSchema"
			})
		}
		return tools
	}
	got := shown(lasting(bare(t, client(t, question{Method: "tools/list"})), lists[0]))
	if diff := cmp.Diff(shown(s.wantList(t, f, lists[0])), got); diff != "" {
		t.Errorf("tools (-want +got):\n%s", diff)
	}
}
