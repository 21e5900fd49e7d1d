package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"mcprelay/test/kit"
)

// bench is a data folder, a config file and an upstream with one tool, whose
// description is what the test says.
type bench struct {
	dir, url string
	wording  atomic.Value // string
	requests atomic.Int64
}

func newBench(t *testing.T) *bench {
	t.Helper()
	b := &bench{dir: t.TempDir()}
	b.wording.Store("Looks.")
	upstream := httptest.NewServer(b)
	t.Cleanup(upstream.Close)
	b.url = upstream.URL + "/mcp"
	if err := os.Mkdir(filepath.Join(b.dir, "data"), 0o700); err != nil {
		t.Fatal(err)
	}
	return b
}

func (b *bench) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	b.requests.Add(1)
	var body map[string]json.RawMessage
	if json.NewDecoder(r.Body).Decode(&body) != nil {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	if string(body["method"]) == `"server/discover"` {
		kit.Result(w, body, `{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{"tools":{}},"ttlMs":0,"cacheScope":"private"}`)
		return
	}
	wording, err := json.Marshal(b.wording.Load())
	if err != nil {
		w.WriteHeader(http.StatusInternalServerError)
		return
	}
	kit.Result(w, body, fmt.Sprintf(`{"resultType":"complete","ttlMs":0,"cacheScope":"private","tools":[{"name":"look","description":%s,"inputSchema":{"type":"object"}}]}`, wording))
}

// run runs a subcommand of servers. Another bound on descriptors is another
// registration, so that what is kept of the server is read again.
func (b *bench) run(t *testing.T, bound int, args ...string) (stdout string, err error) {
	t.Helper()
	file := filepath.Join(b.dir, "relay.json")
	config := fmt.Sprintf(`{"tenant":"acme","servers":[
	  {"name":"up","config":{"endpoint":%q,"auth":{"type":"none"},"effects":{"look":"read"},"max_descriptor_bytes":%d}},
	  {"name":"poor","config":{"endpoint":%q,"auth":{"type":"bearer","token_ref":"t"}},"secrets":{"t":"RELAY_TEST_NOT_SET"}},
	  {"name":"shut","config":{"endpoint":"https://mcp.example.com/mcp","auth":{"type":"none"}}}],
	  "rules":[{"action":"mcp.up.host.127.0.0.1","decision":"allow"},{"action":"mcp.up.tool.*","decision":"allow"},
	   {"action":"mcp.poor.host.127.0.0.1","decision":"allow"},{"action":"secret.use.t","decision":"allow"}]}`, b.url, bound, b.url)
	if err := os.WriteFile(file, []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	stdout, _, err = execute(t, append(append([]string{"servers"}, args...), "--config", file, "--data", filepath.Join(b.dir, "data"), "--allow-loopback")...)
	return stdout, err
}

// status is what `servers status --json` says of one server.
func (b *bench) status(t *testing.T, bound int, server string) status {
	t.Helper()
	out, err := b.run(t, bound, "status", "--json")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(out) {
		var s status
		if err := json.Unmarshal([]byte(line), &s); err != nil {
			t.Fatalf("%v in %s", err, line)
		}
		if s.Server == server {
			return s
		}
	}
	t.Fatalf("no line about %s: %s", server, out)
	return status{}
}

func TestStatusSaysOfEveryServerHowItIs(t *testing.T) {
	b := newBench(t)
	ignored := cmpopts.IgnoreFields(status{}, "Acquired", "Detail", "Digest")
	for server, want := range map[string]status{
		"up":   {Server: "up", Status: "ok", Tools: 1},
		"poor": {Server: "poor", Status: "unusable", Stage: "credential", Reason: "secret_missing"},
		"shut": {Server: "shut", Status: "unusable", Stage: "policy", Reason: "no_rule"},
	} {
		if diff := cmp.Diff(want, b.status(t, 1000, server), ignored); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	}
	before := b.requests.Load()
	table, err := b.run(t, 1000, "status")
	lines := strings.Split(table, "\n")
	if err != nil || len(lines) != 5 || !strings.HasPrefix(lines[0], "SERVER") || !strings.Contains(table, "credential: secret_missing: ") {
		t.Errorf("%v: %s", err, table)
	}
	if got := b.requests.Load() - before; got != 0 {
		t.Errorf("what is fresh was asked for with %d requests", got)
	}
}

func TestOnlyWhatIsKnownCanBeApproved(t *testing.T) {
	b := newBench(t)
	b.status(t, 1000, "up")
	for _, test := range []struct {
		args   []string
		reason string
	}{
		{[]string{"approve", "other"}, "unknown_server"},
		{[]string{"approve", "up", "look", "fetch"}, "unknown_tool"},
	} {
		if out, err := b.run(t, 1000, test.args...); err == nil || out != "" || !strings.Contains(err.Error(), test.reason) {
			t.Errorf("%v: got %v and %q, want %s", test.args, err, out, test.reason)
		}
	}
	for _, args := range [][]string{{"approve"}, {"status", "up"}} {
		usage := new(usageError)
		if _, err := b.run(t, 1000, args...); !errors.As(err, &usage) {
			t.Errorf("%v: got %v, want a usage error", args, err)
		}
	}
}
