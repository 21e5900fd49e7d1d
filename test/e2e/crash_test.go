package e2e_test

import (
	"errors"
	"io"
	"net/http"
	"strings"
	"syscall"
	"testing"

	"mcprelay/shared/audit"
	"mcprelay/shared/call"
)

// A relay that is killed while an unclassified call runs leaves the call's
// intent: it was durable before the first byte went out.
func TestAKilledRelayLeavesTheIntent(t *testing.T) {
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
		request.Header.Set("Authorization", "Bearer "+relay.token)
		request.Header.Set("Content-Type", "application/json")
		response, err := http.DefaultClient.Do(request)
		if err == nil {
			_, err = io.Copy(io.Discard, response.Body)
			err = errors.Join(err, response.Body.Close(), errors.New("the call was answered"))
		}
		ended <- err
	}()
	select {
	case <-up.arrived:
	case err := <-ended:
		t.Fatalf("the call never reached the server: %v", err)
	}
	relay.end(t, syscall.SIGKILL)
	if err := <-ended; err == nil || strings.Contains(err.Error(), "was answered") {
		t.Errorf("the agent got %v, want a broken connection", err)
	}
	record := last(t, data)
	if record.State != audit.StateIntent || record.Tool != "write" || record.Decision != call.Allow || record.Outcome != "" {
		t.Errorf("record %+v, want the open intent", record)
	}
	if got := up.calls.Load(); got != 1 {
		t.Errorf("the server saw %d calls, want 1", got)
	}
}

// A call classified as read leaves its intent on the log alone.
func TestAKilledReadIsAccountedForOnTheLog(t *testing.T) {
	up := startUpstream(t)
	up.hold = make(chan struct{})
	config := writeConfig(t, []server{entry("up", up.url, map[string]string{"look": "read"})}, []rule{allow("mcp.up.host.127.0.0.1"), allow("mcp.up.tool.*")}, nil)
	data := t.TempDir()
	relay := serve(t, nil, "--config", config, "--data", data, "--allow-loopback")
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		request, err := http.NewRequest(http.MethodPost, relay.url+"/v1/servers/up/tools/look", strings.NewReader(`{"arguments":{}}`))
		if err != nil {
			return
		}
		request.Header.Set("Authorization", "Bearer "+relay.token)
		request.Header.Set("Content-Type", "application/json")
		if response, err := http.DefaultClient.Do(request); err == nil {
			_ = response.Body.Close()
		}
	}()
	<-up.arrived
	relay.end(t, syscall.SIGKILL)
	<-ended
	if got := len(trail(t, data, "--tool", "look")); got != 0 {
		t.Errorf("got %d records of the call, want none", got)
	}
	if log := relay.stderr.String(); !strings.Contains(log, `"state":"intent"`) || !strings.Contains(log, `"tool":"look"`) {
		t.Errorf("the log does not hold the intent: %s", log)
	}
}

// A relay that is asked to stop lets the call in flight end.
func TestAStoppedRelayFinishesItsCalls(t *testing.T) {
	up := startUpstream(t)
	up.hold = make(chan struct{})
	config := writeConfig(t, []server{entry("up", up.url, nil)}, []rule{allow("mcp.up.host.127.0.0.1"), allow("mcp.up.tool.*")}, nil)
	data := t.TempDir()
	relay := serve(t, nil, "--config", config, "--data", data, "--allow-loopback")
	got := make(chan reply, 1)
	go func() { got <- relay.post(t, "/v1/servers/up/tools/write", `{"arguments":{"n":1}}`) }()
	<-up.arrived
	if err := relay.command.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	close(up.hold)
	if r := <-got; r.status != 200 {
		t.Errorf("the call in flight got %d %s", r.status, r.body)
	}
	relay.end(t, syscall.SIGTERM)
	if record := last(t, data); record.State != audit.StateFinal || record.Outcome != call.Answered {
		t.Errorf("record %+v, want the final", record)
	}
}

// A call that outlasts the grace of a stop is cancelled and leaves its final.
func TestAStoppedRelayCancelsWhatTakesTooLong(t *testing.T) {
	up := startUpstream(t)
	up.hold = make(chan struct{})
	config := writeConfig(t, []server{entry("up", up.url, map[string]string{"look": "read"})}, []rule{allow("mcp.up.host.127.0.0.1"), allow("mcp.up.tool.*")}, nil)
	data := t.TempDir()
	relay := serve(t, nil, "--config", config, "--data", data, "--allow-loopback")
	got := make(chan reply, 1)
	go func() { got <- relay.post(t, "/v1/servers/up/tools/look", `{"arguments":{}}`) }()
	<-up.arrived
	relay.stop(t)
	if r := <-got; r.status != call.Cancelled.Row().Status || !strings.Contains(string(r.body), `"reason":"cancelled"`) {
		t.Errorf("the call got %d %s", r.status, r.body)
	}
	if record := last(t, data); record.State != audit.StateFinal || record.Reason != call.Cancelled || record.Effect != call.ImpactUnknown {
		t.Errorf("record %+v, want the final of a cancelled call", record)
	}
}
