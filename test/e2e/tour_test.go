package e2e_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"mcprelay/shared/audit"
	"mcprelay/shared/call"
)

func TestTheTourMakesOneCallAndShowsItsRecord(t *testing.T) {
	data := filepath.Join(t.TempDir(), "data")
	out, errs, code := command(t, nil, "serve", "--demo", "--tour", "--once", "--listen", "127.0.0.1:0", "--data", data)
	if code != 0 {
		t.Fatalf("exit %d: %s", code, errs)
	}
	var result, line string
	for text := range strings.Lines(out) {
		if strings.HasPrefix(text, `{"call_id"`) {
			result = text
		}
		if record, ok := strings.CutPrefix(text, "relay: audit "); ok {
			line = record
		}
	}
	if !strings.Contains(out, "curl -s http://127.0.0.1:") || !strings.Contains(result, `"exact":9007199254740993`) {
		t.Errorf("the tour shows no call and result: %s", out)
	}
	var shown audit.Record
	if err := json.Unmarshal([]byte(line), &shown); err != nil {
		t.Fatalf("audit line %q: %v", line, err)
	}
	kept := trail(t, data)
	if len(kept) != 1 || kept[0].CallID != shown.CallID || !strings.Contains(result, shown.CallID) || shown.Outcome != call.Answered {
		t.Errorf("shown %+v, kept %+v", shown, kept)
	}
}

func TestTheStoreIsPrivateToItsOwner(t *testing.T) {
	data := filepath.Join(t.TempDir(), "data")
	if _, errs, code := command(t, nil, "serve", "--demo", "--tour", "--once", "--listen", "127.0.0.1:0", "--data", data); code != 0 {
		t.Fatal(errs)
	}
	files, err := os.ReadDir(data)
	if err != nil || len(files) == 0 {
		t.Fatalf("the store has no files: %v", err)
	}
	for _, file := range files {
		info, err := file.Info()
		if err != nil {
			t.Fatal(err)
		}
		if info.Mode().Perm()&0o077 != 0 {
			t.Errorf("%s has mode %v, want nothing for others", file.Name(), info.Mode())
		}
	}
	link := filepath.Join(t.TempDir(), "link")
	if err := os.Symlink(data, link); err != nil {
		t.Fatal(err)
	}
	if _, errs, code := command(t, nil, "audit", "--data", link); code != 1 {
		t.Errorf("a symlinked folder: exit %d, %s", code, errs)
	}
}

func TestTheTrailIsFiltered(t *testing.T) {
	up := startUpstream(t)
	config := writeConfig(t, []server{entry("one", up.url, map[string]string{"look": "read"}), entry("two", up.url, nil)}, []rule{
		allow("mcp.one.host.127.0.0.1"), allow("mcp.one.tool.*"), allow("mcp.two.host.127.0.0.1"), allow("mcp.two.tool.look"),
	}, nil)
	data := t.TempDir()
	relay := serve(t, nil, "--config", config, "--data", data, "--allow-loopback")
	for _, made := range []struct{ path, run string }{{"one/tools/look", "r-1"}, {"one/tools/other", "r-1"}, {"two/tools/look", "r-2"}, {"two/tools/other", ""}} {
		relay.post(t, "/v1/servers/"+made.path, `{"arguments":{}}`, "X-Relay-Run", made.run)
	}
	for _, test := range []struct {
		filters []string
		want    int
	}{
		{nil, 4}, {[]string{"--server", "one"}, 2}, {[]string{"--tool", "look"}, 2}, {[]string{"--run", "r-1"}, 2},
		{[]string{"--outcome", "refused_by_policy"}, 1}, {[]string{"--agent", "local"}, 4}, {[]string{"--agent", "nobody"}, 0},
		{[]string{"--server", "two", "--tool", "look"}, 1}, {[]string{"--since", "1h", "--limit", "1000"}, 4}, {[]string{"--since", "1h"}, 4}, {[]string{"--until", "1h"}, 0},
		{[]string{"--since", "2026-01-01T00:00:00Z", "--until", "2100-01-01T00:00:00Z"}, 4},
	} {
		if got := len(trail(t, data, test.filters...)); got != test.want {
			t.Errorf("%v: %d records, want %d", test.filters, got, test.want)
		}
	}
	if got := len(whole(t, data, "--limit", "3")); got != 3 {
		t.Errorf("--limit 3: %d records", got)
	}
	table, _, code := command(t, nil, "audit", "--data", data)
	if lines := strings.Count(table, "\n"); code != 0 || lines != 7 || !strings.HasPrefix(table, "TIME") {
		t.Errorf("the table for people has %d lines: %s", lines, table)
	}
}

func TestToolsAreListedThroughTheRelay(t *testing.T) {
	for _, peer := range everyPeer() {
		t.Run(peer.name, func(t *testing.T) {
			config := writeConfig(t, []server{entry("up", peer.url(t), nil)},
				[]rule{allow("mcp.up.host.127.0.0.1"), allow("mcp.up.tool." + peer.tool)}, nil)
			data := t.TempDir()
			relay := serve(t, nil, "--config", config, "--data", data, "--allow-loopback")
			r := relay.post(t, "/v1/servers/up/mcp", `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`)
			var list struct {
				Result struct {
					Tools []struct{ Name string }
				}
			}
			if err := json.Unmarshal(r.body, &list); err != nil {
				t.Fatal(err)
			}
			if len(list.Result.Tools) != 1 || list.Result.Tools[0].Name != peer.tool {
				t.Errorf("got %s, want %s alone", r.body, peer.tool)
			}
			asked := map[call.List]bool{}
			for _, record := range whole(t, data) {
				if asked[record.List] = true; record.About != "discover" || record.Outcome != call.Answered {
					t.Errorf("record %+v", record)
				}
			}
			if !asked[call.ListTools] {
				t.Error("that the tools were read left no record")
			}
		})
	}
}
