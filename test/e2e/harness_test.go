// Package e2e_test tries the relay as a user would: the built command, a
// config file, real MCP servers, and the audit trail it leaves.
package e2e_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"mcprelay/shared/audit"
	"mcprelay/shared/call"
	"mcprelay/test/jwt"
)

// startBudget bounds the start of a relay process.
const startBudget = 30 * time.Second

var binary struct {
	once sync.Once
	path string
	err  error
}

// relayBinary builds the command once for this test binary. The folder goes
// with TestMain.
func relayBinary(t testing.TB) string {
	t.Helper()
	binary.once.Do(func() {
		binary.path = filepath.Join(buildDir, "relay")
		build := exec.Command("go", "build", "-o", binary.path, "mcprelay/cmd/relay")
		build.Env = append(os.Environ(), "CGO_ENABLED=0")
		if out, err := build.CombinedOutput(); err != nil {
			binary.err = fmt.Errorf("building the command: %w: %s", err, out)
		}
	})
	if binary.err != nil {
		t.Fatal(binary.err)
	}
	return binary.path
}

// buildDir is set before any test runs.
var buildDir string

func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == peekArgument {
		peek(os.Stdin, os.Stdout)
		return
	}
	syscall.Umask(0o022) // a data folder that others can write is refused
	dir, err := os.MkdirTemp("", "mcprelay-e2e-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	buildDir = dir
	code := m.Run()
	os.RemoveAll(dir)
	os.Exit(code)
}

// server is one entry of a config file, in its own words.
type server map[string]any

// entry makes a server entry that allows its endpoint and classifies tools.
func entry(name, endpoint string, effects map[string]string) server {
	config := map[string]any{"endpoint": endpoint, "auth": map[string]any{"type": "none"}}
	if effects != nil {
		config["effects"] = effects
	}
	return server{"name": name, "config": config}
}

// with sets one key of the entry's config.
func (s server) with(key string, value any) server {
	s["config"].(map[string]any)[key] = value
	return s
}

type rule = map[string]any

func allow(action string) rule { return rule{"action": action, "decision": "allow"} }

// writeConfig writes a config file of tenant acme.
func writeConfig(t testing.TB, servers []server, rules []rule, more map[string]any) string {
	t.Helper()
	file := map[string]any{"tenant": "acme", "servers": servers, "rules": rules}
	for key, value := range more {
		file[key] = value
	}
	text, err := json.Marshal(file)
	if err != nil {
		t.Fatal(err)
	}
	return writeFile(t, text)
}

func writeFile(t testing.TB, text []byte) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "relay.json")
	if err := os.WriteFile(path, text, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// process is a running `relay serve`.
type process struct {
	url, token string
	lines      []string // what it printed before it was ready
	stderr     *syncBuffer
	command    *exec.Cmd
	printed    chan string
}

type syncBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (s *syncBuffer) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.Write(p)
}

func (s *syncBuffer) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.String()
}

// serve starts `relay serve` and waits until it says that it listens.
func serve(t testing.TB, env []string, args ...string) *process {
	t.Helper()
	p := &process{stderr: &syncBuffer{}, printed: make(chan string, 1024)}
	p.command = exec.Command(relayBinary(t), append([]string{"serve", "--listen", "127.0.0.1:0"}, args...)...)
	p.command.Env = append(os.Environ(), env...)
	p.command.Stderr = p.stderr
	p.command.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	stdout, err := p.command.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := p.command.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { p.stop(t) })
	go func() {
		defer close(p.printed)
		for lines := bufio.NewScanner(stdout); lines.Scan(); {
			p.printed <- lines.Text()
		}
	}()
	p.awaitReady(t)
	return p
}

