package e2e_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"
	"syscall"
	"testing"

	"mcprelay/shared/call"
)

// keyed is a call of the tool write under a key.
func (p *process) keyed(t testing.TB, key, arguments string) reply {
	t.Helper()
	return p.post(t, "/v1/servers/up/tools/write", `{"arguments":`+arguments+`}`, "Idempotency-Key", key)
}

// resultOf is what a reply on either face says of the server.
func resultOf(t testing.TB, r reply) string {
	t.Helper()
	var body struct {
		Result json.RawMessage `json:"result"`
	}
	if err := json.Unmarshal(r.body, &body); err != nil || r.status != 200 || len(body.Result) == 0 {
		t.Fatalf("got %d %s, want a result", r.status, r.body)
	}
	return string(body.Result)
}

func TestACallUnderAKeyIsMadeOnce(t *testing.T) {
	up := startUpstream(t)
	config := writeConfig(t, []server{entry("up", up.url, nil)}, []rule{allow("mcp.up.host.127.0.0.1"), allow("mcp.up.tool.*")}, nil)
	data := t.TempDir()
	serving := func() *process { return serve(t, nil, "--config", config, "--data", data, "--allow-loopback") }
	relay := serving()
	first := resultOf(t, relay.keyed(t, "k-1", `{"n":1.0}`))
	for range 2 { // the second time in another process
		if again := resultOf(t, relay.keyed(t, "k-1", `{"n":1.0}`)); again != first {
			t.Errorf("the repeat got %s, want %s", again, first)
		}
		for _, path := range []string{"/v1/servers/up/mcp", "/v1/mcp"} {
			name := map[bool]string{false: "write", true: "up__write"}[path == "/v1/mcp"]
			r := relay.post(t, path, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"`+name+`","arguments":{"n":1.0}}}`, "Idempotency-Key", "k-1")
			if again := resultOf(t, r); again != first {
				t.Errorf("the repeat on %s got %s, want %s", path, again, first)
			}
		}
		checkProblem(t, relay.keyed(t, "k-1", `{"n":2}`), 422, call.KeyReused)
		for _, key := range []string{" ", "two words", strings.Repeat("k", 256), "caf\u00e9"} {
			checkProblem(t, relay.keyed(t, key, `{"n":1.0}`), 400, call.BadRequest)
		}
		relay.end(t, syscall.SIGTERM)
		relay = serving()
	}
	if got := up.calls.Load(); got != 1 {
		t.Errorf("the server saw %d calls, want 1", got)
	}
	if resultOf(t, relay.keyed(t, "k-2", `{"n":1.0}`)); up.calls.Load() != 2 {
		t.Errorf("the server saw %d calls, want a second one under another key", up.calls.Load())
	}
	repeats := 0
	for _, record := range trail(t, data, "--limit", "1000") {
		if record.RepeatOf != "" && record.Posts == 0 && record.Reason == call.OK {
			repeats++
		}
	}
	if repeats != 6 {
		t.Errorf("%d records say that they repeat another call, want 6", repeats)
	}
}

// A call that a process died in was made: no other process makes it again.
func TestACallUnderAKeyThatWasCutOffIsNotMadeAgain(t *testing.T) {
	up := startUpstream(t)
	up.hold = make(chan struct{})
	config := writeConfig(t, []server{entry("up", up.url, nil)}, []rule{allow("mcp.up.host.127.0.0.1"), allow("mcp.up.tool.*")}, nil)
	data := t.TempDir()
	relay := serve(t, nil, "--config", config, "--data", data, "--allow-loopback")
	ended := make(chan error, 1)
	go func() {
		request, err := http.NewRequest(http.MethodPost, relay.url+"/v1/servers/up/tools/write", strings.NewReader(`{"arguments":{"n":1}}`))
		if err != nil {
			ended <- err
			return
		}
		request.Header = http.Header{"Authorization": {"Bearer " + relay.token}, "Content-Type": {"application/json"}, "Idempotency-Key": {"k-1"}}
		response, err := http.DefaultClient.Do(request)
		if err == nil {
			_, err = io.Copy(&bytes.Buffer{}, response.Body)
			err = errors.Join(err, response.Body.Close())
		}
		ended <- err
	}()
	<-up.arrived
	checkProblem(t, relay.keyed(t, "k-1", `{"n":1}`), 409, call.KeyInUse)
	relay.end(t, syscall.SIGKILL)
	if err := <-ended; err == nil {
		t.Error("the first call was answered, want a broken connection")
	}
	close(up.hold)
	next := serve(t, nil, "--config", config, "--data", data, "--allow-loopback")
	checkProblem(t, next.keyed(t, "k-1", `{"n":1}`), 409, call.KeyInUse)
	if got := up.calls.Load(); got != 1 {
		t.Errorf("the server saw %d calls, want 1", got)
	}
}
