package faults_test

import (
	"bufio"
	"bytes"
	"crypto/tls"
	"encoding/json"
	"encoding/pem"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"mcprelay/test/hostile"
)

// processToken is an agent's, for the relay that is a process.
const processToken = "agent-token-of-the-process"

// process is the built relay, serving.
type process struct {
	command *exec.Cmd
	url     string
	errs    bytes.Buffer // may be read when the process has ended
}

// startProcess builds the command and serves one server with it. It ends with
// the test.
func startProcess(t *testing.T, up *hostile.Server) *process {
	t.Helper()
	dir := t.TempDir()
	binary := filepath.Join(dir, "relay")
	build := exec.Command("go", "build", "-o", binary, "mcprelay/cmd/relay")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("building the command: %v: %s", err, out)
	}
	p := &process{}
	p.command = exec.Command(binary, "serve", "--listen", "127.0.0.1:0", "--allow-loopback", "--config", processConfig(t, dir, up), "--data", filepath.Join(dir, "data"))
	p.command.Env = append(os.Environ(), "SSL_CERT_FILE="+authorityFile(t, dir, up), "FAULTS_AGENT="+processToken, "FAULTS_UP="+hostile.Token)
	p.command.Stderr = &p.errs
	p.command.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	out, err := p.command.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := p.command.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(out)
	for p.url == "" && lines.Scan() {
		_, p.url, _ = strings.Cut(lines.Text(), "listening on ")
	}
	read := make(chan struct{})
	go func() {
		defer close(read)
		for lines.Scan() { // whatever it says now
		}
	}()
	t.Cleanup(func() {
		_ = p.command.Process.Signal(syscall.SIGTERM)
		<-read
		if err := p.command.Wait(); err != nil {
			t.Errorf("the relay ended with %v: %s", err, p.errs.String())
		}
	})
	if p.url == "" {
		t.Fatal("the relay does not say where it listens")
	}
	return p
}

// processConfig registers the server for one caller, with default limits.
func processConfig(t *testing.T, dir string, up *hostile.Server) string {
	t.Helper()
	text, err := json.Marshal(hostile.Keys{
		"tenant": "acme",
		"servers": []hostile.Keys{{
			"name":    "up",
			"config":  hostile.Keys{"endpoint": up.URL(), "auth": hostile.Keys{"type": "bearer", "token_ref": "up-ref"}, "effects": hostile.Keys{"echo": "read"}},
			"secrets": hostile.Keys{"up-ref": "FAULTS_UP"},
		}},
		"rules": []hostile.Keys{
			{"action": "mcp.*", "decision": "allow"},
			{"action": "secret.use.up-ref", "decision": "allow", "to": []string{"mcp.up.*"}},
		},
		"callers": []hostile.Keys{{"subject": "ci", "kind": "user", "scopes": []string{"call"}, "token_env": "FAULTS_AGENT"}},
	})
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "relay.json")
	if err := os.WriteFile(path, text, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// authorityFile holds the server's certificate, which is trusted by being
// among the authorities itself.
func authorityFile(t *testing.T, dir string, up *hostile.Server) string {
	t.Helper()
	roots := hostile.Roots(t)
	conn, err := tls.Dial("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(up.Port())), &tls.Config{RootCAs: roots, ServerName: "up.mcp.localhost"})
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	leaf := conn.ConnectionState().PeerCertificates[0]
	path := filepath.Join(dir, "authority.pem")
	if err := os.WriteFile(path, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: leaf.Raw}), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}