// awaitReady waits for the line that comes last. A file with callers of its own
// has no token minted before.
func (p *process) awaitReady(t testing.TB) {
	t.Helper()
	deadline := time.After(startBudget)
	for p.url == "" {
		select {
		case line, open := <-p.printed:
			if !open {
				t.Fatalf("relay serve ended: %s\n%s", strings.Join(p.lines, "\n"), p.stderr)
			}
			p.lines = append(p.lines, line)
			if _, at, ok := strings.Cut(line, "listening on "); ok {
				p.url = at
			}
			if _, token, ok := strings.Cut(line, "(subject local): "); ok {
				p.token = token
			}
		case <-deadline:
			t.Fatalf("relay serve is not ready: %s\n%s", strings.Join(p.lines, "\n"), p.stderr)
		}
	}
}

// stop ends the process as an operator would, and waits.
func (p *process) stop(t testing.TB) {
	t.Helper()
	p.end(t, syscall.SIGTERM)
}

func (p *process) end(t testing.TB, signal syscall.Signal) {
	t.Helper()
	if p.command.ProcessState != nil {
		return
	}
	_ = p.command.Process.Signal(signal)
	err := p.command.Wait()
	if exit := new(exec.ExitError); signal == syscall.SIGTERM && errors.As(err, &exit) {
		t.Errorf("relay serve ended with %v\n%s", err, p.stderr)
	}
}

// reply is an HTTP answer of the relay.
type reply struct {
	status int
	header http.Header
	body   []byte
}

// post sends one request with the process's token.
func (p *process) post(t testing.TB, path, body string, headers ...string) reply {
	t.Helper()
	return p.do(t, http.MethodPost, path, body, append([]string{"Authorization", "Bearer " + p.token, "Content-Type", "application/json"}, headers...)...)
}

// do sends one request; a header whose value is empty is left out.
func (p *process) do(t testing.TB, method, path, body string, headers ...string) reply {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), method, p.url+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i < len(headers); i += 2 {
		request.Header.Del(headers[i])
		if headers[i+1] != "" {
			request.Header.Set(headers[i], headers[i+1])
		}
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return reply{status: response.StatusCode, header: response.Header, body: text}
}

// command runs a subcommand to its end.
func command(t testing.TB, env []string, args ...string) (stdout, stderr string, code int) {
	t.Helper()
	run := exec.Command(relayBinary(t), args...)
	run.Env = append(os.Environ(), env...)
	var out, errs bytes.Buffer
	run.Stdout, run.Stderr = &out, &errs
	err := run.Run()
	exit := new(exec.ExitError)
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	return out.String(), errs.String(), run.ProcessState.ExitCode()
}

// trail reads the audit trail of a data folder, newest first, without what the
// relay did by itself to make a call.
func trail(t testing.TB, data string, filters ...string) []audit.Record {
	t.Helper()
	return slices.DeleteFunc(whole(t, data, filters...), func(r audit.Record) bool {
		return r.Face == call.FaceInternal && r.Operation == call.OperationDiscover
	})
}

// whole reads the audit trail of a data folder, newest first, as an operator would.
func whole(t testing.TB, data string, filters ...string) []audit.Record {
	t.Helper()
	out, errs, code := command(t, nil, append([]string{"audit", "--data", data, "--json"}, filters...)...)
	if code != 0 {
		t.Fatalf("relay audit: exit %d: %s", code, errs)
	}
	var records []audit.Record
	for line := range strings.Lines(out) {
		var record audit.Record
		if err := json.Unmarshal([]byte(line), &record); err != nil {
			t.Fatalf("audit line %q: %v", line, err)
		}
		records = append(records, record)
	}
	return records
}

// last is the newest record.
func last(t testing.TB, data string) audit.Record {
	t.Helper()
	records := trail(t, data, "--limit", "5")
	if len(records) == 0 {
		t.Fatal("the call left no audit record")
	}
	return records[0]
}

// signer is an issuer of JWTs.
type signer struct {
	jwt.Key
	name string // iss
}

// claims are those of a good token.
func (s signer) claims(subject string) jwt.Members { return jwt.Claims(s.name, publicURL, subject) }

// token is a good one.
func (s signer) token(t *testing.T, subject string) string {
	t.Helper()
	return s.Sign(t, jwt.Header(), s.claims(subject))
}
