// Package clients_test tries the built relay with the MCP clients that people
// use, each as it is installed, against three servers at once: a legacy one
// with sessions, one that speaks both eras, and a child process.
//
// What a client gets through the relay is compared with what the server itself
// says when it is asked without a relay.
package clients_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
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
)

const (
	// startBudget bounds the start of a relay process.
	startBudget = 30 * time.Second
	// token is the one caller's.
	token = "token-of-the-agent-0123456789abcdef"
)

// buildDir holds the command, and goes with TestMain.
var buildDir string

func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == notesArgument {
		if err := serveNotes(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	syscall.Umask(0o022) // a data folder that others can write is refused
	dir, err := os.MkdirTemp("", "mcprelay-clients-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	buildDir = dir
	code := m.Run()
	os.RemoveAll(dir)
	os.Exit(code)
}

// build makes the command once for this test binary.
var build = sync.OnceValues(func() (string, error) {
	path := filepath.Join(buildDir, "relay")
	command := exec.Command("go", "build", "-o", path, "mcprelay/cmd/relay")
	command.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := command.CombinedOutput(); err != nil {
		return "", fmt.Errorf("building the command: %w: %s", err, out)
	}
	return path, nil
})

// relay is a running `relay serve`.
type relay struct {
	url, data string
}

// startRelay runs the command with a config file until the test ends.
func startRelay(t *testing.T, config map[string]any) relay {
	t.Helper()
	binary, err := build()
	if err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(config)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "relay.json")
	if err := os.WriteFile(path, text, 0o600); err != nil {
		t.Fatal(err)
	}
	r := relay{data: t.TempDir()}
	command := exec.Command(binary, "serve", "--listen", "127.0.0.1:0", "--config", path, "--data", r.data, "--allow-loopback")
	command.Env = append(os.Environ(), "CLIENTS_TOKEN="+token)
	command.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	var stderr bytes.Buffer
	command.Stderr = &stderr
	stdout, err := command.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = command.Process.Signal(syscall.SIGTERM)
		err := command.Wait()
		if exit := new(exec.ExitError); errors.As(err, &exit) || t.Failed() {
			t.Errorf("relay serve ended with %v:\n%s", err, end(stderr.Bytes()))
		}
	})
	r.url = listening(t, bufio.NewScanner(stdout))
	return r
}

// listening waits for the address that the relay prints, and lets it print on.
func listening(t *testing.T, lines *bufio.Scanner) string {
	t.Helper()
	found := make(chan string, 1)
	go func() {
		defer close(found)
		for lines.Scan() {
			if _, at, ok := strings.Cut(lines.Text(), "listening on "); ok {
				found <- at
			}
		}
	}()
	select {
	case at, open := <-found:
		if !open {
			t.Fatal("relay serve ended at once")
		}
		return at
	case <-time.After(startBudget):
		t.Fatal("relay serve is not ready in time")
	}
	return ""
}

// end is what a process said last.
func end(output []byte) []byte { return output[max(0, len(output)-4000):] }

// made is what the audit trail says of one call: operation, server, target and
// what came of it.
func (r relay) made(t *testing.T, run string) []string {
	t.Helper()
	binary, err := build()
	if err != nil {
		t.Fatal(err)
	}
	out, err := exec.Command(binary, "audit", "--data", r.data, "--json", "--run", run, "--limit", "1000").Output()
	if err != nil {
		t.Fatalf("relay audit: %v", err)
	}
	var all []string
	for line := range bytes.Lines(out) {
		var record audit.Record
		if err := json.Unmarshal(line, &record); err != nil {
			t.Fatalf("audit line %q: %v", line, err)
		}
		if record.Operation == call.OperationDiscover || record.Operation == call.OperationSetLevel {
			continue // the relay's own acquisitions, and what the Inspector does whenever it opens
		}
		all = append(all, fmt.Sprintf("%s %s %s %s", record.Operation, record.Server, record.About, record.Outcome))
	}
	slices.Reverse(all) // oldest first
	return all
}

// headers are those that every client sends.
func headers(run string) map[string]string {
	return map[string]string{"Authorization": "Bearer " + token, "X-Relay-Run": run}
}

// withHeaders adds headers to what a Go client sends.
type withHeaders map[string]string

func (h withHeaders) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	for name, value := range h {
		r.Header.Set(name, value)
	}
	return http.DefaultTransport.RoundTrip(r)
}
