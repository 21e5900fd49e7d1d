package clients_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"mcprelay/shared/call"
)

func TestAnAgentReadsBackWhatAResultNames(t *testing.T) {
	s := startScene(t)
	for _, version := range []string{"2026-07-28", "2025-11-25"} {
		for _, f := range []face{allServers(), oneServer("child")} {
			t.Run(version+" "+f.label, func(t *testing.T) {
				session := connect(t, overHTTP(s.url+f.path, headers(runOf(t))), version)
				result, err := session.CallTool(t.Context(), &mcp.CallToolParams{Name: f.name("child", "link")})
				if err != nil {
					t.Fatal(err)
				}
				named := map[string]string{
					result.Content[0].(*mcp.ResourceLink).URI:              "the note " + oddURI,
					result.Content[1].(*mcp.EmbeddedResource).Resource.URI: "the note notes://named/first",
				}
				for uri, want := range named {
					read, err := session.ReadResource(t.Context(), &mcp.ReadResourceParams{URI: uri})
					if err != nil {
						t.Fatalf("%s: %v", uri, err)
					}
					if got := read.Contents[0]; got.Text != want || got.URI != uri {
						t.Errorf("got %q of %s, want %q of %s", got.Text, got.URI, want, uri)
					}
				}
			})
		}
	}
}

func TestAnAgentHasPromptsAndTemplatesCompleted(t *testing.T) {
	s := startScene(t)
	for _, version := range []string{"2026-07-28", "2025-11-25"} {
		for _, f := range []face{allServers(), oneServer("child")} {
			t.Run(version+" "+f.label, func(t *testing.T) {
				run := runOf(t)
				session := connect(t, overHTTP(s.url+f.path, headers(run)), version)
				const template = "notes://named/{name}"
				var got, want []string
				for _, ask := range []struct {
					shown mcp.CompleteReference
					said  string // by the server, which knows its own names only
				}{
					{mcp.CompleteReference{Type: "ref/prompt", Name: f.name("child", "summary")}, "ref/prompt|summary||topic|a"},
					{mcp.CompleteReference{Type: "ref/resource", URI: f.uri("child", template)}, "ref/resource||" + template + "|topic|a"},
				} {
					result, err := session.Complete(t.Context(), &mcp.CompleteParams{
						Ref: &ask.shown, Argument: mcp.CompleteParamsArgument{Name: "topic", Value: "a"},
					})
					if err != nil {
						t.Fatalf("%+v: %v", ask.shown, err)
					}
					got, want = append(got, result.Completion.Values...), append(want, ask.said)
				}
				if diff := cmp.Diff(want, got); diff != "" {
					t.Errorf("completions (-want +got):\n%s", diff)
				}
				records := []string{
					string(call.OperationComplete) + " child summary answered",
					string(call.OperationComplete) + " child " + template + " answered",
				}
				if diff := cmp.Diff(records, s.made(t, run)); diff != "" {
					t.Errorf("records (-want +got):\n%s", diff)
				}
			})
		}
	}
}
