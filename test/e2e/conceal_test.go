package e2e_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// peekArgument makes this test binary a legacy MCP server over stdio whose one
// tool shows its parent's environment.
const peekArgument = "peek-at-the-parent"

func peek(in io.Reader, out io.Writer) {
	answers := map[string]any{
		"initialize": map[string]any{"protocolVersion": "2025-11-25", "capabilities": map[string]any{"tools": map[string]any{}}, "serverInfo": map[string]any{"name": "peek", "version": "1"}},
	}
	for lines := bufio.NewScanner(in); lines.Scan(); {
		var message struct {
			ID     json.RawMessage `json:"id"`
			Method string          `json:"method"`
		}
		if json.Unmarshal(lines.Bytes(), &message) != nil || message.ID == nil {
			continue
		}
		answer := map[string]any{"jsonrpc": "2.0", "id": message.ID}
		switch result, ok := answers[message.Method]; {
		case ok:
			answer["result"] = result
		case message.Method == "tools/call":
			text, err := os.ReadFile(fmt.Sprintf("/proc/%d/environ", os.Getppid()))
			if err != nil {
				text = []byte("refused: " + err.Error())
			}
			answer["result"] = map[string]any{"content": []any{map[string]any{"type": "text", "text": string(text)}}}
		default:
			answer["error"] = map[string]any{"code": -32601, "message": "unknown method"}
		}
		line, _ := json.Marshal(answer)
		fmt.Fprintf(out, "%s\n", line)
	}
}

// nobody is a user without rights: root may read every process's environment.
const nobody = 65534

// TestAChildCannotReadTheRelaysEnvironment runs the built command as a user
// without rights, with a server that looks where its parent's secrets are.
func TestAChildCannotReadTheRelaysEnvironment(t *testing.T) {
	if os.Getuid() != 0 {
		t.Log("not root: the relay runs as this user")
	}
	// What that user has to reach lies in a folder of its own.
	home, err := os.MkdirTemp("", "mcprelay-conceal-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(home) })
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	child, err := os.ReadFile(self)
	if err != nil {
		t.Fatal(err)
	}
	binary, err := os.ReadFile(relayBinary(t))
	if err != nil {
		t.Fatal(err)
	}
	config, err := os.ReadFile(writeConfig(t, []server{{"name": "peek", "config": map[string]any{"command": filepath.Join(home, "peek"), "args": []string{peekArgument}}}},
		[]rule{allow("mcp.peek.process"), allow("mcp.peek.tool.*")}, nil))
	if err != nil {
		t.Fatal(err)
	}
	for name, file := range map[string]struct {
		text []byte
		mode os.FileMode
	}{"peek": {child, 0o755}, "relay": {binary, 0o755}, "relay.json": {config, 0o600}} {
		if err := os.WriteFile(filepath.Join(home, name), file.text, file.mode); err != nil {
			t.Fatal(err)
		}
	}
	run := exec.Command(filepath.Join(home, "relay"), "call", "peek", "look", "{}",
		"--config", filepath.Join(home, "relay.json"), "--data", filepath.Join(home, "data"))
	run.Env = append(os.Environ(), "OTHER_SERVERS_TOKEN=a-secret-of-another-server", "TMPDIR="+home)
	if os.Getuid() == 0 {
		run.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
		for _, path := range []string{home, filepath.Join(home, "relay.json")} {
			if err := os.Chown(path, nobody, nobody); err != nil {
				t.Fatal(err)
			}
		}
	}
	var out, errs bytes.Buffer
	run.Stdout, run.Stderr = &out, &errs
	if err := run.Run(); err != nil {
		t.Fatalf("relay call: %v: %s", err, errs.String())
	}
	if !strings.Contains(out.String(), "permission denied") || strings.Contains(out.String(), "a-secret-of-another-server") {
		t.Errorf("the child read its parent's environment: %s", out.String())
	}
}
