package peers_test

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"mcprelay/test/peers"
)

const initialize = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"peers","version":"1"}}}`

// post sends one JSON-RPC message and gives the reply's status, header and body.
func post(t *testing.T, endpoint, body string) (*http.Response, string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, endpoint, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json, text/event-stream")
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return res, string(text)
}

func TestEveryUpstreamAnswersInitialize(t *testing.T) {
	for _, tt := range []struct {
		name     string
		endpoint func(testing.TB) string
		sessions bool
	}{
		{"server-everything", peers.Everything, true},
		{"go stateless", peers.GoStateless, false},
		{"go stateful", peers.GoStateful, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			res, body := post(t, tt.endpoint(t), initialize)
			if res.StatusCode != http.StatusOK || !strings.Contains(body, `"serverInfo"`) {
				t.Fatalf("got %d %s, want an initialize result", res.StatusCode, body)
			}
			if got := res.Header.Get("Mcp-Session-Id") != ""; got != tt.sessions {
				t.Errorf("gives a session: got %v, want %v", got, tt.sessions)
			}
		})
	}
}

func TestEveryEmulatorAnswersListTables(t *testing.T) {
	for name, endpoint := range map[string]func(testing.TB) string{"dynalite": peers.Dynalite, "moto": peers.Moto} {
		t.Run(name, func(t *testing.T) {
			req, _ := http.NewRequestWithContext(t.Context(), http.MethodPost, endpoint(t), strings.NewReader(`{}`))
			req.Header.Set("Content-Type", "application/x-amz-json-1.0")
			req.Header.Set("X-Amz-Target", "DynamoDB_20120810.ListTables")
			req.Header.Set("X-Amz-Date", "20261130T000000Z")
			req.Header.Set("Authorization", "AWS4-HMAC-SHA256 Credential=k/20261130/us-east-1/dynamodb/aws4_request, SignedHeaders=host, Signature=00")
			res, err := http.DefaultClient.Do(req)
			if err != nil {
				t.Fatal(err)
			}
			defer res.Body.Close()
			body, _ := io.ReadAll(res.Body)
			if res.StatusCode != http.StatusOK || !strings.Contains(string(body), "TableNames") {
				t.Errorf("got %d %s, want a list of tables", res.StatusCode, body)
			}
		})
	}
}

// Linux answers on all of 127.0.0.0/8, so a peer that is bound to every
// interface answers on 127.0.0.2 as well.
func TestEveryPeerIsBoundToOneLoopbackAddress(t *testing.T) {
	for name, endpoint := range map[string]func(testing.TB) string{
		"dynalite": peers.Dynalite, "moto": peers.Moto, "server-everything": peers.Everything,
		"go stateless": peers.GoStateless, "go stateful": peers.GoStateful,
	} {
		t.Run(name, func(t *testing.T) {
			u, err := url.Parse(endpoint(t))
			if err != nil {
				t.Fatal(err)
			}
			if u.Hostname() != "127.0.0.1" {
				t.Errorf("got host %q, want 127.0.0.1", u.Hostname())
			}
			conn, err := net.DialTimeout("tcp", net.JoinHostPort("127.0.0.2", u.Port()), time.Second)
			if err == nil {
				conn.Close()
				t.Errorf("port %s answers on 127.0.0.2 too", u.Port())
			}
		})
	}
}

func TestCounterCountsByMethodAndPassesThrough(t *testing.T) {
	c := peers.Counted(t, peers.GoStateless(t))
	if res, body := post(t, c.URL, initialize); res.StatusCode != http.StatusOK || !strings.Contains(body, "serverInfo") {
		t.Fatalf("got %d %s, want the upstream's own answer", res.StatusCode, body)
	}
	post(t, c.URL, `{"jsonrpc":"2.0","id":2,"method":"tools/list"}`)
	for _, method := range []string{http.MethodGet, http.MethodDelete} {
		req, _ := http.NewRequestWithContext(t.Context(), method, c.URL, nil)
		res, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		_, _ = io.Copy(io.Discard, res.Body)
		res.Body.Close()
	}
	got := []int{c.Posts(""), c.Posts("initialize"), c.Posts("tools/list"), c.Posts("tools/call"), c.Gets(), c.Deletes()}
	for i, want := range []int{2, 1, 1, 0, 1, 1} {
		if got[i] != want {
			t.Errorf("count %d: got %d, want %d", i, got[i], want)
		}
	}
	if seen := c.All()[0]; string(seen.Body) != initialize || seen.Header.Get("Content-Type") != "application/json" {
		t.Errorf("got %q with %v, want the request as it was sent", seen.Body, seen.Header)
	}
	if c.Reset(); c.Posts("") != 0 {
		t.Errorf("got %d POSTs after a reset, want 0", c.Posts(""))
	}
}

func TestToolsAreInstalled(t *testing.T) {
	for _, name := range []string{"aws-lambda-rie", "staticcheck", "cfn-lint", "python"} {
		if path := peers.Tool(t, name); !filepath.IsAbs(path) {
			t.Errorf("%s: got %q, want an absolute path", name, path)
		}
	}
	for _, name := range []string{peers.ClientInspector, peers.ClientRemote, peers.ClientPorter, peers.ClientTypeScript} {
		if node, script := peers.Client(t, name); !filepath.IsAbs(node) || !filepath.IsAbs(script) {
			t.Errorf("%s: got %q and %q, want absolute paths", name, node, script)
		}
	}
}

// TestPeerDiesWithItsTestBinary kills a process that has started a peer, with
// the one signal that no process can answer.
func TestPeerDiesWithItsTestBinary(t *testing.T) {
	if os.Getenv("PEERS_CHILD") != "" {
		os.Stdout.WriteString("peer " + peers.GoStateful(t) + "\n")
		select {}
	}
	cmd := exec.Command(os.Args[0], "-test.run=^TestPeerDiesWithItsTestBinary$")
	cmd.Env = append(os.Environ(), "PEERS_CHILD=1", peers.EnvGoStateful+"=")
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(out)
	if !lines.Scan() {
		t.Fatal("the child ended before its peer was up")
	}
	u, err := url.Parse(strings.TrimPrefix(lines.Text(), "peer "))
	if err != nil {
		t.Fatal(err)
	}
	if conn, err := net.Dial("tcp", u.Host); err != nil {
		t.Fatalf("the peer does not listen while its starter lives: %v", err)
	} else {
		conn.Close()
	}
	_ = cmd.Process.Kill()
	_ = cmd.Wait()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	for listens(u.Host) {
		if ctx.Err() != nil {
			t.Fatalf("the peer on %s outlived its starter by 10 s", u.Host)
		}
	}
}

func listens(address string) bool {
	conn, err := net.Dial("tcp", address)
	if err == nil {
		conn.Close()
	}
	return err == nil
}

func TestRunSharesPeersAndPassesTheStatusOn(t *testing.T) {
	bin := filepath.Join(t.TempDir(), "run")
	if out, err := exec.Command("go", "build", "-o", bin, "mcprelay/test/peers/run").CombinedOutput(); err != nil {
		t.Fatalf("building: %v\n%s", err, out)
	}
	var out strings.Builder
	cmd := exec.Command(bin, "--", "sh", "-c", "env; exit 7")
	cmd.Stdout = &out
	if err := cmd.Run(); cmd.ProcessState.ExitCode() != 7 {
		t.Fatalf("got %v, want exit status 7", err)
	}
	for _, name := range []string{peers.EnvDynalite, peers.EnvMoto, peers.EnvEverything, peers.EnvGoStateless, peers.EnvGoStateful} {
		_, rest, found := strings.Cut(out.String(), name+"=http://")
		if !found {
			t.Errorf("%s was not set for the command", name)
			continue
		}
		host, _, _ := strings.Cut(rest, "\n")
		if host, _, _ = strings.Cut(host, "/"); listens(host) {
			t.Errorf("%s: the peer on %s outlived the run", name, host)
		}
	}
	if err := exec.Command(bin).Run(); !strings.Contains(err.Error(), "status "+strconv.Itoa(2)) {
		t.Errorf("without a command: got %v, want exit status 2", err)
	}
}

func TestPinsNameNoRegistryHost(t *testing.T) {
	for _, folder := range []string{".", "../conformance", "../clients"} {
		lock, err := os.ReadFile(filepath.Join(folder, "package-lock.json"))
		if err != nil {
			t.Fatal(err)
		}
		var pins struct {
			Packages map[string]struct{ Resolved, Integrity, Version string }
		}
		if err := json.Unmarshal(lock, &pins); err != nil {
			t.Fatal(err)
		}
		for name, pin := range pins.Packages {
			if name != "" && (pin.Resolved != "" || pin.Integrity == "" || pin.Version == "") {
				t.Errorf("%s: %s: got %+v, want a version and a hash, and no address", folder, name, pin)
			}
		}
	}
	requirements, err := os.ReadFile("requirements.txt")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(requirements)) {
		if line = strings.TrimSpace(line); !strings.HasPrefix(line, "#") && !strings.Contains(line, "==") {
			t.Errorf("requirements.txt: %q is not pinned", line)
		}
	}
}
