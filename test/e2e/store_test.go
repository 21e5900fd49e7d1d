package e2e_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Reading a trail creates and changes nothing.
func TestReadingATrailLeavesAFolderAsItIs(t *testing.T) {
	folder := t.TempDir()
	if err := os.Chmod(folder, 0o750); err != nil {
		t.Fatal(err)
	}
	_, errs, code := command(t, nil, "audit", "--data", folder)
	if code != 1 || strings.Count(strings.TrimSpace(errs), "\n") != 0 || !strings.Contains(errs, folder) {
		t.Errorf("exit %d, %q, want one sentence that names the folder", code, errs)
	}
	if files, err := os.ReadDir(folder); err != nil || len(files) != 0 {
		t.Errorf("the folder holds %v, %v", files, err)
	}
	if info, err := os.Stat(folder); err != nil || info.Mode().Perm() != 0o750 {
		t.Errorf("the folder's mode is %v, %v", info.Mode(), err)
	}
	missing := filepath.Join(folder, "missing")
	if _, _, code := command(t, nil, "audit", "--data", missing); code != 1 {
		t.Errorf("a missing folder: exit %d", code)
	}
	if _, err := os.Stat(missing); err == nil {
		t.Error("the missing folder was made")
	}
}

// What a caller put into a name does not reach the operator's terminal.
func TestTheTrailShowsNoControlCharacters(t *testing.T) {
	up := startUpstream(t)
	config := writeConfig(t, []server{entry("up", up.url, nil)}, []rule{allow("mcp.up.host.127.0.0.1"), allow("mcp.up.tool.*")}, nil)
	data := t.TempDir()
	relay := serve(t, nil, "--config", config, "--data", data, "--allow-loopback")
	for _, name := range []string{"%1b%5d0;pwn%07", "delete%00", "delete%ff", "%20delete"} {
		if r := relay.post(t, "/v1/servers/up/tools/"+name, `{"arguments":{}}`); r.status != 404 {
			t.Errorf("%s: got %d %s", name, r.status, r.body)
		}
	}
	if got := up.all.Load(); got != 0 {
		t.Errorf("the server saw %d requests, want 0", got)
	}
	table, _, code := command(t, nil, "audit", "--data", data)
	if code != 0 || strings.ContainsFunc(table, func(r rune) bool { return r != '\n' && (r < ' ' || r == 0x7f) }) {
		t.Errorf("exit %d, table %q", code, table)
	}
}
