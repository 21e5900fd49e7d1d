package clients_test

import (
	"encoding/json"
	"fmt"
	"net"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// progressBudget bounds the wait for what a running call reports.
const progressBudget = 60 * time.Second

// opened is what the gate tool answers once its gate was opened.
const opened = "opened while the call ran"

// startGate makes what the gate tool waits for: its call cannot end before open.
func startGate(t *testing.T) (arguments json.RawMessage, open func()) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = listener.Close() })
	return fmt.Appendf(nil, `{"address":%q}`, listener.Addr()), func() {
		conn, err := listener.Accept()
		if err != nil {
			t.Error(err)
			return
		}
		defer conn.Close()
		if _, err := conn.Write([]byte(opened)); err != nil {
			t.Error(err)
		}
	}
}

// wantOpened checks the result of the gate tool and the call's one record.
func (s scene) wantOpened(t *testing.T, run string, result []byte) {
	t.Helper()
	want := object{"content": []any{object{"type": "text", "text": opened}}}
	if diff := cmp.Diff(want, bare(t, result)); diff != "" {
		t.Errorf("result (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"tools/call child gate answered"}, s.made(t, run)); diff != "" {
		t.Errorf("records (-want +got):\n%s", diff)
	}
}

func TestTheGoSDKClientSeesProgressWhileTheCallRuns(t *testing.T) {
	s := startScene(t)
	for _, f := range []face{allServers(), oneServer("child")} {
		for name, version := range map[string]string{"modern": "2026-07-28", "legacy": "2025-11-25", "by mcp-remote": "2025-11-25"} {
			t.Run(f.label+" "+name, func(t *testing.T) {
				t.Parallel()
				run := runOf(t)
				transport := overHTTP(s.url+f.path, headers(run))
				if name == "by mcp-remote" {
					transport = bridge(t, s.url+f.path, run)
				}
				reports := make(chan *mcp.ProgressNotificationParams, 8)
				session := connectWith(t, transport, version, func(p *mcp.ProgressNotificationParams) { reports <- p })
				arguments, open := startGate(t)
				result := make(chan []byte, 1)
				go func() { result <- callWithProgress(t, session, f.name("child", "gate"), arguments) }()
				select {
				case got := <-reports:
					if got.ProgressToken != "token of the agent" || got.Progress != 1 || got.Total != 2 || got.Message != "half" {
						t.Errorf("the agent saw %+v", got)
					}
				case text := <-result:
					t.Fatalf("the call ended before its progress was seen: %s", text)
				case <-time.After(progressBudget):
					t.Fatal("no progress was seen")
				}
				open()
				s.wantOpened(t, run, <-result)
			})
		}
	}
}

// callWithProgress makes a call that asks for progress, and gives its result.
func callWithProgress(t *testing.T, session *mcp.ClientSession, tool string, arguments json.RawMessage) []byte {
	params := &mcp.CallToolParams{Name: tool, Arguments: arguments}
	params.SetProgressToken("token of the agent")
	got, err := session.CallTool(t.Context(), params)
	if err != nil {
		t.Error(err)
	}
	text, err := json.Marshal(got)
	if err != nil {
		t.Error(err)
	}
	return text
}

func TestTheTypeScriptSDKClientSeesProgressWhileTheCallRuns(t *testing.T) {
	s := startScene(t)
	for _, f := range []face{allServers(), oneServer("child")} {
		for _, era := range []string{"legacy", "modern"} {
			t.Run(f.label+" "+era, func(t *testing.T) {
				t.Parallel()
				run := runOf(t)
				client := startScript(t, s.url+f.path, era, run)
				arguments, open := startGate(t)
				client.put(t, question{Method: "tools/call", Name: f.name("child", "gate"), Arguments: arguments})
				got := client.next(t)
				if got.Progress == nil || got.Progress.Progress != 1 || got.Progress.Total != 2 || got.Progress.Message != "half" {
					t.Fatalf("the script saw %s%s before the call could end, want its progress", got.Result, got.Error)
				}
				open()
				s.wantOpened(t, run, typed(t, "tools/call", client.next(t).Result))
			})
		}
	}
}
